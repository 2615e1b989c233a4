//! Comparisons of bytes, with the baseline instructions of the architecture: the calls are so short
//! that selecting a level would cost more than it gains.

/// A bit for each of twelve 16-bit words that equals `wanted`.
#[inline]
pub fn equal_words(words: &[u16; 12], wanted: u16) -> u16 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi16, _mm_loadl_epi64, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
            _mm_set1_epi16,
        };
        // SAFETY: reads 16 and then 8 bytes, at any alignment, from 24. Every x86-64 has SSE2.
        unsafe {
            let wanted = _mm_set1_epi16(wanted.cast_signed());
            let low = _mm_cmpeq_epi16(_mm_loadu_si128(words.as_ptr().cast()), wanted);
            let high = _mm_cmpeq_epi16(_mm_loadl_epi64(words.as_ptr().add(8).cast()), wanted);
            (_mm_movemask_epi8(_mm_packs_epi16(low, high)) & 0xfff) as u16
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    equal_words_portable(words, wanted)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn equal_words_portable(words: &[u16; 12], wanted: u16) -> u16 {
    let bits = words.iter().enumerate().map(|(at, word)| u16::from(*word == wanted) << at);
    bits.fold(0, |all, bit| all | bit)
}

/// Bytes compared without a branch: the usual length of a sketch.
const BLOCK: usize = 128;

/// The number of positions at which two byte strings of equal length agree.
#[inline]
pub fn count_equal_bytes(a: &[u8], b: &[u8]) -> u32 {
    let (a_blocks, a_rest) = a.as_chunks::<BLOCK>();
    let (b_blocks, b_rest) = b.as_chunks::<BLOCK>();
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| u32::from(a == b)).sum::<u32>();
    rest + a_blocks.iter().zip(b_blocks).map(|(a, b)| count_equal_in_block(a, b)).sum::<u32>()
}

#[inline]
fn count_equal_in_block(a: &[u8; BLOCK], b: &[u8; BLOCK]) -> u32 {
    // The compiler counts in bytes, 16 or more at a time; a block has fewer than 256.
    let mut count = 0_u8;
    for (a, b) in a.iter().zip(b) {
        count += u8::from(a == b);
    }
    count.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_counted_at_every_length() {
        for length in (0..100).chain([128, 1_000, 5_000, 16 * 255, 16 * 300 + 7]) {
            let a: Vec<u8> = (0..length).map(|n| (n * 7) as u8).collect();
            assert_eq!(count_equal_bytes(&a, &a), length);
            let mut b = a.clone();
            b.iter_mut().step_by(3).for_each(|byte| *byte ^= 0x80);
            assert_eq!(count_equal_bytes(&a, &b), length - length.div_ceil(3));
        }
    }

    #[test]
    fn equal_words_are_distinguished_from_all_others() {
        for wanted in [0, 1, 0x7fff, 0x8000, 0xffff] {
            for bit in 0..16 {
                let mut words = [wanted ^ (1 << bit); 12];
                for at in [0, 2, 6, 7, 8, 11] {
                    words[at] = wanted;
                }
                assert_eq!(equal_words(&words, wanted), 0b1001_1100_0101);
                assert_eq!(equal_words_portable(&words, wanted), 0b1001_1100_0101);
            }
        }
    }
}
