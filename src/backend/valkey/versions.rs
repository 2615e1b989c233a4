//! The bytes of versions and entries.

use bytes::Bytes;

use super::layout::{be_bytes, of_be_bytes};
use crate::document::{Metadata, Ordinal};
use crate::storage::{decode_set, encode_set};
use akin_core::sketch::Sketch;
use akin_core::text::ShingleSet;

/// The time of expiry of a document that never does.
const NEVER_MS: i64 = i64::MAX;

/// The record of a version: 44 bytes, then the metadata's JSON.
///
/// ```text
/// 0   1   the layout's version, 1
/// 1   6   ordinal
/// 7   8   fingerprint
/// 15  4   shingles
/// 19  8   stored at, milliseconds since the epoch
/// 27  8   expires at, or the highest
/// 35  8   hash of content and metadata
/// 43  1   flags
/// ```
/// Numbers are big-endian. The scripts use the first two numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRecord {
    pub ordinal: Ordinal,
    pub fingerprint: u64,
    pub shingles: u32,
    pub stored_at_ms: i64,
    pub expires_at_ms: Option<i64>,
    pub content_hash: u64,
    pub flags: u8,
    pub metadata: Option<Metadata>,
}

pub mod flags {
    pub const WHOLE_DOCUMENT: u8 = 1;
    pub const CONTENT: u8 = 2;
    pub const TOKENS: u8 = 4;
    pub const FIELDS: u8 = 8;
    pub const METADATA: u8 = 16;
}

const RECORD_LAYOUT: u8 = 1;

impl VersionRecord {
    pub fn encode(&self) -> Bytes {
        let metadata = self.metadata.as_ref().map_or("", Metadata::as_json);
        let mut bytes = Vec::with_capacity(44 + metadata.len());
        bytes.push(RECORD_LAYOUT);
        bytes.extend_from_slice(&be_bytes(self.ordinal));
        bytes.extend_from_slice(&self.fingerprint.to_be_bytes());
        bytes.extend_from_slice(&self.shingles.to_be_bytes());
        bytes.extend_from_slice(&self.stored_at_ms.to_be_bytes());
        bytes.extend_from_slice(&self.expires_at_ms.unwrap_or(NEVER_MS).to_be_bytes());
        bytes.extend_from_slice(&self.content_hash.to_be_bytes());
        bytes.push(self.flags);
        bytes.extend_from_slice(metadata.as_bytes());
        bytes.into()
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&[RECORD_LAYOUT])?;
        let (ordinal, rest) = rest.split_first_chunk::<{ Ordinal::BYTES }>()?;
        let (fingerprint, rest) = rest.split_first_chunk()?;
        let (shingles, rest) = rest.split_first_chunk()?;
        let (stored_at_ms, rest) = rest.split_first_chunk()?;
        let (expires_at_ms, rest) = rest.split_first_chunk()?;
        let (content_hash, rest) = rest.split_first_chunk()?;
        let (&flags, metadata) = rest.split_first()?;
        let expires_at_ms = i64::from_be_bytes(*expires_at_ms);
        let metadata = match flags & flags::METADATA {
            0 => None,
            _ => Some(Metadata::from_json(str::from_utf8(metadata).ok()?).ok()?),
        };
        Some(Self {
            ordinal: of_be_bytes(*ordinal),
            fingerprint: u64::from_be_bytes(*fingerprint),
            shingles: u32::from_be_bytes(*shingles),
            stored_at_ms: i64::from_be_bytes(*stored_at_ms),
            expires_at_ms: (expires_at_ms != NEVER_MS).then_some(expires_at_ms),
            content_hash: u64::from_be_bytes(*content_hash),
            flags,
            metadata,
        })
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub fn is_alive(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_none_or(|at| at > now_ms)
    }
}

/// A version that is not live yet: 17 bytes, then its record.
///
/// ```text
/// 0   8   ticket; 0: it will get a ticket; u64::MAX: it takes none
/// 8   8   since when it is pending, milliseconds since the epoch
/// 16  1   1 if it may be withdrawn because of a near-duplicate
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub ticket: u64,
    pub since_ms: i64,
    pub tentative: bool,
    pub stored: VersionRecord,
}

impl Pending {
    /// Bytes before the record, which the script that makes a version live cuts off.
    pub const HEAD_BYTES: usize = 17;
    /// The ticket of a document that is about to get a ticket.
    pub const CHOOSING: u64 = 0;
    /// The ticket of a document that is certain to be stored and asks for no near-duplicates.
    pub const NONE: u64 = u64::MAX;

    pub fn encode(&self) -> Bytes {
        let record = self.stored.encode();
        let mut bytes = Vec::with_capacity(Self::HEAD_BYTES + record.len());
        bytes.extend_from_slice(&self.ticket.to_be_bytes());
        bytes.extend_from_slice(&self.since_ms.to_be_bytes());
        bytes.push(u8::from(self.tentative));
        bytes.extend_from_slice(&record);
        bytes.into()
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (ticket, rest) = bytes.split_first_chunk()?;
        let (since_ms, rest) = rest.split_first_chunk()?;
        let (&tentative, record) = rest.split_first()?;
        Some(Self {
            ticket: u64::from_be_bytes(*ticket),
            since_ms: i64::from_be_bytes(*since_ms),
            tentative: tentative == 1,
            stored: VersionRecord::decode(record)?,
        })
    }
}

/// A set: the number of its elements in 4 bytes, then these as on disk.
pub fn set_bytes(set: &ShingleSet) -> Bytes {
    let mut bytes = (set.count() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&encode_set(set));
    bytes.into()
}

pub fn set_of(bytes: &[u8]) -> Option<ShingleSet> {
    let (count, elements) = bytes.split_first_chunk()?;
    decode_set(elements, u32::from_be_bytes(*count))
}

/// The sketch of an entry: `A`, or `D` while it is being removed; the number of shingles; the
/// sketch; after `D` eight bytes of the call that removes it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub is_alive: bool,
    pub shingles: u32,
    pub sketch: Sketch,
}

impl Entry {
    pub const ALIVE: u8 = b'A';
    pub const DYING: u8 = b'D';

    pub fn encode(shingles: u32, sketch: &Sketch) -> Bytes {
        let mut bytes = vec![Self::ALIVE];
        bytes.extend_from_slice(&shingles.to_be_bytes());
        bytes.extend_from_slice(sketch.as_bytes());
        bytes.into()
    }

    /// `None` unless the sketch has `sketch_bytes`.
    pub fn decode(bytes: &[u8], sketch_bytes: usize) -> Option<Self> {
        let (&state, rest) = bytes.split_first()?;
        let (shingles, sketch) = rest.split_first_chunk()?;
        let is_alive = match state {
            Self::ALIVE => true,
            Self::DYING => false,
            _ => return None,
        };
        let (sketch, token) = sketch.split_at_checked(sketch_bytes)?;
        (token.len() == if is_alive { 0 } else { 8 }).then(|| Self {
            is_alive,
            shingles: u32::from_be_bytes(*shingles),
            sketch: Sketch::from_bytes(sketch.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were() {
        let stored = VersionRecord {
            ordinal: Ordinal::from(258),
            fingerprint: 1 << 60,
            shingles: 9,
            stored_at_ms: 1_800_000_000_000,
            expires_at_ms: None,
            content_hash: 3,
            flags: flags::CONTENT | flags::METADATA,
            metadata: Some(Metadata::from_json(r#"{"a":1}"#).unwrap()),
        };
        let expiring =
            VersionRecord { expires_at_ms: Some(5), metadata: None, flags: 0, ..stored.clone() };
        for stored in [stored, expiring] {
            let bytes = stored.encode();
            assert_eq!(VersionRecord::decode(&bytes), Some(stored.clone()));
            assert_eq!(bytes[1..7], be_bytes(stored.ordinal));
            assert_eq!(VersionRecord::decode(&bytes[..40]), None);
            let pending = Pending { ticket: 4, since_ms: 6, tentative: true, stored };
            assert_eq!(pending.encode()[Pending::HEAD_BYTES..], bytes);
            assert_eq!(Pending::decode(&pending.encode()), Some(pending));
        }
    }
}
