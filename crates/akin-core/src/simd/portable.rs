//! Portable code with eight bytes in a register.

use super::words::{AsciiBlock, BLOCK_BYTES, Edges, WordScan};

const HIGH_BITS: u64 = each(0x80);

pub(super) fn mark(scan: &mut WordScan<'_>) {
    let mut padded = [0; BLOCK_BYTES];
    while let Some(block) = scan.next_block(&mut padded) {
        let edges = scan.take(block, &read(block, scan.cases()));
        push_edges(&edges, scan);
    }
}

/// Classifies the bytes, and lowercases ASCII letters where `cases` has bits.
#[inline(always)]
fn read(block: &[u8; BLOCK_BYTES], cases: u64) -> AsciiBlock {
    let mut ascii = AsciiBlock { folded: *block, word: 0, leads: 0, apostrophes: 0 };
    let (eights, _) = ascii.folded.as_chunks_mut();
    for (number, eight) in eights.iter_mut().enumerate() {
        let bytes = u64::from_le_bytes(*eight);
        let (letters, digits) = letters_and_digits(bytes);
        ascii.word |= gather(letters | digits) << (8 * number);
        // The highest bit is set in non-ASCII bytes, and the next bit in the first byte of a
        // character.
        ascii.leads |= gather(bytes & bytes << 1 & HIGH_BITS) << (8 * number);
        ascii.apostrophes |= gather(zeros(bytes ^ each(b'\''))) << (8 * number);
        *eight = (bytes | letters >> 2 & cases).to_le_bytes();
    }
    ascii
}

#[inline(always)]
pub(super) fn push_edges(edges: &Edges, scan: &mut WordScan<'_>) {
    push_places(edges.starts, edges.at, &mut scan.starts);
    push_places(edges.ends, edges.at, &mut scan.ends);
}

/// Several unconditional writes cost less than a check after each.
#[inline(always)]
fn push_places(mut bits: u64, at: u32, places: &mut Vec<u32>) {
    let count = places.len() + bits.count_ones() as usize;
    while bits != 0 {
        let mut eight = [0; 8];
        for place in &mut eight {
            *place = at + bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
        }
        places.extend_from_slice(&eight);
    }
    places.truncate(count);
}

/// The high bit of each of eight bytes that is an ASCII letter, and of each that is a digit.
#[inline(always)]
fn letters_and_digits(bytes: u64) -> (u64, u64) {
    let low = bytes & !HIGH_BITS;
    // Adding 0x80 − c to a byte below 0x80 sets its high bit if it is at least c, without a carry.
    let from = |bytes: u64, first: u8| bytes + each(0x80 - first);
    let lower = low | each(0x20);
    let letters = from(lower, b'a') ^ from(lower, b'z' + 1);
    let digits = from(low, b'0') ^ from(low, b'9' + 1);
    let ascii = !bytes & HIGH_BITS;
    (letters & ascii, digits & ascii)
}

/// The high bit of each of eight bytes that is zero (Warren, Hacker's Delight 6-1).
#[inline(always)]
fn zeros(bytes: u64) -> u64 {
    !(((bytes & !HIGH_BITS) + !HIGH_BITS) | bytes | !HIGH_BITS)
}

/// The high bits of eight bytes as the bits of a single byte; the first byte gives the lowest bit.
#[inline(always)]
fn gather(high_bits: u64) -> u64 {
    (high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// A byte repeated eight times.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_are_classed_like_single_bytes() {
        for byte in 0..=255_u8 {
            for (place, neighbour) in (0..8).zip([0, b'/', b'0', b'Z', b'a', 0x7f, 0x80, 0xff]) {
                let mut bytes = [neighbour; 8];
                bytes[place] = byte;
                let (letters, digits) = letters_and_digits(u64::from_le_bytes(bytes));
                let alone = |is: fn(&u8) -> bool| {
                    bytes.iter().enumerate().fold(0, |all, (n, it)| all | u64::from(is(it)) << n)
                };
                assert_eq!(gather(letters), alone(u8::is_ascii_alphabetic), "{bytes:?}");
                assert_eq!(gather(digits), alone(u8::is_ascii_digit), "{bytes:?}");
                let zeros = zeros(u64::from_le_bytes(bytes));
                assert_eq!(gather(zeros), alone(|byte| *byte == 0), "{bytes:?}");
            }
        }
    }
}
