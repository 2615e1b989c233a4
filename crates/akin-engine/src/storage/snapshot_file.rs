//! The snapshot file format: the index and the list of documents, so that a start need not read
//! every document. Its sections are read and verified independently, in parallel.
//!
//! All numbers are little-endian.
//!
//! ```text
//! bytes  head                              bytes  an entry: one distinct set and its documents
//!     8  "AKINSNAP"                            8  fingerprint of the set
//!     4  format, 1                             4  shingles of the set
//!     4  low half of the xxh3 of the           4  members: M, at least 1
//!        12 bytes before                       S  sketch
//!                                            6 M  ordinals of the members
//! bytes  a section
//!     4  kind, see below                   bytes  a listing: one document
//!     4  records                               8  fingerprint of its set
//!     8  bytes of its content: B               8  expires at, ms since 1970; 2^63 - 1: never
//!     8  xxh3 of its place (see below),        6  ordinal
//!        the 16 bytes before and the           2  bytes of the id: D; + 0x8000: has metadata
//!        content                               D  id, UTF-8
//!     B  content
//! ```
//!
//! The first section is of kind 1, the header: the bytes of a sketch S (4), the sequence (8), the
//! time of its creation in ms since 1970 (8), the next ordinal (8), and the identity, UTF-8. The
//! last is of kind 4, the end: the numbers of entries (8) and of listings (8) in all sections. The
//! sections between have entries (2) or listings (3).
//!
//! The place of a section is the xxh3 of the header's section (8; for the header itself 0), and the
//! number of bytes of the file before the section (8). It is not in the file.
//!
//! The magic number, the format and its check keep their positions in all future formats, so that a
//! file of another format can be distinguished from a broken file.
//!
//! Example: sequence 2, next ordinal 2, identity `{}`, a sketch of 2 bytes, one entry of 3
//! shingles, and its documents `a` (ordinal 0) and `b` (ordinal 1, has metadata):
//!
//! ```text
//! 41 4b 49 4e 53 4e 41 50  01 00 00 00  9f 0b e4 08
//! 01 00 00 00  00 00 00 00  1e 00 00 00 00 00 00 00  67 35 fd 06 37 74 71 aa
//! 02 00 00 00  02 00 00 00 00 00 00 00
//! 00 10 00 00 00 00 00 00  02 00 00 00 00 00 00 00  7b 7d
//! 02 00 00 00  01 00 00 00  1e 00 00 00 00 00 00 00  9e dc 06 26 4b f1 f7 11
//! 08 07 06 05 04 03 02 01  03 00 00 00  02 00 00 00  c0 c1
//! 00 00 00 00 00 00  01 00 00 00 00 00
//! 03 00 00 00  02 00 00 00  32 00 00 00 00 00 00 00  f0 85 e8 25 a1 c6 dd aa
//! 08 07 06 05 04 03 02 01  ff ff ff ff ff ff ff 7f
//! 00 00 00 00 00 00  01 00  61
//! 08 07 06 05 04 03 02 01  ff ff ff ff ff ff ff 7f
//! 01 00 00 00 00 00  01 80  62
//! 04 00 00 00  00 00 00 00  10 00 00 00 00 00 00 00  4d f5 af 44 8c 2a c8 09
//! 01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00
//! ```

use std::io::{self, Read};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::document::{DocumentId, Ordinal};

/// The version of the layout above. A change that an older akin would misread increments it.
pub(super) const FORMAT: u32 = 1;

/// A section ends with the record that reaches this size, which fits in a core's cache.
pub(super) const SECTION_BYTES: usize = 256 << 10;

/// More than a section and the copied members of a set in it have, or the header. Memory is taken
/// for a section before its checksum is verified, and a file may be sparse.
const SECTION_BYTES_MAX: u64 = 16 << 20;

pub(super) const HAS_METADATA: u16 = 0x8000;
const MAGIC: &[u8; 8] = b"AKINSNAP";

/// The bytes before the first section.
pub(super) const HEAD_BYTES: u64 = 16;

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
        let numbers = [self.sequence, self.created_at_ms.cast_unsigned(), self.next_ordinal];
        let numbers = numbers.map(u64::to_le_bytes);
        [&self.sketch_bytes.to_le_bytes()[..], numbers.as_flattened(), self.identity.as_bytes()]
            .concat()
    }

    pub(super) fn decode(mut bytes: &[u8]) -> Result<Self, BrokenSnapshot> {
        let (sketch_bytes, sequence) = (u32_of(&mut bytes)?, u64_of(&mut bytes)?);
        let created_at_ms = u64_of(&mut bytes)?.cast_signed();
        let next_ordinal = u64_of(&mut bytes)?;
        let identity = str::from_utf8(bytes);
        let identity =
            identity.map_err(|_| BrokenSnapshot::Format("its identity is not UTF-8"))?.to_owned();
        Ok(Self { identity, sequence, next_ordinal, sketch_bytes, created_at_ms })
    }
}

/// The bytes before the first section.
pub(super) fn head() -> Vec<u8> {
    let bytes = [&MAGIC[..], &FORMAT.to_le_bytes()].concat();
    let check = xxh3_64(&bytes) as u32;
    [&bytes[..], &check.to_le_bytes()].concat()
}

/// Checks the bytes before the first section.
pub(super) fn check_head(bytes: [u8; HEAD_BYTES as usize]) -> Result<(), BrokenSnapshot> {
    if !bytes.starts_with(MAGIC) {
        let what = "it does not begin with the magic number of a snapshot";
        return Err(BrokenSnapshot::Format(what));
    }
    let (mut rest, check) = (&bytes[8..], xxh3_64(&bytes[..12]) as u32);
    let (format, found) = (u32_of(&mut rest)?, u32_of(&mut rest)?);
    match (found == check, format == FORMAT) {
        (false, _) => Err(BrokenSnapshot::Format("its format does not match its checksum")),
        (true, false) => Err(BrokenSnapshot::OtherFormat(format)),
        (true, true) => Ok(()),
    }
}

/// The kind of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    Header = 1,
    Entries = 2,
    Listings = 3,
    End = 4,
}

/// The place where a section belongs. The checksum of the section covers it: a disk that writes to
/// a wrong place, or loses a write over an old file, leaves a section that is whole, but another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The checksum of the header, which differs between snapshots; 0 for the header itself.
    pub snapshot: u64,
    /// The bytes of the file before the section.
    pub at: u64,
}

impl Place {
    /// The place of the header.
    pub const HEADER: Self = Self { snapshot: 0, at: HEAD_BYTES };
}

/// A section without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub kind: SectionKind,
    pub records: u32,
    pub bytes: u64,
    pub checksum: u64,
}

impl Section {
    pub const HEAD_BYTES: u64 = 24;

    /// The section with a content, for a place.
    pub fn of(kind: SectionKind, records: u32, content: &[u8], place: Place) -> Self {
        let section = Self { kind, records, bytes: content.len() as u64, checksum: 0 };
        Self { checksum: section.sum(content, place), ..section }
    }

    pub fn encode(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.records.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[16..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub fn decode(mut bytes: &[u8]) -> Result<Self, BrokenSnapshot> {
        let kinds =
            [SectionKind::Header, SectionKind::Entries, SectionKind::Listings, SectionKind::End];
        let kind = u32_of(&mut bytes)?;
        let kind = kinds.into_iter().find(|known| *known as u32 == kind);
        let kind =
            kind.ok_or(BrokenSnapshot::Format("one of its sections is of an unknown kind"))?;
        let (records, length) = (u32_of(&mut bytes)?, u64_of(&mut bytes)?);
        let section = Self { kind, records, bytes: length, checksum: u64_of(&mut bytes)? };
        match length <= SECTION_BYTES_MAX {
            true => Ok(section),
            false => Err(BrokenSnapshot::Format("one of its sections has an impossible length")),
        }
    }

    /// The checksum of a section with this content at this place.
    fn sum(&self, content: &[u8], place: Place) -> u64 {
        let mut hasher = Xxh3::new();
        hasher.update([place.snapshot, place.at].map(u64::to_le_bytes).as_flattened());
        hasher.update(&self.encode()[..16]);
        hasher.update(content);
        hasher.digest()
    }

    pub fn check(&self, content: &[u8], place: Place) -> Result<(), BrokenSnapshot> {
        match self.sum(content, place) == self.checksum {
            true => Ok(()),
            false => Err(BrokenSnapshot::Format("one of its sections does not match its checksum")),
        }
    }

    /// Whether the section is long enough for its records.
    pub fn has_room(&self, sketch_bytes: u32) -> bool {
        let record_bytes_min = match self.kind {
            SectionKind::Entries => 22 + u64::from(sketch_bytes),
            _ => 25,
        };
        u64::from(self.records) <= self.bytes / record_bytes_min
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
            _ => SnapshotRecord::Listing(read_listing(&mut bytes)?),
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
    /// It may be intact.
    #[error("it has the unknown format {0}")]
    OtherFormat(u32),
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u32_of(input: &mut impl Read) -> io::Result<u32> {
    array(input).map(u32::from_le_bytes)
}

pub(super) fn u64_of(input: &mut impl Read) -> io::Result<u64> {
    array(input).map(u64::from_le_bytes)
}
