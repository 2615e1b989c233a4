//! xxh3 over the columns of a row, in an injective encoding.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Hashes columns: a number as 8 bytes, bytes with a length prefix of 8 bytes, null as the length
/// 2⁶⁴ − 1; all little-endian. The methods borrow it, because moving half a kilobyte is slow.
pub(super) struct Digest(Xxh3);

impl Digest {
    pub fn new() -> Self {
        Self(Xxh3::new())
    }

    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub fn optional(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            Some(bytes) => self.bytes(bytes),
            None => self.number(u64::MAX),
        }
    }

    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}

/// The digest of three numbers, without a streaming state.
pub(super) fn of_numbers(numbers: [u64; 3]) -> u64 {
    xxh3_64(numbers.map(u64::to_le_bytes).as_flattened())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_three_numbers_equals_the_streaming_digest() {
        let digest = Digest::new().number(1).number(u64::MAX).number(3).finish();
        assert_eq!(of_numbers([1, u64::MAX, 3]), digest);
    }

    #[test]
    fn digest_separates_neighbouring_columns() {
        let digest = |a: &[u8], b: &[u8]| Digest::new().bytes(a).bytes(b).finish();
        assert_ne!(digest(b"ab", b"c"), digest(b"a", b"bc"));
        let optional = |bytes| Digest::new().optional(bytes).finish();
        assert_ne!(optional(None), optional(Some(b"")));
    }
}
