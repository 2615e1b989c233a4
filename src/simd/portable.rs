//! What every processor can do: eight bytes in a register.

use super::words::{BLOCK_BYTES, Edges, Scan};

const HIGH_BITS: u64 = each(0x80);

pub(super) fn mark(scan: &mut Scan<'_>) {
    let mut padded = [0; BLOCK_BYTES];
    while let Some(block) = scan.next_block(&mut padded) {
        let (word, leads, folded) = read(block, scan.cases());
        let edges = scan.take(block, folded, word, leads);
        note(&edges, scan);
    }
}

/// Which bytes are ASCII letters or digits, which begin a character beyond ASCII,
/// and the bytes with ASCII letters
/// lowercased as far as `cases` has bits.
#[inline(always)]
fn read(block: &[u8; BLOCK_BYTES], cases: u64) -> (u64, u64, [u8; BLOCK_BYTES]) {
    let (mut word, mut leads, mut folded) = (0, 0, *block);
    let (eights, _) = folded.as_chunks_mut();
    for (number, eight) in eights.iter_mut().enumerate() {
        let bytes = u64::from_le_bytes(*eight);
        let (letters, digits) = ascii(bytes);
        word |= together(letters | digits) << (8 * number);
        // The highest bit tells what is not ASCII, and the next what begins a character there.
        leads |= together(bytes & bytes << 1 & HIGH_BITS) << (8 * number);
        *eight = (bytes | letters >> 2 & cases).to_le_bytes();
    }
    (word, leads, folded)
}

/// Notes the places of edges.
#[inline(always)]
pub(super) fn note(edges: &Edges, scan: &mut Scan<'_>) {
    push_places(edges.starts, edges.at, &mut scan.starts);
    push_places(edges.ends, edges.at, &mut scan.ends);
}

/// Writing several places at once costs less than asking after each whether it is the last.
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
fn ascii(bytes: u64) -> (u64, u64) {
    let low = bytes & !HIGH_BITS;
    // Adding 0x80 − c to a byte under 0x80 sets its high bit from c on, and carries nothing over.
    let from = |bytes: u64, first: u8| bytes + each(0x80 - first);
    let lower = low | each(0x20);
    let letters = from(lower, b'a') ^ from(lower, b'z' + 1);
    let digits = from(low, b'0') ^ from(low, b'9' + 1);
    let ascii = !bytes & HIGH_BITS;
    (letters & ascii, digits & ascii)
}

/// Brings the high bits of eight bytes together, the first byte's lowest.
#[inline(always)]
fn together(high_bits: u64) -> u64 {
    (high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The same byte eight times.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_are_classed_as_each_alone() {
        for byte in 0..=255_u8 {
            for (place, neighbour) in (0..8).zip([0, b'/', b'0', b'Z', b'a', 0x7f, 0x80, 0xff]) {
                let mut bytes = [neighbour; 8];
                bytes[place] = byte;
                let (letters, digits) = ascii(u64::from_le_bytes(bytes));
                let alone = |is: fn(&u8) -> bool| {
                    bytes.iter().enumerate().fold(0, |all, (n, it)| all | u64::from(is(it)) << n)
                };
                assert_eq!(together(letters), alone(u8::is_ascii_alphabetic), "{bytes:?}");
                assert_eq!(together(digits), alone(u8::is_ascii_digit), "{bytes:?}");
            }
        }
    }
}
