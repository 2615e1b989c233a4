//! The bytes of versions.

use bytes::Bytes;

use super::layout::{be_bytes, of_be_bytes};
use crate::document::{Metadata, Ordinal};

/// A version of a document, without its place in the order of arrival.
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
    /// Of the bytes alone: the version has a time of expiry.
    pub(super) const EXPIRES: u8 = 32;
    /// Of the bytes alone: see [`super::Pending::tentative`].
    pub(super) const TENTATIVE: u8 = 64;
}

const RECORD_LAYOUT: u8 = 2;

/// Bytes of a time in milliseconds since the epoch.
const TIME_BYTES: usize = 6;

impl VersionRecord {
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Pending::decode(bytes).map(|pending| pending.stored)
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub fn is_alive(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_none_or(|at| at > now_ms)
    }
}

/// A version with its place in the order of arrival: the value of `p` and of `d`, so that a version
/// becomes live when its key is renamed. 42 bytes, which Valkey keeps beside the value's header in
/// one piece of 64; then 8 for the time of expiry, if there is one, and the metadata's JSON.
///
/// ```text
/// 0   1   the layout's version, 2
/// 1   6   ordinal
/// 7   8   fingerprint
/// 15  8   ticket; 0: it will get a ticket; u64::MAX: it takes none
/// 23  4   shingles
/// 27  6   since when it is pending, and so stored: milliseconds since the epoch
/// 33  8   hash of content and metadata
/// 41  1   flags
/// ```
/// Numbers are big-endian. The scripts use the first two numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub ticket: u64,
    /// It may be withdrawn because of a near-duplicate.
    pub tentative: bool,
    pub stored: VersionRecord,
}

impl Pending {
    /// The ticket of a document that is about to get a ticket.
    pub const CHOOSING: u64 = 0;
    /// The ticket of a document that is certain to be stored and asks for no near-duplicates.
    pub const NONE: u64 = u64::MAX;

    pub fn encode(&self) -> Bytes {
        let stored = &self.stored;
        let metadata = stored.metadata.as_ref().map_or("", Metadata::as_json);
        let mut bytes = Vec::with_capacity(50 + metadata.len());
        bytes.push(RECORD_LAYOUT);
        bytes.extend_from_slice(&be_bytes(stored.ordinal));
        bytes.extend_from_slice(&stored.fingerprint.to_be_bytes());
        bytes.extend_from_slice(&self.ticket.to_be_bytes());
        bytes.extend_from_slice(&stored.shingles.to_be_bytes());
        let at_ms = stored.stored_at_ms.clamp(0, (1 << (8 * TIME_BYTES)) - 1);
        bytes.extend_from_slice(&at_ms.to_be_bytes()[8 - TIME_BYTES..]);
        bytes.extend_from_slice(&stored.content_hash.to_be_bytes());
        let set_if = |flag, condition: bool| if condition { flag } else { 0 };
        let expires = set_if(flags::EXPIRES, stored.expires_at_ms.is_some());
        bytes.push(stored.flags | expires | set_if(flags::TENTATIVE, self.tentative));
        bytes.extend(stored.expires_at_ms.into_iter().flat_map(i64::to_be_bytes));
        bytes.extend_from_slice(metadata.as_bytes());
        bytes.into()
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&[RECORD_LAYOUT])?;
        let (ordinal, rest) = rest.split_first_chunk::<{ Ordinal::BYTES }>()?;
        let (fingerprint, rest) = rest.split_first_chunk()?;
        let (ticket, rest) = rest.split_first_chunk()?;
        let (shingles, rest) = rest.split_first_chunk()?;
        let (stored_at_ms, rest) = rest.split_first_chunk::<TIME_BYTES>()?;
        let (content_hash, rest) = rest.split_first_chunk()?;
        let (&bits, rest) = rest.split_first()?;
        let (expires_at_ms, metadata) = match bits & flags::EXPIRES {
            0 => (None, rest),
            _ => {
                rest.split_first_chunk().map(|(at, rest)| (Some(i64::from_be_bytes(*at)), rest))?
            }
        };
        let metadata = match bits & flags::METADATA {
            0 => None,
            _ => Some(Metadata::from_json(str::from_utf8(metadata).ok()?).ok()?),
        };
        let stored = VersionRecord {
            ordinal: of_be_bytes(*ordinal),
            fingerprint: u64::from_be_bytes(*fingerprint),
            shingles: u32::from_be_bytes(*shingles),
            stored_at_ms: stored_at_ms.iter().fold(0, |ms, byte| ms << 8 | i64::from(*byte)),
            expires_at_ms,
            content_hash: u64::from_be_bytes(*content_hash),
            flags: bits & !(flags::EXPIRES | flags::TENTATIVE),
            metadata,
        };
        let tentative = bits & flags::TENTATIVE != 0;
        Some(Self { ticket: u64::from_be_bytes(*ticket), tentative, stored })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_back_as_they_were() {
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
        let plain = VersionRecord { metadata: None, flags: 0, ..stored.clone() };
        let expiring = VersionRecord { expires_at_ms: Some(5), ..stored.clone() };
        for (stored, tentative) in [(stored, true), (plain.clone(), false), (expiring, true)] {
            let pending = Pending { ticket: 4, tentative, stored };
            let bytes = pending.encode();
            assert_eq!(VersionRecord::decode(&bytes), Some(pending.stored.clone()));
            assert_eq!(bytes[1..7], be_bytes(pending.stored.ordinal));
            assert_eq!(Pending::decode(&bytes), Some(pending));
            assert_eq!(Pending::decode(&bytes[..40]), None);
        }
        let pending = Pending { ticket: 4, tentative: true, stored: plain };
        assert_eq!(pending.encode().len(), 42);
    }
}
