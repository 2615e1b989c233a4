//! One snapshot as a file: what the index holds, so that a start need not read every document.
//!
//! All numbers are little-endian.
//!
//! ```text
//! bytes  header                        bytes  an entry: one distinct set, and whose it is
//!     8  "AKINSNAP"                        8  fingerprint of the set
//!     4  format, 1                         4  shingles of the set
//!     4  bytes of a sketch: S              4  members: M, at least 1
//!     8  sequence                          S  sketch
//!     8  created at, ms since the epoch       M times
//!     4  next ordinal                         4  ordinal
//!     4  bytes of the identity: I             2  bytes of the id: D; + 0x8000: has metadata
//!     I  identity, UTF-8                      D  id, UTF-8
//!        entries
//!        footer
//!     8  entries
//!     8  members of all entries
//!     8  xxh3 of all bytes before
//!     8  "AKINDONE"
//! ```
//! Format, magic words and checksum stay where they are in all formats to come, so that a newer
//! file is told from a broken one.
//!
//! Example: sequence 2, next ordinal 2, identity `{}`, a sketch of 2 bytes, and one entry of the
//! documents `a` (ordinal 0) and `b` (ordinal 1, has metadata), of 3 shingles:
//!
//! ```text
//! 41 4b 49 4e 53 4e 41 50  01 00 00 00  02 00 00 00  02 00 00 00 00 00 00 00
//! 00 10 00 00 00 00 00 00  02 00 00 00  02 00 00 00  7b 7d
//! 08 07 06 05 04 03 02 01  03 00 00 00  02 00 00 00  c0 c1
//!                          00 00 00 00  01 00  61
//!                          01 00 00 00  01 80  62
//! 01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00
//! 2b ef 4a 58 d2 a6 2d 6d  41 4b 49 4e 44 4f 4e 45
//! ```

use std::io::{self, Read};

use crate::document::{DocumentId, Ordinal};

pub(super) const FORMAT: u32 = 1;
pub(super) const FOOTER_BYTES: u64 = 32;
pub(super) const HAS_METADATA: u16 = 0x8000;
/// Files are read and written in pieces of this size.
pub(super) const BUFFER_BYTES: usize = 1 << 20;
const MAGIC: &[u8; 8] = b"AKINSNAP";
const MAGIC_DONE: &[u8; 8] = b"AKINDONE";

/// What a snapshot is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// As given to [`super::Store::open`].
    pub identity: String,
    /// All operations up to this one are in it.
    pub sequence: u64,
    /// Higher than every ordinal in it.
    pub next_ordinal: u32,
    pub sketch_bytes: u32,
    /// Milliseconds since the epoch.
    pub created_at_ms: i64,
}

/// A distinct set and the documents that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEntry<'a> {
    pub fingerprint: u64,
    pub shingles: u32,
    /// As many bytes as the header says.
    pub sketch: &'a [u8],
    pub members: &'a [SnapshotMember],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotMember {
    pub ordinal: Ordinal,
    pub id: DocumentId,
    pub has_metadata: bool,
}

/// A snapshot in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    pub sequence: u64,
    pub created_at_ms: i64,
    pub bytes: u64,
    pub documents: u64,
}

impl SnapshotHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        let identity = u32::try_from(self.identity.len()).expect("settings are short");
        [
            &MAGIC[..],
            &FORMAT.to_le_bytes(),
            &self.sketch_bytes.to_le_bytes(),
            &self.sequence.to_le_bytes(),
            &self.created_at_ms.to_le_bytes(),
            &self.next_ordinal.to_le_bytes(),
            &identity.to_le_bytes(),
            self.identity.as_bytes(),
        ]
        .concat()
    }

    /// The format comes first: of one above [`FORMAT`] nothing else is known, so that the header
    /// is `None`. `bytes_max` is what the file can hold.
    pub(super) fn read(
        input: &mut impl Read,
        bytes_max: u64,
    ) -> Result<(u32, Option<Self>), Broken> {
        if &array(input)? != MAGIC {
            return Err(Broken::Format("it does not begin as a snapshot"));
        }
        let format = u32_of(input)?;
        if format > FORMAT {
            return Ok((format, None));
        }
        let sketch_bytes = u32_of(input)?;
        let sequence = u64_of(input)?;
        let created_at_ms = u64_of(input)?.cast_signed();
        let next_ordinal = u32_of(input)?;
        let identity_bytes = u32_of(input)?;
        if u64::from(identity_bytes.max(sketch_bytes)) > bytes_max {
            return Err(Broken::Format("its header names a length that it does not have"));
        }
        let mut identity = vec![0; identity_bytes as usize];
        input.read_exact(&mut identity)?;
        let identity =
            String::from_utf8(identity).map_err(|_| Broken::Format("its identity is not UTF-8"))?;
        let header = Self { identity, sequence, next_ordinal, sketch_bytes, created_at_ms };
        Ok((format, Some(header)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub entries: u64,
    pub documents: u64,
    pub checksum: u64,
}

impl Footer {
    /// Of [`FOOTER_BYTES`], the ones before these are in the checksum.
    pub const BYTES_UNCHECKED: u64 = 16;

    /// The part that the checksum covers.
    pub fn encode_counts(entries: u64, documents: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&entries.to_le_bytes());
        bytes[8..].copy_from_slice(&documents.to_le_bytes());
        bytes
    }

    pub fn encode_end(checksum: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        bytes[8..].copy_from_slice(MAGIC_DONE);
        bytes
    }

    pub fn read(input: &mut impl Read) -> Result<Self, Broken> {
        let (entries, documents, checksum) = (u64_of(input)?, u64_of(input)?, u64_of(input)?);
        if &array(input)? != MAGIC_DONE {
            return Err(Broken::Format("it does not end as a snapshot"));
        }
        Ok(Self { entries, documents, checksum })
    }
}

/// Why a file is no whole snapshot.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Format(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub(super) fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn u16_of(input: &mut impl Read) -> io::Result<u16> {
    array(input).map(u16::from_le_bytes)
}

pub(super) fn u32_of(input: &mut impl Read) -> io::Result<u32> {
    array(input).map(u32::from_le_bytes)
}

pub(super) fn u64_of(input: &mut impl Read) -> io::Result<u64> {
    array(input).map(u64::from_le_bytes)
}
