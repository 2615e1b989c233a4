//! The keys in Valkey and the bytes of their values, as pure functions. The table is at the
//! head of [`super`].

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::backend::Version;
use crate::document::{DocumentId, Ordinal};
use akin_core::scheme::Key;

/// Hash tags for keys that are placed by document id. Listing ids reads all of them, so they are
/// few.
pub const DOCUMENT_PARTS: u64 = 256;

/// Hash tags for keys that are placed by fingerprint, which take most of the memory: enough tags
/// that hundreds of nodes get about as many each.
const SET_PARTS: u64 = 4_096;

/// Keys with the same hash tag. They are in the same slot, where a script is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Documents(u64),
    Sets(u64),
}

impl Part {
    /// That of a document and of all that its id decides.
    pub fn of_id(id: &DocumentId) -> Self {
        Self::Documents(xxh3_64(id.as_str().as_bytes()) % DOCUMENT_PARTS)
    }

    /// That of an entry. Fingerprints are hashes.
    pub fn of_set(fingerprint: u64) -> Self {
        Self::Sets(fingerprint % SET_PARTS)
    }

    pub fn all_of_documents() -> impl Iterator<Item = Self> {
        (0..DOCUMENT_PARTS).map(Self::Documents)
    }

    pub fn all_of_sets() -> impl Iterator<Item = Self> {
        (0..SET_PARTS).map(Self::Sets)
    }

    fn tag(self) -> String {
        match self {
            Self::Documents(number) => format!("{{{number:02x}}}"),
            Self::Sets(number) => format!("{{{number:03x}}}"),
        }
    }
}

/// Digits of the names of blocks.
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
const DIGIT_BITS: u32 = 6;

/// The key names of a collection.
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

    fn of_part(&self, kind: char, part: Part, name: &[u8]) -> Bytes {
        let mut key = format!("{}{kind}{}", self.collection, part.tag()).into_bytes();
        key.extend_from_slice(name);
        key.into()
    }

    fn of_id(&self, kind: char, id: &DocumentId) -> Bytes {
        self.of_part(kind, Part::of_id(id), id.as_str().as_bytes())
    }

    fn of_fingerprint(&self, kind: char, fingerprint: u64) -> Bytes {
        self.of_part(kind, Part::of_set(fingerprint), &fingerprint.to_be_bytes())
    }

    pub fn ordinals(&self) -> Bytes {
        self.plain("o")
    }

    /// The process that holds this key repairs.
    pub fn turn(&self) -> Bytes {
        self.plain("r")
    }

    /// The process that holds this key scrubs.
    pub fn scrub_turn(&self) -> Bytes {
        self.plain("v")
    }

    /// How far the scrub has come.
    pub fn scrubbed(&self) -> Bytes {
        self.plain("c")
    }

    pub fn tickets(&self) -> Bytes {
        self.plain("t")
    }

    pub fn document(&self, id: &DocumentId) -> Bytes {
        self.of_id('d', id)
    }

    pub fn pending(&self, version: &Version) -> Bytes {
        self.of_part('p', Part::of_id(&version.id), &member(version))
    }

    /// What a removal with this token has removed, for a while.
    pub fn removed(&self, id: &DocumentId, token: u64) -> Bytes {
        self.of_part('k', Part::of_id(id), &token.to_be_bytes())
    }

    pub fn ids(&self, part: Part) -> Bytes {
        self.of_part('i', part, b"")
    }

    pub fn expiries(&self, part: Part) -> Bytes {
        self.of_part('e', part, b"")
    }

    pub fn queue(&self, part: Part) -> Bytes {
        self.of_part('q', part, b"")
    }

    pub fn counters(&self, part: Part) -> Bytes {
        self.of_part('n', part, b"")
    }

    pub fn entry(&self, fingerprint: u64) -> Bytes {
        self.of_fingerprint('s', fingerprint)
    }

    pub fn members(&self, fingerprint: u64) -> Bytes {
        self.of_fingerprint('m', fingerprint)
    }

    pub fn arriving(&self, fingerprint: u64) -> Bytes {
        self.of_fingerprint('w', fingerprint)
    }

    /// Blocks of a table.
    pub fn blocks(&self) -> u64 {
        1 << self.block_bits
    }

    /// The lowest value in a block of a table.
    pub fn value_of_block(&self, block: u64) -> u32 {
        (block << (32 - self.block_bits)) as u32
    }

    /// The block of postings that has a key. It has no hash tag, so that blocks are spread over all
    /// slots. Its name is short, as there are about as many blocks as documents: digits of six bits
    /// for the table, then for the bits of the key, whose number of digits is that of the
    /// collection.
    pub fn block(&self, key: Key) -> Bytes {
        let prefix = u64::from(key.value) >> (32 - self.block_bits);
        let digits = self.block_bits.div_ceil(DIGIT_BITS);
        let mut number = u64::from(key.table) << (DIGIT_BITS * digits) | prefix;
        let mut name = Vec::with_capacity(8);
        while number > 0 || name.len() <= digits as usize {
            name.push(DIGITS[number as usize % DIGITS.len()]);
            number >>= DIGIT_BITS;
        }
        name.reverse();
        [self.collection.as_bytes(), b"b", &name].concat().into()
    }

    /// A member of a block: the key's value and the fingerprint of a set indexed under it, without
    /// the whole bytes of the value that are in the block's name.
    pub fn posting(&self, key: Key, fingerprint: u64) -> Bytes {
        let rest = &key.value.to_be_bytes()[self.block_bits as usize / 8..];
        [rest, &fingerprint.to_be_bytes()].concat().into()
    }

    /// The bounds of a key's postings, for `ZRANGEBYLEX`.
    pub fn bounds(&self, key: Key) -> (Bytes, Bytes) {
        let bound = |fingerprint| [b"[", &self.posting(key, fingerprint)[..]].concat().into();
        (bound(0), bound(u64::MAX))
    }
}

/// The fingerprint of a posting.
pub fn fingerprint_of(posting: &[u8]) -> Option<u64> {
    posting.last_chunk().map(|fingerprint| u64::from_be_bytes(*fingerprint))
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

pub(super) fn of_be_bytes(mut bytes: [u8; Ordinal::BYTES]) -> Ordinal {
    bytes.reverse();
    Ordinal::from_le_bytes(bytes)
}

/// An item of a part's queue: work that a crash may have left unfinished, scored by the time when
/// it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A version that was being added.
    Added { version: Version, fingerprint: u64 },
    /// A version that was replaced or removed. It has an item of its own, so that the item of its
    /// adding may be taken out at any time.
    Replaced { version: Version, fingerprint: u64 },
    /// An entry without members that was being removed.
    Entry { fingerprint: u64 },
}

impl Leftover {
    /// `V` or `R`, ordinal, fingerprint, id; or `E`, fingerprint. The scripts build the same bytes.
    pub fn encode(&self) -> Bytes {
        let mut bytes = Vec::new();
        match self {
            Self::Added { version, fingerprint } | Self::Replaced { version, fingerprint } => {
                bytes.push(if matches!(self, Self::Added { .. }) { b'V' } else { b'R' });
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
            b'V' | b'R' => {
                let (ordinal, rest) = rest.split_first_chunk::<{ Ordinal::BYTES }>()?;
                let (fingerprint, id) = rest.split_first_chunk()?;
                let id = DocumentId::new(str::from_utf8(id).ok()?).ok()?;
                let version = Version { id, ordinal: of_be_bytes(*ordinal) };
                let fingerprint = u64::from_be_bytes(*fingerprint);
                Some(match kind {
                    b'V' => Self::Added { version, fingerprint },
                    _ => Self::Replaced { version, fingerprint },
                })
            }
            b'E' => Some(Self::Entry { fingerprint: u64::from_be_bytes(rest.try_into().ok()?) }),
            _ => None,
        }
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
        let part = Part::of_id(&id);
        let tag = part.tag();
        let keys = [
            layout.document(&id),
            layout.pending(&version()),
            layout.removed(&id, 7),
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
    fn blocks_are_named_by_key_prefixes() {
        let block = |bits, value| {
            let key = Key { table: 31, value };
            String::from_utf8(Layout::new("akin", 7, bits).block(key).to_vec()).unwrap()
        };
        assert_eq!(block(0, 0xffff_ffff), "akin:7:bV");
        assert_eq!(block(8, 0xab12_3456), "akin:7:bV2h");
        assert_eq!(block(32, 0xffff_ffff), "akin:7:bV3_____");
        for bits in [0, 8, 32] {
            let layout = Layout::new("akin", 7, bits);
            let last = Key { table: 31, value: layout.value_of_block(layout.blocks() - 1) };
            assert_eq!(layout.block(last), layout.block(Key { table: 31, value: u32::MAX }));
        }
    }

    #[test]
    fn key_bounds_enclose_exactly_its_postings() {
        let key = |value| Key { table: 0, value };
        for bits in [0, 7, 8, 20] {
            let layout = Layout::new("akin", 7, bits);
            let (low, high) = layout.bounds(key(0x0100));
            for fingerprint in [0, 1, u64::MAX] {
                let bytes = layout.posting(key(0x0100), fingerprint);
                assert_eq!(bytes.len(), 12 - bits as usize / 8);
                assert!(low[1..] <= bytes[..] && bytes[..] <= high[1..]);
                assert_eq!(fingerprint_of(&bytes), Some(fingerprint));
            }
            assert!(layout.posting(key(0x00ff), u64::MAX)[..] < low[1..]);
            assert!(layout.posting(key(0x0101), 0)[..] > high[1..]);
        }
        assert_eq!(fingerprint_of(b"short"), None);
    }

    #[test]
    fn members_and_leftovers_come_back_as_they_were() {
        assert_eq!(member_of(&member(&version())), Some(version()));
        let leftovers = [
            Leftover::Added { version: version(), fingerprint: 5 },
            Leftover::Replaced { version: version(), fingerprint: 5 },
            Leftover::Entry { fingerprint: u64::MAX },
        ];
        for leftover in leftovers {
            assert_eq!(Leftover::decode(&leftover.encode()), Some(leftover));
        }
        assert_eq!(Leftover::decode(b"E123"), None);
        assert_eq!(Leftover::decode(b""), None);
    }
}
