//! The snapshot file format: the index and the list of documents, so that a start need not read
//! every document. Its sections are read and verified independently, in parallel.
//!
//! All numbers are little-endian.
//!
//! ```text
//! bytes  head                          bytes  an entry: one distinct set and its documents
//!     8  "AKINSNAP"                        8  fingerprint of the set
//!     4  format, 1                         4  shingles of the set
//!     4  low half of the xxh3 of           4  members: M, at least 1
//!        the 12 bytes before               S  sketch
//!     4  bytes of a sketch: S            6 M  ordinals of the members
//!     4  bytes of the identity: I
//!     8  sequence                      bytes  a listing: one document
//!     8  created at, ms since 1970         8  fingerprint of its set
//!     8  next ordinal                      8  expires at, ms since 1970; 2^63 - 1: never
//!     I  identity, UTF-8                   6  ordinal
//!        sections                          2  bytes of the id: D; + 0x8000: has metadata
//!        directory: for each section       D  id, UTF-8
//!     4  kind: 1 entries, 2 listings
//!     4  number of records
//!     8  bytes of the section
//!     8  xxh3 of the section
//!        footer
//!     8  entries of all sections
//!     8  listings of all sections
//!     8  sections
//!     8  xxh3 of head, directory and the 24 bytes before
//!     8  "AKINDONE"
//! ```
//!
//! The magic numbers, the format and its check keep their positions in all future formats, so that
//! a file of another format can be distinguished from a broken file.
//!
//! Example: sequence 2, next ordinal 2, identity `{}`, a sketch of 2 bytes, one entry of 3
//! shingles, and its documents `a` (ordinal 0) and `b` (ordinal 1, has metadata):
//!
//! ```text
//! 41 4b 49 4e 53 4e 41 50  01 00 00 00  9f 0b e4 08
//! 02 00 00 00  02 00 00 00  02 00 00 00 00 00 00 00
//! 00 10 00 00 00 00 00 00  02 00 00 00 00 00 00 00  7b 7d
//! 08 07 06 05 04 03 02 01  03 00 00 00  02 00 00 00  c0 c1
//!                          00 00 00 00 00 00  01 00 00 00 00 00
//! 08 07 06 05 04 03 02 01  ff ff ff ff ff ff ff 7f  00 00 00 00 00 00  01 00  61
//! 08 07 06 05 04 03 02 01  ff ff ff ff ff ff ff 7f  01 00 00 00 00 00  01 80  62
//! 01 00 00 00  01 00 00 00  1e 00 00 00 00 00 00 00  dd 47 44 cf 9c 11 56 fb
//! 02 00 00 00  02 00 00 00  22 00 00 00 00 00 00 00  73 82 ac ec e5 96 69 7e
//! 01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00
//! f5 b9 9a e2 a6 c0 8c 78  41 4b 49 4e 44 4f 4e 45
//! ```

use std::io::{self, Read};

use xxhash_rust::xxh3::xxh3_64;

use crate::document::{DocumentId, Ordinal};

/// The version of the layout above. A change that an older akin would misread increments it.
pub(super) const FORMAT: u32 = 1;

/// A section ends with the record that reaches this size, which fits in a core's cache.
pub(super) const SECTION_BYTES: usize = 256 << 10;

/// More than a section and the copied members of a set in it have. Memory is taken for a section,
/// an identity and a directory before their checksums are verified, and a file may be sparse.
pub(super) const SECTION_BYTES_MAX: u64 = 16 << 20;
const IDENTITY_BYTES_MAX: u64 = 16 << 20;
/// Additional sections that are not full.
const SMALL_SECTIONS_MAX: u64 = 1 << 20;

pub(super) const HAS_METADATA: u16 = 0x8000;
const MAGIC: &[u8; 8] = b"AKINSNAP";
const MAGIC_DONE: &[u8; 8] = b"AKINDONE";

/// The header of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// As given to [`super::Store::open`].
    pub identity: String,
    /// The snapshot contains all operations up to this sequence.
    pub sequence: u64,
    /// Greater than every ordinal in it.
    pub next_ordinal: u64,
    pub sketch_bytes: u32,
    /// Milliseconds since the epoch.
    pub created_at_ms: i64,
}

/// A distinct set and the documents that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEntry<'a> {
    pub fingerprint: u64,
    pub shingles: u32,
    /// `sketch_bytes` of the header long.
    pub sketch: &'a [u8],
    pub members: &'a [Ordinal],
}

/// A document's id, its set's fingerprint and whether it has metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotListing<'a> {
    pub ordinal: Ordinal,
    /// A [`DocumentId`].
    pub id: &'a str,
    pub fingerprint: u64,
    /// Milliseconds since the epoch; `None` if the document never expires.
    pub expires_at_ms: Option<i64>,
    pub has_metadata: bool,
}

/// The expiry time of a document that does not expire.
pub(super) const NEVER: i64 = i64::MAX;

/// A record of a section. Entries and listings are not from the same moment: a document inserted or
/// removed while the snapshot was taken may have an entry and no listing, or a listing and no
/// entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotRecord<'a> {
    Entry(SnapshotEntry<'a>),
    Listing(SnapshotListing<'a>),
}

impl SnapshotHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        let identity = u32::try_from(self.identity.len()).expect("settings are short");
        let mut bytes = [&MAGIC[..], &FORMAT.to_le_bytes()].concat();
        let check = xxh3_64(&bytes) as u32;
        for part in [
            &check.to_le_bytes()[..],
            &self.sketch_bytes.to_le_bytes(),
            &identity.to_le_bytes(),
            &self.sequence.to_le_bytes(),
            &self.created_at_ms.to_le_bytes(),
            &self.next_ordinal.to_le_bytes(),
            self.identity.as_bytes(),
        ] {
            bytes.extend_from_slice(part);
        }
        bytes
    }

    /// Returns the format and the header, which is `None` for formats other than [`FORMAT`].
    /// `bytes_max` is the length of the file.
    pub(super) fn read(
        input: &mut impl Read,
        bytes_max: u64,
    ) -> Result<(u32, Option<Self>), BrokenSnapshot> {
        let format = format(input)?;
        if format != FORMAT {
            return Ok((format, None));
        }
        let sketch_bytes = u32_of(input)?;
        let identity_bytes = u32_of(input)?;
        let sequence = u64_of(input)?;
        let created_at_ms = u64_of(input)?.cast_signed();
        let next_ordinal = u64_of(input)?;
        if u64::from(identity_bytes.max(sketch_bytes)) > bytes_max.min(IDENTITY_BYTES_MAX) {
            return Err(BrokenSnapshot::Format("its header has an impossible length"));
        }
        let mut identity = vec![0; identity_bytes as usize];
        input.read_exact(&mut identity)?;
        let identity = String::from_utf8(identity)
            .map_err(|_| BrokenSnapshot::Format("its identity is not UTF-8"))?;
        let header = Self { identity, sequence, next_ordinal, sketch_bytes, created_at_ms };
        Ok((format, Some(header)))
    }
}

fn format(input: &mut impl Read) -> Result<u32, BrokenSnapshot> {
    let fixed: [u8; 12] = array(input)?;
    if !fixed.starts_with(MAGIC) {
        return Err(BrokenSnapshot::Format(
            "it does not begin with the magic number of a snapshot",
        ));
    }
    let format = u32::from_le_bytes(*fixed.last_chunk().expect("it is longer than four bytes"));
    if u32_of(input)? != xxh3_64(&fixed) as u32 {
        return Err(BrokenSnapshot::Format("its format does not match its checksum"));
    }
    Ok(format)
}

/// The kind of records in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    Entries = 1,
    Listings = 2,
}

/// A section as described by the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub kind: SectionKind,
    pub records: u32,
    pub bytes: u64,
    pub checksum: u64,
}

impl Section {
    pub const LINE_BYTES: u64 = 24;

    pub fn encode(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.records.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[16..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub fn read(input: &mut impl Read) -> Result<Self, BrokenSnapshot> {
        let kind = match u32_of(input)? {
            1 => SectionKind::Entries,
            2 => SectionKind::Listings,
            _ => return Err(BrokenSnapshot::Format("one of its sections is of an unknown kind")),
        };
        let (records, bytes, checksum) = (u32_of(input)?, u64_of(input)?, u64_of(input)?);
        Ok(Self { kind, records, bytes, checksum })
    }

    /// Whether the section is long enough for its records, and no longer than a section gets.
    pub fn is_possible(&self, sketch_bytes: u32) -> bool {
        let record_bytes_min = match self.kind {
            SectionKind::Entries => 22 + u64::from(sketch_bytes),
            SectionKind::Listings => 25,
        };
        u64::from(self.records) <= self.bytes / record_bytes_min && self.bytes <= SECTION_BYTES_MAX
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub entries: u64,
    pub documents: u64,
    pub sections: u64,
    pub checksum: u64,
}

impl Footer {
    pub const BYTES: u64 = 40;

    /// The part of the footer that the checksum covers.
    pub fn encode_counts(entries: u64, documents: u64, sections: u64) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&entries.to_le_bytes());
        bytes[8..16].copy_from_slice(&documents.to_le_bytes());
        bytes[16..].copy_from_slice(&sections.to_le_bytes());
        bytes
    }

    pub fn encode_end(checksum: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        bytes[8..].copy_from_slice(MAGIC_DONE);
        bytes
    }

    pub fn read(input: &mut impl Read) -> Result<Self, BrokenSnapshot> {
        let (entries, documents) = (u64_of(input)?, u64_of(input)?);
        let (sections, checksum) = (u64_of(input)?, u64_of(input)?);
        if &array(input)? != MAGIC_DONE {
            return Err(BrokenSnapshot::Format(
                "it does not end with the magic number of a snapshot",
            ));
        }
        Ok(Self { entries, documents, sections, checksum })
    }

    /// Whether a file of so many bytes can have so many sections.
    pub fn is_possible(&self, file_bytes: u64) -> bool {
        self.sections <= file_bytes / SECTION_BYTES as u64 + SMALL_SECTIONS_MAX
    }

    /// Whether the sections have as many records as the footer says.
    pub fn counts_all<'a>(&self, sections: impl Iterator<Item = &'a Section>) -> bool {
        let (mut entries, mut documents) = (0, 0);
        for section in sections {
            match section.kind {
                SectionKind::Entries => entries += u64::from(section.records),
                SectionKind::Listings => documents += u64::from(section.records),
            }
        }
        (entries, documents) == (self.entries, self.documents)
    }
}

/// Visits the records of a section. Its checksum was verified before.
pub(super) fn visit_records(
    section: &Section,
    sketch_bytes: u32,
    mut bytes: &[u8],
    mut visit: impl FnMut(SnapshotRecord<'_>),
) -> Result<(), BrokenSnapshot> {
    let mut members = Vec::new();
    for _ in 0..section.records {
        visit(match section.kind {
            SectionKind::Entries => {
                SnapshotRecord::Entry(read_entry(&mut bytes, sketch_bytes, &mut members)?)
            }
            SectionKind::Listings => SnapshotRecord::Listing(read_listing(&mut bytes)?),
        });
    }
    if !bytes.is_empty() {
        return Err(BrokenSnapshot::Format("one of its sections is longer than its records"));
    }
    Ok(())
}

fn read_entry<'a, 'b: 'a>(
    bytes: &mut &'b [u8],
    sketch_bytes: u32,
    members: &'a mut Vec<Ordinal>,
) -> Result<SnapshotEntry<'a>, BrokenSnapshot> {
    let (fingerprint, shingles, count) = (u64_of(bytes)?, u32_of(bytes)?, u32_of(bytes)?);
    let sketch = take(bytes, sketch_bytes as usize)?;
    let ordinals = take(bytes, count as usize * Ordinal::BYTES)?;
    members.clear();
    members.extend(ordinals.as_chunks().0.iter().copied().map(Ordinal::from_le_bytes));
    Ok(SnapshotEntry { fingerprint, shingles, sketch, members })
}

fn read_listing<'a>(bytes: &mut &'a [u8]) -> Result<SnapshotListing<'a>, BrokenSnapshot> {
    let (fingerprint, expires_at_ms) = (u64_of(bytes)?, u64_of(bytes)?.cast_signed());
    let expires_at_ms = Some(expires_at_ms).filter(|at| *at != NEVER);
    let ordinal = Ordinal::from_le_bytes(array(bytes)?);
    let marked = array(bytes).map(u16::from_le_bytes)?;
    let id = str::from_utf8(take(bytes, usize::from(marked & !HAS_METADATA))?).ok();
    let id = id.filter(|id| DocumentId::check(id).is_ok());
    let id = id.ok_or(BrokenSnapshot::Format("it contains an invalid id"))?;
    let has_metadata = marked & HAS_METADATA != 0;
    Ok(SnapshotListing { ordinal, id, fingerprint, expires_at_ms, has_metadata })
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], BrokenSnapshot> {
    bytes
        .split_off(..count)
        .ok_or(BrokenSnapshot::Format("one of its sections ends within a record"))
}

/// Why a file is not an intact snapshot.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokenSnapshot {
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

fn u32_of(input: &mut impl Read) -> io::Result<u32> {
    array(input).map(u32::from_le_bytes)
}

fn u64_of(input: &mut impl Read) -> io::Result<u64> {
    array(input).map(u64::from_le_bytes)
}
