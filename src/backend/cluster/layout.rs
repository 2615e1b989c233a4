//! The keys in the cluster and the bytes of their values, as pure functions. The table is at the
//! head of [`super`].

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::backend::Version;
use crate::document::{DocumentId, Metadata, Ordinal};
use crate::scheme::Key;
use crate::sketch::Sketch;

/// Parts of a collection: the number of hash tags, each in one slot.
pub const PARTS: u64 = 256;

/// Bytes of a fingerprint.
const FINGERPRINT_BYTES: usize = 8;

/// The time of expiry of a document that never does.
const NEVER_MS: i64 = i64::MAX;

/// The names of one collection's keys.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The server's prefix and the collection's number, as in `akin:7:`.
    collection: String,
    /// Bits of a key that choose its block of postings.
    block_bits: u32,
}

impl Layout {
    pub fn new(prefix: &str, collection: u64, block_bits: u32) -> Self {
        Self { collection: format!("{prefix}:{collection}:"), block_bits: block_bits.min(32) }
    }

    fn plain(&self, kind: &str) -> Bytes {
        format!("{}{kind}", self.collection).into_bytes().into()
    }

    fn of_part(&self, kind: char, part: u64, name: &[u8]) -> Bytes {
        let mut key = format!("{}{kind}{{{part:02x}}}", self.collection).into_bytes();
        key.extend_from_slice(name);
        key.into()
    }

    fn of_id(&self, kind: char, id: &DocumentId) -> Bytes {
        self.of_part(kind, part_of_id(id), id.as_str().as_bytes())
    }

    fn of_fingerprint(&self, kind: char, fingerprint: u64) -> Bytes {
        self.of_part(kind, part_of_set(fingerprint), &fingerprint.to_be_bytes())
    }

    pub fn ordinals(&self) -> Bytes {
        self.plain("o")
    }

    /// Whose turn it is to repair.
    pub fn turn(&self) -> Bytes {
        self.plain("r")
    }

    pub fn tickets(&self) -> Bytes {
        self.plain("t")
    }

    pub fn document(&self, id: &DocumentId) -> Bytes {
        self.of_id('d', id)
    }

    pub fn pending(&self, id: &DocumentId) -> Bytes {
        self.of_id('p', id)
    }

    pub fn ids(&self, part: u64) -> Bytes {
        self.of_part('i', part, b"")
    }

    pub fn expiries(&self, part: u64) -> Bytes {
        self.of_part('e', part, b"")
    }

    pub fn queue(&self, part: u64) -> Bytes {
        self.of_part('q', part, b"")
    }

    pub fn counters(&self, part: u64) -> Bytes {
        self.of_part('n', part, b"")
    }

    pub fn sketch(&self, fingerprint: u64) -> Bytes {
        self.of_fingerprint('s', fingerprint)
    }

    pub fn set(&self, fingerprint: u64) -> Bytes {
        self.of_fingerprint('x', fingerprint)
    }

    pub fn members(&self, fingerprint: u64) -> Bytes {
        self.of_fingerprint('m', fingerprint)
    }

    pub fn arriving(&self, fingerprint: u64) -> Bytes {
        self.of_fingerprint('w', fingerprint)
    }

    /// The block of postings that has a key. It has no hash tag, so that blocks are spread over all
    /// slots.
    pub fn block(&self, key: Key) -> Bytes {
        let prefix = match self.block_bits {
            0 => 0,
            bits => key.value >> (32 - bits),
        };
        format!("{}b{:x}.{prefix:x}", self.collection, key.table).into_bytes().into()
    }
}

/// The part of a document, which is in one slot with all that its id decides.
pub fn part_of_id(id: &DocumentId) -> u64 {
    xxh3_64(id.as_str().as_bytes()) % PARTS
}

/// The part of an entry. Fingerprints are hashes.
pub fn part_of_set(fingerprint: u64) -> u64 {
    fingerprint % PARTS
}

/// A member of a block: the key's value and the fingerprint of a set filed under it. The part of
/// the value that the block's name has is repeated, so that the width of blocks decides nothing
/// else.
pub fn posting(key: Key, fingerprint: u64) -> Bytes {
    let mut posting = Vec::with_capacity(4 + FINGERPRINT_BYTES);
    posting.extend_from_slice(&key.value.to_be_bytes());
    posting.extend_from_slice(&fingerprint.to_be_bytes());
    posting.into()
}

/// The bounds of a key's postings, for `ZRANGEBYLEX`.
pub fn bounds(key: Key) -> (Bytes, Bytes) {
    let bound = |fingerprint: u64| {
        let mut bound = vec![b'['];
        bound.extend_from_slice(&posting(key, fingerprint));
        bound.into()
    };
    (bound(0), bound(u64::MAX))
}

/// The fingerprint of a posting.
pub fn fingerprint_of(posting: &[u8]) -> Option<u64> {
    let (_, fingerprint) = posting.split_at_checked(4)?;
    Some(u64::from_be_bytes(fingerprint.try_into().ok()?))
}

/// A member of an entry: a document's ordinal and id, so that members are in order of ordinals.
pub fn member(version: &Version) -> Bytes {
    let mut member = be_bytes(version.ordinal).to_vec();
    member.extend_from_slice(version.id.as_str().as_bytes());
    member.into()
}

pub fn member_of(bytes: &[u8]) -> Option<Version> {
    let (ordinal, id) = bytes.split_first_chunk::<{ Ordinal::BYTES }>()?;
    let id = DocumentId::new(str::from_utf8(id).ok()?).ok()?;
    Some(Version { id, ordinal: of_be_bytes(*ordinal) })
}

pub fn be_bytes(ordinal: Ordinal) -> [u8; Ordinal::BYTES] {
    let mut bytes = ordinal.to_le_bytes();
    bytes.reverse();
    bytes
}

fn of_be_bytes(mut bytes: [u8; Ordinal::BYTES]) -> Ordinal {
    bytes.reverse();
    Ordinal::from_le_bytes(bytes)
}

/// What the queue of a part has: work that a crash may have left, by the time since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A version that was being added, replaced or removed.
    Version { version: Version, fingerprint: u64 },
    /// An entry without members that was being removed.
    Entry { fingerprint: u64 },
}

impl Leftover {
    /// `V`, ordinal, fingerprint, id; or `E`, fingerprint. The scripts build the same bytes.
    pub fn encode(&self) -> Bytes {
        let mut bytes = Vec::new();
        match self {
            Self::Version { version, fingerprint } => {
                bytes.push(b'V');
                bytes.extend_from_slice(&be_bytes(version.ordinal));
                bytes.extend_from_slice(&fingerprint.to_be_bytes());
                bytes.extend_from_slice(version.id.as_str().as_bytes());
            }
            Self::Entry { fingerprint } => {
                bytes.push(b'E');
                bytes.extend_from_slice(&fingerprint.to_be_bytes());
            }
        }
        bytes.into()
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            b'V' => {
                let (ordinal, rest) = rest.split_first_chunk::<{ Ordinal::BYTES }>()?;
                let (fingerprint, id) = rest.split_first_chunk()?;
                let id = DocumentId::new(str::from_utf8(id).ok()?).ok()?;
                let version = Version { id, ordinal: of_be_bytes(*ordinal) };
                Some(Self::Version { version, fingerprint: u64::from_be_bytes(*fingerprint) })
            }
            b'E' => Some(Self::Entry { fingerprint: u64::from_be_bytes(rest.try_into().ok()?) }),
            _ => None,
        }
    }
}

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
pub struct Stored {
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
    pub const SAMPLED_TO_ONE: u8 = 2;
    pub const CONTENT: u8 = 4;
    pub const TOKENS: u8 = 8;
    pub const FIELDS: u8 = 16;
    pub const METADATA: u8 = 32;
}

const RECORD_LAYOUT: u8 = 1;

impl Stored {
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
/// 0   8   ticket; 0: it will get one, the highest: it takes none
/// 8   8   since when it is pending, milliseconds since the epoch
/// 16  1   1 if it may be withdrawn because of a near-duplicate
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub ticket: u64,
    pub since_ms: i64,
    pub tentative: bool,
    pub stored: Stored,
}

impl Pending {
    /// Bytes before the record, which the script that makes a version live cuts off.
    pub const HEAD_BYTES: usize = 17;
    /// The ticket of a document that is about to get one.
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
            stored: Stored::decode(record)?,
        })
    }
}

/// The sketch of an entry: `A`, or `D` while it is being removed; the number of shingles; the
/// sketch.
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
        (sketch.len() == sketch_bytes).then(|| Self {
            is_alive,
            shingles: u32::from_be_bytes(*shingles),
            sketch: Sketch::from_bytes(sketch.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> Version {
        Version { id: DocumentId::new("a}{b").unwrap(), ordinal: Ordinal::from(258) }
    }

    #[test]
    fn all_that_an_id_decides_is_in_one_slot() {
        let (layout, id) = (Layout::new("akin", 7, 14), version().id);
        let part = part_of_id(&id);
        let tag = format!("{{{part:02x}}}");
        let keys = [
            layout.document(&id),
            layout.pending(&id),
            layout.ids(part),
            layout.expiries(part),
            layout.queue(part),
        ];
        for key in keys {
            let key = String::from_utf8(key.to_vec()).unwrap();
            let open = key.find('{').unwrap();
            assert_eq!(&key[open..=key.find('}').unwrap()], tag, "{key}");
        }
    }

    #[test]
    fn a_block_is_named_by_the_first_bits_of_its_keys() {
        let block = |bits, value| {
            let key = Key { table: 31, value };
            String::from_utf8(Layout::new("akin", 7, bits).block(key).to_vec()).unwrap()
        };
        assert_eq!(block(0, 0xffff_ffff), "akin:7:b1f.0");
        assert_eq!(block(8, 0xab12_3456), "akin:7:b1f.ab");
        assert_eq!(block(32, 0xab12_3456), "akin:7:b1f.ab123456");
    }

    #[test]
    fn postings_of_a_key_are_between_its_bounds_and_others_are_not() {
        let key = |value| Key { table: 0, value };
        let (low, high) = bounds(key(0x0100));
        for fingerprint in [0, 1, u64::MAX] {
            let bytes = posting(key(0x0100), fingerprint);
            assert!(low[1..] <= bytes[..] && bytes[..] <= high[1..]);
            assert_eq!(fingerprint_of(&bytes), Some(fingerprint));
        }
        assert!(posting(key(0x00ff), u64::MAX)[..] < low[1..]);
        assert!(posting(key(0x0101), 0)[..] > high[1..]);
        assert_eq!(fingerprint_of(b"too short"), None);
    }

    #[test]
    fn records_come_back_as_they_were() {
        let stored = Stored {
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
            Stored { expires_at_ms: Some(5), metadata: None, flags: 0, ..stored.clone() };
        for stored in [stored, expiring] {
            let bytes = stored.encode();
            assert_eq!(Stored::decode(&bytes), Some(stored.clone()));
            assert_eq!(bytes[1..7], be_bytes(stored.ordinal));
            assert_eq!(Stored::decode(&bytes[..40]), None);
            let pending = Pending { ticket: 4, since_ms: 6, tentative: true, stored };
            assert_eq!(pending.encode()[Pending::HEAD_BYTES..], bytes);
            assert_eq!(Pending::decode(&pending.encode()), Some(pending));
        }
    }

    #[test]
    fn members_and_leftovers_come_back_as_they_were() {
        assert_eq!(member_of(&member(&version())), Some(version()));
        let leftovers = [
            Leftover::Version { version: version(), fingerprint: 5 },
            Leftover::Entry { fingerprint: u64::MAX },
        ];
        for leftover in leftovers {
            assert_eq!(Leftover::decode(&leftover.encode()), Some(leftover));
        }
        assert_eq!(Leftover::decode(b"E123"), None);
        assert_eq!(Leftover::decode(b""), None);
    }
}
