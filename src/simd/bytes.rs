//! Bytes compared side by side, with the instructions that every processor of its kind has: calls
//! are so short that choosing a level would take longer than it saves.

/// A bit for each of sixteen bytes that is the wanted one.
#[must_use]
#[inline]
pub fn equal_bytes(bytes: &[u8; 16], wanted: u8) -> u16 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
        };
        // SAFETY: 16 bytes are read, at any alignment, and 16 there are. Every x86-64 has SSE2.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let equal = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted.cast_signed()));
            _mm_movemask_epi8(equal) as u16
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    equal_bytes_by_eights(bytes, wanted)
}

/// Bytes that are compared without a branch: as many as a usual sketch has.
const BLOCK: usize = 128;

/// At how many places two byte strings of equal length agree.
#[must_use]
#[inline]
pub fn count_equal_bytes(a: &[u8], b: &[u8]) -> u32 {
    let (a_blocks, a_rest) = a.as_chunks::<BLOCK>();
    let (b_blocks, b_rest) = b.as_chunks::<BLOCK>();
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| u32::from(a == b)).sum::<u32>();
    rest + a_blocks.iter().zip(b_blocks).map(|(a, b)| count_equal_in_block(a, b)).sum::<u32>()
}

#[inline]
fn count_equal_in_block(a: &[u8; BLOCK], b: &[u8; BLOCK]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_add_epi64, _mm_cmpeq_epi8, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_sad_epu8,
            _mm_setzero_si128, _mm_shuffle_epi32, _mm_sub_epi8,
        };
        // SAFETY: 16 bytes are read at a time, at any alignment, and 16 there are. Every x86-64 has
        // SSE2.
        unsafe {
            let mut counts = _mm_setzero_si128();
            for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
                let a = _mm_loadu_si128(a.as_ptr().cast());
                let b = _mm_loadu_si128(b.as_ptr().cast());
                counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(a, b));
            }
            let halves = _mm_sad_epu8(counts, _mm_setzero_si128());
            let both = _mm_add_epi64(halves, _mm_shuffle_epi32::<0b10>(halves));
            _mm_cvtsi128_si32(both).cast_unsigned()
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    a.iter().zip(b).map(|(a, b)| u32::from(a == b)).sum()
}

/// The same in two registers of eight (Mycroft 1987, in the form that carries nothing from byte to
/// byte; Warren, Hacker's Delight 6-1).
#[cfg(any(test, not(target_arch = "x86_64")))]
fn equal_bytes_by_eights(bytes: &[u8; 16], wanted: u8) -> u16 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW_BITS: u64 = 0x7f * ONES;
    let of_eight = |bytes: u64| {
        let differing = bytes ^ (u64::from(wanted) * ONES);
        let equal = !(((differing & LOW_BITS) + LOW_BITS) | differing | LOW_BITS);
        // One bit a byte, gathered in the highest byte by adding up shifted copies.
        ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
    };
    let both = u128::from_le_bytes(*bytes);
    of_eight(both as u64) | of_eight((both >> 64) as u64) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_agree_are_counted_at_every_length() {
        for length in (0..100).chain([128, 1_000, 5_000, 16 * 255, 16 * 300 + 7]) {
            let a: Vec<u8> = (0..length).map(|n| (n * 7) as u8).collect();
            assert_eq!(count_equal_bytes(&a, &a), length);
            let mut b = a.clone();
            b.iter_mut().step_by(3).for_each(|byte| *byte ^= 0x80);
            assert_eq!(count_equal_bytes(&a, &b), length - length.div_ceil(3));
        }
    }

    #[test]
    fn equal_bytes_are_told_from_all_others() {
        for wanted in [0, 1, 0x7f, 0x80, 0xff] {
            for other in 0..=255_u8 {
                let mut bytes = [other; 16];
                for place in [0, 2, 6, 7, 8, 15] {
                    bytes[place] = wanted;
                }
                let expected = if wanted == other { 0xffff } else { 0b1000_0001_1100_0101 };
                assert_eq!(equal_bytes(&bytes, wanted), expected);
                assert_eq!(equal_bytes_by_eights(&bytes, wanted), expected);
            }
        }
    }
}
