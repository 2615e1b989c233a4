//! The minima of linear functions over a list of hashes.

use super::{Instructions, Level};

/// Functions evaluated together.
pub const LINEAR_LANES: usize = 16;

/// Sixteen functions `factor * hash + addend` modulo 2³².
#[derive(Clone, Copy, Debug, Default)]
pub struct LinearFunctions {
    /// The factor of each function.
    pub factors: [u32; LINEAR_LANES],
    /// The addend of each function.
    pub addends: [u32; LINEAR_LANES],
}

/// The minimum of each function over the hashes; `u32::MAX` if there are none.
///
/// The compiler's own vectorisation evaluates a function on several hashes at a time, which needs a
/// reduction of each register.
pub fn least_values(
    level: Level,
    functions: &LinearFunctions,
    hashes: &[u32],
) -> [u32; LINEAR_LANES] {
    match level.0 {
        Instructions::Portable => portable(functions, hashes),
        // SAFETY: a level exists only if the processor has its instructions.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => unsafe { x86::avx2(functions, hashes) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => unsafe { x86::avx512(functions, hashes) },
    }
}

fn portable(functions: &LinearFunctions, hashes: &[u32]) -> [u32; LINEAR_LANES] {
    let mut least = [u32::MAX; LINEAR_LANES];
    for &hash in hashes {
        let functions = functions.factors.iter().zip(&functions.addends);
        for (least, (factor, addend)) in least.iter_mut().zip(functions) {
            *least = hash.wrapping_mul(*factor).wrapping_add(*addend).min(*least);
        }
    }
    least
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_min_epu32, _mm256_mullo_epi32,
        _mm256_set1_epi32, _mm256_storeu_si256, _mm512_add_epi32, _mm512_loadu_si512,
        _mm512_min_epu32, _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_storeu_si512,
    };

    use super::{LINEAR_LANES, LinearFunctions};

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(functions: &LinearFunctions, hashes: &[u32]) -> [u32; LINEAR_LANES] {
        let halves = [0, LINEAR_LANES / 2];
        let factors = halves.map(|from| eight(&functions.factors, from));
        let addends = halves.map(|from| eight(&functions.addends, from));
        let mut lowest = halves.map(|_| _mm256_set1_epi32(-1));
        for &hash in hashes {
            let hash = _mm256_set1_epi32(hash.cast_signed());
            for half in 0..halves.len() {
                let product = _mm256_mullo_epi32(hash, factors[half]);
                let value = _mm256_add_epi32(product, addends[half]);
                lowest[half] = _mm256_min_epu32(lowest[half], value);
            }
        }
        let mut least = [0; LINEAR_LANES];
        for (lowest, from) in lowest.into_iter().zip(halves) {
            let place = &mut least[from..from + LINEAR_LANES / 2];
            // SAFETY: writes 32 bytes, at any alignment, to an array of 8 × 4 bytes.
            unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), lowest) };
        }
        least
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn eight(lanes: &[u32; LINEAR_LANES], from: usize) -> __m256i {
        let lanes = &lanes[from..from + LINEAR_LANES / 2];
        // SAFETY: reads 32 bytes, at any alignment, of an array of 8 × 4 bytes.
        unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512(functions: &LinearFunctions, hashes: &[u32]) -> [u32; LINEAR_LANES] {
        // SAFETY: reads 64 bytes, at any alignment, of an array of 16 × 4 bytes.
        let sixteen =
            |lanes: &[u32; LINEAR_LANES]| unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
        let (factors, addends) = (sixteen(&functions.factors), sixteen(&functions.addends));
        let mut lowest = _mm512_set1_epi32(-1);
        for &hash in hashes {
            let hash = _mm512_set1_epi32(hash.cast_signed());
            let value = _mm512_add_epi32(_mm512_mullo_epi32(hash, factors), addends);
            lowest = _mm512_min_epu32(lowest, value);
        }
        let mut least = [0; LINEAR_LANES];
        // SAFETY: writes 64 bytes, at any alignment, to an array of 16 × 4 bytes.
        unsafe { _mm512_storeu_si512(least.as_mut_ptr().cast(), lowest) };
        least
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_level_finds_the_least_values(
            factors in any::<[u32; LINEAR_LANES]>(),
            addends in any::<[u32; LINEAR_LANES]>(),
            hashes in vec(any::<u32>(), 0..40),
        ) {
            let value = |lane: usize, hash: u32| {
                (u64::from(factors[lane]) * u64::from(hash) + u64::from(addends[lane])) as u32
            };
            let least = std::array::from_fn(|lane| {
                hashes.iter().map(|hash| value(lane, *hash)).fold(u32::MAX, u32::min)
            });
            let functions = LinearFunctions { factors, addends };
            for level in Level::available() {
                prop_assert_eq!(least_values(level, &functions, &hashes), least);
            }
        }
    }
}
