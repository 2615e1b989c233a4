//! The assignment of documents to sets.

use std::io;

use super::Room;
use super::natural::push_key;
use super::sorter::Sorter;

/// The documents of each set, by their ranks and then in the natural order of their ids.
#[derive(Debug)]
pub struct OfflineDocuments {
    /// By document; or [`NO_SET`].
    set_of: Vec<u32>,
    /// The documents of set n are at `starts[n]..starts[n + 1]` of these.
    by_set: Vec<u32>,
    starts: Vec<u32>,
    /// All numbers of documents with sets by rank, if they are kept.
    in_order: Vec<u32>,
}

const NO_SET: u32 = u32::MAX;

/// The sort key of a document.
#[derive(Clone, Copy)]
pub(super) struct SortKey<'i> {
    pub is_new: bool,
    /// The rank of its source.
    pub source: u16,
    pub rank: u64,
    pub id: &'i str,
}

/// The place of a document among those of its cluster: the lowest is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Of its source.
    pub source: u16,
    pub value: u64,
}

impl From<u64> for Rank {
    fn from(value: u64) -> Self {
        Self { source: 0, value }
    }
}

/// Collects the documents that have sets.
pub(super) struct SetNumbering {
    room: Room,
    /// Documents by place: `is_new`, ranks and the key of the id, then the fingerprint and the
    /// number.
    by_place: Sorter,
    record: Vec<u8>,
    /// Whether the order of all documents is kept.
    pub keeps_order: bool,
}

impl SetNumbering {
    pub fn new(room: &Room) -> Self {
        let by_place = Sorter::new(room, room.share());
        Self { room: room.clone(), by_place, record: Vec::new(), keeps_order: false }
    }

    pub fn push(&mut self, place: SortKey<'_>, fingerprint: u64, number: u32) -> io::Result<()> {
        self.record.clear();
        self.record.push(place.is_new.into());
        self.record.extend_from_slice(&place.source.to_be_bytes());
        self.record.extend_from_slice(&place.rank.to_be_bytes());
        push_key(&mut self.record, place.id);
        self.record.extend_from_slice(&fingerprint.to_be_bytes());
        self.record.extend_from_slice(&number.to_be_bytes());
        self.by_place.push(&self.record)
    }

    /// Numbers the sets by their best documents. `numbers`: how many documents there are.
    /// `is_left_out`: of the number of a document.
    pub fn finish(
        self,
        numbers: u32,
        is_left_out: impl Fn(&u32) -> bool,
    ) -> io::Result<OfflineDocuments> {
        let Self { room, by_place, mut record, keeps_order } = self;
        let mut by_fingerprint = Sorter::new(&room, room.share());
        let mut number_at = Vec::with_capacity(numbers as usize);
        let mut sorted = by_place.finish()?;
        while let Some(placed) = sorted.next_record()? {
            let (rest, number) = split_number(placed);
            if is_left_out(&number) {
                continue;
            }
            let fingerprint = &rest[rest.len() - size_of::<u64>()..];
            record.clear();
            record.extend_from_slice(fingerprint);
            record.extend_from_slice(&(number_at.len() as u32).to_be_bytes());
            by_fingerprint.push(&record)?;
            number_at.push(number);
        }
        drop(sorted);
        let (set_at, sets) = sets_by_place(by_fingerprint, number_at.len())?;
        let documents = OfflineDocuments::new(&number_at, &set_at, sets, numbers);
        let in_order = if keeps_order { number_at } else { Vec::new() };
        Ok(OfflineDocuments { in_order, ..documents })
    }
}

/// The number of the set at each place, and how many sets there are.
fn sets_by_place(by_fingerprint: Sorter, places: usize) -> io::Result<(Vec<u32>, u32)> {
    // First, the best place with the same set.
    let mut set_at = vec![0; places];
    let mut sorted = by_fingerprint.finish()?;
    let (mut fingerprint, mut best) = (Vec::new(), None);
    while let Some(record) = sorted.next_record()? {
        let (of, place) = split_number(record);
        if best.is_none() || of != fingerprint {
            fingerprint.clear();
            fingerprint.extend_from_slice(of);
            best = Some(place);
        }
        set_at[place as usize] = best.unwrap_or(place);
    }
    let mut sets = 0;
    for place in 0..places {
        let best = set_at[place] as usize;
        if best == place {
            set_at[place] = sets;
            sets += 1;
        } else {
            set_at[place] = set_at[best];
        }
    }
    Ok((set_at, sets))
}

fn split_number(record: &[u8]) -> (&[u8], u32) {
    let (rest, number) = record.split_last_chunk().expect("records end with a number");
    (rest, u32::from_be_bytes(*number))
}

impl OfflineDocuments {
    fn new(number_at: &[u32], set_at: &[u32], sets: u32, numbers: u32) -> Self {
        let mut starts = vec![0; sets as usize + 1];
        for set in set_at {
            starts[*set as usize + 1] += 1;
        }
        for set in 1..starts.len() {
            starts[set] += starts[set - 1];
        }
        let mut next = starts.clone();
        let (mut by_set, mut set_of) = (vec![0; set_at.len()], vec![NO_SET; numbers as usize]);
        for (number, set) in number_at.iter().zip(set_at) {
            let at = &mut next[*set as usize];
            by_set[*at as usize] = *number;
            *at += 1;
            set_of[*number as usize] = *set;
        }
        Self { set_of, by_set, starts, in_order: Vec::new() }
    }

    /// The numbers of the documents with this set; at least one.
    pub fn of(&self, set: u32) -> &[u32] {
        let starts = &self.starts[set as usize..];
        &self.by_set[starts[0] as usize..starts[1] as usize]
    }

    /// The set of a document; `None` if the document has no set or was left out.
    pub fn set_of(&self, number: u32) -> Option<u32> {
        Some(self.set_of[number as usize]).filter(|set| *set != NO_SET)
    }

    /// The numbers of the documents with sets by their ranks, old documents first; empty unless
    /// [`OfflineGathering::keep_order`](super::OfflineGathering::keep_order) was called.
    pub fn in_order(&self) -> &[u32] {
        &self.in_order
    }

    /// The number of documents with a set.
    pub fn count(&self) -> usize {
        self.by_set.len()
    }

    /// The number of sets.
    pub fn sets(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The number of documents that were pushed.
    pub fn numbers(&self) -> u32 {
        self.set_of.len() as u32
    }
}
