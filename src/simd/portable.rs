//! What every processor can do: eight bytes in a register.

use super::runs::{BLOCK_BYTES, Marks};

const HIGH_BITS: u64 = each(0x80);

pub(super) fn mark(blocks: &[[u8; BLOCK_BYTES]], marks: &mut Marks<'_>) {
    for block in blocks {
        let (eights, _) = block.as_chunks();
        let bits = eights.iter().map(|eight| in_run(u64::from_le_bytes(*eight)));
        let in_run = bits.enumerate().fold(0, |all, (n, bits)| all | bits << (8 * n));
        marks.note(in_run);
    }
}

/// A bit for each of eight bytes: whether it is an ASCII letter or digit, or not ASCII.
fn in_run(bytes: u64) -> u64 {
    let ascii = bytes & !HIGH_BITS;
    // Adding 0x80 − c to a byte under 0x80 sets its high bit from c on, and carries nothing over.
    let from = |bytes: u64, first: u8| bytes + each(0x80 - first);
    let lower = ascii | each(0x20);
    let letter = from(lower, b'a') ^ from(lower, b'z' + 1);
    let digit = from(ascii, b'0') ^ from(ascii, b'9' + 1);
    let high_bits = (letter | digit | bytes) & HIGH_BITS;
    // Brings the high bits together in the highest byte, the first byte's lowest.
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
                let alone = bytes.iter().enumerate().fold(0, |all, (n, it)| {
                    all | u64::from(it.is_ascii_alphanumeric() || !it.is_ascii()) << n
                });
                assert_eq!(in_run(u64::from_le_bytes(bytes)), alone, "{bytes:?}");
            }
        }
    }
}
