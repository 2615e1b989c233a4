//! Packs a set as the gaps between its sorted elements, with a fixed bit width.
//!
//! Elements are hashes, so their gaps look random and no general compression is much better than
//! the fixed width of the largest gap: 1,000 elements take about 57 bits each; the entropy is 55.4.
//! Truncating the hashes to b bits would save space but not be exact: in a pair of sets of 1,000
//! elements with Jaccard similarity 0.8, two different elements collide with probability
//! 111² / 2ᵇ: 7·10⁻¹⁶ for 64 bits, 4·10⁻¹¹ for 48, 10⁻⁸ for 40.
//!
//! ```text
//! byte 0     the width w of a gap in bits, 1..=64
//! bytes 1..  the gaps, w bits each, lowest bit first; the last byte is padded with zeros
//! ```
//! The first gap is the first element itself; each further gap is the difference of two neighbours.
//! The column `shingles` holds their number.
//!
//! Example: {5, 9, 100} has the gaps 5, 4 and 91, seven bits each:
//! `5 | 4 << 7 | 91 << 14` = 0x16c205, so the bytes are `07 05 c2 16`.

use akin_core::text::ShingleSet;

pub fn encode(set: &ShingleSet) -> Vec<u8> {
    let width = 64 - gaps(set).fold(1, |all, gap| all | gap).leading_zeros();
    let packed_bytes = (set.count() * width as usize).div_ceil(8);
    let mut bytes = vec![0; 1 + packed_bytes.next_multiple_of(8) + 8];
    bytes[0] = width as u8;
    let mut words = bytes[1..].chunks_exact_mut(8);
    let mut put = |word: u64| {
        let next = words.next().expect("there is a word for every bit, and one more");
        next.copy_from_slice(&word.to_le_bytes());
    };
    let (mut word, mut word_bits) = (0, 0);
    for gap in gaps(set) {
        word |= gap << word_bits;
        word_bits += width;
        if word_bits >= u64::BITS {
            put(word);
            word_bits -= u64::BITS;
            // The bits of the gap that did not fit; there may be none.
            word = gap.unbounded_shr(width - word_bits);
        }
    }
    put(word);
    bytes.truncate(1 + packed_bytes);
    bytes
}

fn gaps(set: &ShingleSet) -> impl Iterator<Item = u64> {
    let mut before = 0;
    set.as_slice().iter().map(move |&element| element - std::mem::replace(&mut before, element))
}

/// `None` for bytes that [`encode`] cannot have made of `count` elements.
pub fn decode(bytes: &[u8], count: u32) -> Option<ShingleSet> {
    let (&width, packed) = bytes.split_first()?;
    let bits = count as usize * width as usize;
    if !(1..=64).contains(&width) || packed.len() != bits.div_ceil(8) {
        return None;
    }
    let width = u32::from(width);
    let mut elements = Vec::with_capacity(count as usize);
    let mut element: u64 = 0;
    // All but the last few elements have a whole window of bytes.
    let whole = bits.saturating_sub(WINDOW_BITS + width as usize) / width as usize;
    for number in 0..whole {
        let start = number * width as usize;
        let window = packed[start / 8..].first_chunk().expect("a whole window is left");
        element = element.checked_add(bits_of(*window, start, width))?;
        elements.push(element);
    }
    for number in whole..count as usize {
        let start = number * width as usize;
        let mut window = [0; WINDOW_BITS / 8];
        let tail = &packed[start / 8..];
        let taken = tail.len().min(window.len());
        window[..taken].copy_from_slice(&tail[..taken]);
        element = element.checked_add(bits_of(window, start, width))?;
        elements.push(element);
    }
    ShingleSet::from_ascending(elements)
}

/// Wide enough for any gap at any bit offset in its first byte.
const WINDOW_BITS: usize = 128;

/// The `width` bits at bit `start`. The window begins at the byte that contains bit `start`.
#[inline]
fn bits_of(window: [u8; WINDOW_BITS / 8], start: usize, width: u32) -> u64 {
    let bits = (u128::from_le_bytes(window) >> (start % 8)) as u64;
    bits & (u64::MAX >> (64 - width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(elements: &[u64]) -> ShingleSet {
        ShingleSet::from_shingles(elements.to_vec()).unwrap()
    }

    #[test]
    fn the_ends_of_the_range() {
        for elements in [&[0][..], &[u64::MAX], &[0, u64::MAX], &[0, 1], &[7, 8, 9]] {
            let set = set(elements);
            assert_eq!(decode(&encode(&set), set.count() as u32), Some(set));
        }
    }

    #[test]
    fn bytes_of_another_set_are_refused() {
        let bytes = encode(&set(&[5, 9, 100]));
        assert_eq!(decode(&bytes, 4), None);
        assert_eq!(decode(&bytes, 2), None);
        assert_eq!(decode(&bytes[..3], 3), None);
        assert_eq!(decode(&[], 0), None);
        assert_eq!(decode(&[65, 0, 0], 1), None);
        assert_eq!(decode(&[8, 1, 0], 2), None, "a gap of nothing");
        assert_eq!(decode(&[[64; 1].as_slice(), &[255; 16]].concat(), 2), None, "beyond 64 bits");
    }

    proptest! {
        #[test]
        fn a_set_survives(elements in prop::collection::vec(any::<u64>(), 1..300), shift in 0..64) {
            let set = set(&elements.iter().map(|e| e >> shift).collect::<Vec<_>>());
            prop_assert_eq!(decode(&encode(&set), set.count() as u32), Some(set));
        }
    }
}
