//! The bytes of an ordinal in a snapshot.

use std::io::{self, Read};

use crate::document::Ordinal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Narrow,
    Wide,
}

impl Width {
    pub fn of_format(format: u32) -> Self {
        if format <= Self::Narrow.format() { Self::Narrow } else { Self::Wide }
    }

    /// The format of snapshots with this width.
    pub fn format(self) -> u32 {
        match self {
            Self::Narrow => 2,
            Self::Wide => 3,
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::Narrow => size_of::<u32>(),
            Self::Wide => Ordinal::BYTES,
        }
    }

    /// # Errors
    /// The ordinal is wider.
    pub fn write(self, ordinal: Ordinal, buffer: &mut Vec<u8>) -> io::Result<()> {
        let bytes = ordinal.to_le_bytes();
        let (bytes, rest) = bytes.split_at(self.bytes());
        if rest.iter().any(|byte| *byte != 0) {
            return Err(io::Error::other("ordinals outgrew the snapshot: take another"));
        }
        buffer.extend_from_slice(bytes);
        Ok(())
    }

    pub fn read(self, input: &mut impl Read) -> io::Result<Ordinal> {
        let mut bytes = [0; Ordinal::BYTES];
        input.read_exact(&mut bytes[..self.bytes()])?;
        Ok(Ordinal::from_le_bytes(bytes))
    }

    /// Appends the ordinals of `bytes`.
    pub fn read_all(self, bytes: &[u8], ordinals: &mut Vec<Ordinal>) {
        match self {
            Self::Narrow => {
                let narrow = |bytes: &[u8; 4]| Ordinal::from(u32::from_le_bytes(*bytes));
                ordinals.extend(bytes.as_chunks().0.iter().map(narrow));
            }
            Self::Wide => {
                let wide = |bytes: &[u8; Ordinal::BYTES]| Ordinal::from_le_bytes(*bytes);
                ordinals.extend(bytes.as_chunks().0.iter().map(wide));
            }
        }
    }
}
