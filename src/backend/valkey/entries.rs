//! The bytes of an entry: state, sketch, first member and elements of a set in one value, so that
//! one command files a set.
//!
//! ```text
//! 0   1   state: A, M or D
//! 1   4   shingles
//! 5   s   sketch
//!     1   the length of the first member
//!     m   the first member: ordinal and id
//!         the set, as on disk
//!     8   in state D: the token of the call that removes the entry
//! ```
//!
//! In state `A` the first member is the only member. A second member changes the state to `M`: all
//! members are then in a key of their own, for as long as the entry lasts. So a reader finds a
//! member that is there the whole time, although it reads entry and members one after the other: a
//! member moves once, and a reader that has seen `A` has seen it. In state `D` the entry is being
//! removed.
//!
//! A set with a member that is too long for the entry begins in state `M`.

use bytes::Bytes;

use super::layout::{member, member_of};
use crate::backend::Version;
use crate::storage::{decode_set, encode_set};
use akin_core::sketch::Sketch;
use akin_core::text::ShingleSet;

/// Bytes of a member in an entry.
const MEMBER_BYTES_MAX: usize = 70;

const ALONE: u8 = b'A';
const SHARED: u8 = b'M';
const DYING: u8 = b'D';

const TOKEN_BYTES: usize = 8;

/// An entry without its set.
#[derive(Clone, Debug)]
pub struct Entry {
    state: u8,
    pub shingles: u32,
    pub sketch: Sketch,
    /// It may have been removed if the entry is not in state `A`.
    pub first: Option<Version>,
}

impl Entry {
    /// The entry of a set with its first member.
    pub fn encode(set: &ShingleSet, sketch: &Sketch, first: &Version) -> Bytes {
        let (member, set_bytes) = (member(first), encode_set(set));
        let is_short = member.len() <= MEMBER_BYTES_MAX;
        let member = if is_short { &member[..] } else { &[] };
        let head = place_of_member(sketch.as_bytes().len());
        let mut bytes = Vec::with_capacity(head + member.len() + set_bytes.len());
        bytes.push(if is_short { ALONE } else { SHARED });
        bytes.extend_from_slice(&(set.count() as u32).to_be_bytes());
        bytes.extend_from_slice(sketch.as_bytes());
        bytes.push(member.len() as u8);
        bytes.extend_from_slice(member);
        bytes.extend_from_slice(&set_bytes);
        bytes.into()
    }

    /// From the first bytes of an entry, [`head_bytes`] or more; `None` unless its sketch has
    /// `sketch_bytes`.
    pub fn decode(bytes: &[u8], sketch_bytes: usize) -> Option<Self> {
        let (&state, rest) = bytes.split_first()?;
        let (shingles, rest) = rest.split_first_chunk()?;
        let (sketch, rest) = rest.split_at_checked(sketch_bytes)?;
        let (&length, rest) = rest.split_first()?;
        let first = rest.get(..usize::from(length)).and_then(member_of);
        matches!(state, ALONE | SHARED | DYING).then(|| Self {
            state,
            shingles: u32::from_be_bytes(*shingles),
            sketch: Sketch::from_bytes(sketch.into()),
            first,
        })
    }

    pub fn is_alive(&self) -> bool {
        self.state != DYING
    }

    /// Its members are not in the entry, but in a key of their own.
    pub fn is_shared(&self) -> bool {
        self.state == SHARED
    }

    /// Its only member, unless its members are in a key of their own.
    pub fn only(&self) -> Option<Version> {
        self.first.clone().filter(|_| self.state == ALONE)
    }
}

/// Stands in the place of a lost entry, while postings are removed: no process files the set.
pub fn lost(token: u64) -> Bytes {
    [&[DYING][..], &token.to_be_bytes()].concat().into()
}

/// Whether bytes are of [`lost`].
pub fn is_lost(bytes: &[u8]) -> bool {
    bytes.len() == 1 + TOKEN_BYTES && bytes[0] == DYING
}

/// Where the length of the first member is.
pub fn place_of_member(sketch_bytes: usize) -> usize {
    5 + sketch_bytes + 1
}

/// The bytes of an entry that have its sketch and its first member.
pub fn head_bytes(sketch_bytes: usize) -> usize {
    place_of_member(sketch_bytes) + MEMBER_BYTES_MAX
}

/// The set of a whole entry.
pub fn set_of(bytes: &[u8], sketch_bytes: usize) -> Option<ShingleSet> {
    let (&state, rest) = bytes.split_first()?;
    let (shingles, _) = rest.split_first_chunk()?;
    let (head, rest) = bytes.split_at_checked(place_of_member(sketch_bytes))?;
    let set = rest.get(usize::from(*head.last()?)..)?;
    let token = if state == DYING { TOKEN_BYTES } else { 0 };
    let set = set.get(..set.len().checked_sub(token)?)?;
    decode_set(set, u32::from_be_bytes(*shingles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{DocumentId, Ordinal};

    #[test]
    fn entries_come_back_as_they_were() {
        let set = ShingleSet::from_ascending(vec![1, 2, 3]).unwrap();
        let sketch = Sketch::from_bytes(vec![7; 16].into());
        for (id, is_shared) in [("a", false), (&*"b".repeat(64), false), (&*"c".repeat(65), true)] {
            let first = Version { id: DocumentId::new(id).unwrap(), ordinal: Ordinal::from(258) };
            let mut bytes = Entry::encode(&set, &sketch, &first).to_vec();
            let head = &bytes[..bytes.len().min(head_bytes(16))];
            let entry = Entry::decode(head, 16).unwrap();
            assert_eq!((entry.is_alive(), entry.is_shared()), (true, is_shared));
            assert_eq!((entry.shingles, entry.sketch.as_bytes()), (3, sketch.as_bytes()));
            assert_eq!(entry.first, (!is_shared).then_some(first));
            assert_eq!(set_of(&bytes, 16), Some(set.clone()));
            bytes[0] = DYING;
            bytes.extend_from_slice(&[0; TOKEN_BYTES]);
            assert!(!Entry::decode(&bytes, 16).unwrap().is_alive());
            assert_eq!(set_of(&bytes, 16), Some(set.clone()));
        }
        assert!(is_lost(&lost(5)) && Entry::decode(&lost(5), 16).is_none());
        assert!(Entry::decode(b"A123", 16).is_none());
    }
}
