//! The distinct sequences of words of an index: fingerprint, length and members of each.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;

use crate::document::Ordinal;
use crate::index::{Multiplicative, Numbers, Postings, shards};

use super::grams::key;

/// The number of locks that serialise insertions and removals of sequences, by fingerprint.
const STRIPES: usize = 256;

/// Bits of a fingerprint's key that select its page.
const PAGE_BITS: u32 = 1;

/// The count of consecutive numbers of a part: of as many as a thread takes at a time.
const PART: u32 = 256;

/// The entries of consecutive numbers.
type Part = Vec<Option<IndexedBlock>>;

/// A block of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocumentBlock {
    pub ordinal: Ordinal,
    /// The number of the block; [`ONLY_BLOCK`] if the document has no other.
    pub block: u32,
}

/// The number of the block of a document that has one block.
pub(super) const ONLY_BLOCK: u32 = u32::MAX;

#[derive(Debug)]
struct IndexedBlock {
    fingerprint: u64,
    words: u32,
    members: Members,
}

#[derive(Debug)]
#[expect(clippy::box_collection, reason = "most sequences have one member, and are kept small")]
enum Members {
    One(DocumentBlock),
    Several(Box<BTreeSet<DocumentBlock>>),
}

/// A copy of an entry at some moment.
#[derive(Debug)]
pub(super) struct EntryCopy {
    pub fingerprint: u64,
    pub words: u32,
    /// The first members.
    pub members: Vec<DocumentBlock>,
    /// The number of all members.
    pub members_count: usize,
}

/// The effect of a change of members on their entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EntryChange {
    /// The entry is new, and has to be indexed; or it is gone, and has to be removed.
    Entry(u32),
    /// Another member has the sequence, or nothing changed.
    DocumentBlock,
}

#[derive(Debug)]
pub(super) struct Entries {
    parts: DashMap<u32, Part, Multiplicative>,
    /// 40 bits of fingerprints → entries.
    fingerprints: Postings<()>,
    numbers: Numbers,
    len: AtomicUsize,
    /// Held while a sequence is inserted or removed.
    stripes: Box<[Mutex<()>]>,
}

impl Entries {
    pub fn new() -> Self {
        Self {
            parts: DashMap::with_hasher_and_shard_amount(Multiplicative::default(), shards()),
            fingerprints: Postings::new(PAGE_BITS),
            numbers: Numbers::default(),
            len: AtomicUsize::new(0),
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
        }
    }

    /// The lock of a fingerprint: the caller holds it while it changes the members and the keys of
    /// the sequence.
    pub fn lock(&self, fingerprint: u64) -> MutexGuard<'_, ()> {
        let stripe = &self.stripes[(fingerprint % STRIPES as u64) as usize];
        stripe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, fingerprint: u64, words: u32, member: DocumentBlock) -> EntryChange {
        if let Some(number) = self.number_of(fingerprint)
            && let Some(mut part) = self.parts.get_mut(&(number / PART))
            && let Some(entry) = &mut part[(number % PART) as usize]
        {
            entry.members.add(member);
            return EntryChange::DocumentBlock;
        }
        let number = self.numbers.take();
        let entry = IndexedBlock { fingerprint, words, members: Members::One(member) };
        let mut part = self.parts.entry(number / PART).or_default();
        let at = (number % PART) as usize;
        if part.len() <= at {
            part.resize_with(at + 1, || None);
        }
        part[at] = Some(entry);
        drop(part);
        self.len.fetch_add(1, Ordering::Relaxed);
        self.fingerprints.insert(number, [(key(fingerprint), ())]);
        EntryChange::Entry(number)
    }

    /// After [`EntryChange::Entry`], the caller removes the keys of the entry and calls
    /// [`Self::give_back`].
    pub fn remove(&self, fingerprint: u64, member: DocumentBlock) -> EntryChange {
        let Some(number) = self.number_of(fingerprint) else { return EntryChange::DocumentBlock };
        let Some(mut part) = self.parts.get_mut(&(number / PART)) else {
            return EntryChange::DocumentBlock;
        };
        let slot = &mut part[(number % PART) as usize];
        if !slot.as_mut().is_some_and(|entry| entry.members.remove(member)) {
            return EntryChange::DocumentBlock;
        }
        *slot = None;
        drop(part);
        self.len.fetch_sub(1, Ordering::Relaxed);
        self.fingerprints.remove(number, [key(fingerprint)]);
        EntryChange::Entry(number)
    }

    pub fn give_back(&self, number: u32) {
        self.numbers.give_back(number);
    }

    fn number_of(&self, fingerprint: u64) -> Option<u32> {
        let mut numbers = Vec::new();
        self.fingerprints.read(key(fingerprint), usize::MAX, |number, ()| numbers.push(number));
        numbers.into_iter().find(|number| {
            let part = self.parts.get(&(number / PART));
            let entry = part.as_ref().and_then(|part| part.get((number % PART) as usize)?.as_ref());
            entry.is_some_and(|entry| entry.fingerprint == fingerprint)
        })
    }

    /// A copy with at most `members_max` members.
    pub fn get(&self, number: u32, members_max: usize) -> Option<EntryCopy> {
        let part = self.parts.get(&(number / PART))?;
        let entry = part.get((number % PART) as usize)?.as_ref()?;
        let (fingerprint, words) = (entry.fingerprint, entry.words);
        let (members, members_count) = match &entry.members {
            Members::One(member) => (vec![*member], 1),
            Members::Several(all) => (all.iter().take(members_max).copied().collect(), all.len()),
        };
        Some(EntryCopy { fingerprint, words, members, members_count })
    }

    /// The words of the sequence; `None` if it was removed.
    pub fn words(&self, number: u32) -> Option<u32> {
        let part = self.parts.get(&(number / PART))?;
        Some(part.get((number % PART) as usize)?.as_ref()?.words)
    }

    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        let parts =
            self.parts.iter().map(|part| part.capacity() * size_of::<Option<IndexedBlock>>());
        parts.sum::<usize>() + self.fingerprints.size().bytes as usize + self.numbers.bytes()
    }
}

impl Members {
    fn add(&mut self, member: DocumentBlock) {
        match self {
            Self::One(only) if *only == member => {}
            Self::One(only) => *self = Self::Several(Box::new([*only, member].into())),
            Self::Several(all) => drop(all.insert(member)),
        }
    }

    /// Returns whether no member is left.
    fn remove(&mut self, member: DocumentBlock) -> bool {
        match self {
            Self::One(only) => *only == member,
            Self::Several(all) => {
                all.remove(&member);
                all.is_empty()
            }
        }
    }
}
