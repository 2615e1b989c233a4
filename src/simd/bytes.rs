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
