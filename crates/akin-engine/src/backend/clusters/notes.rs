//! Notes of the documents whose cluster changed, for readers of the feed of changes.
//!
//! A document that joins or leaves a cluster is a note, and so is a cluster that gets another name,
//! however many documents it has. A note only says which documents are concerned: a reader gets
//! the names of their clusters as they are when the note is read. So the notes may be read late,
//! and twice. Nothing is noted while the clusters are being built after a start: then, and if a
//! reader missed notes, it gets the cluster of every document.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::Clusters;
use super::state::State;
use crate::backend::{ClusterNote, ClusterPosition, Version};
use crate::document::DocumentId;

#[derive(Debug)]
pub(super) struct Notes {
    start: u64,
    kept: VecDeque<ClusterNote>,
    kept_max: usize,
    /// Notes that are no longer kept.
    dropped: u64,
}

impl Notes {
    pub fn new(kept_max: usize) -> Self {
        let start = RandomState::new().hash_one(kept_max);
        Self { start, kept: VecDeque::new(), kept_max, dropped: 0 }
    }

    pub fn push(&mut self, note: ClusterNote) {
        self.kept.push_back(note);
        if self.kept.len() > self.kept_max {
            self.kept.pop_front();
            self.dropped += 1;
        }
    }

    pub fn bytes(&self) -> usize {
        self.kept.capacity() * size_of::<ClusterNote>()
    }

    pub fn end(&self) -> ClusterPosition {
        let notes = self.dropped + self.kept.len() as u64;
        ClusterPosition { start: self.start, notes, documents_from: None }
    }

    /// The notes after a position, at most `max` and none after `until`, each once; `None` if some
    /// are no longer kept.
    fn after(&self, after: u64, until: u64, max: usize) -> Option<(Vec<ClusterNote>, u64)> {
        let skipped = usize::try_from(after.checked_sub(self.dropped)?).ok()?;
        let count = max.min(usize::try_from(until.saturating_sub(after)).ok()?);
        let mut seen = HashSet::new();
        let notes = self.kept.iter().skip(skipped).take(count);
        Some((notes.filter(|note| seen.insert(**note)).copied().collect(), after + count as u64))
    }
}

impl State {
    pub fn note(&mut self, note: ClusterNote) {
        if !self.is_building() {
            self.notes.push(note);
        }
    }

    /// Notes a cluster unless its representative still has this id.
    pub(super) fn note_renamed(&mut self, cluster: u32, before: Option<&DocumentId>) {
        let now = self.representative_id(cluster);
        if now.is_some() && now.as_ref() != before {
            self.note(ClusterNote::Cluster(cluster));
        }
    }

    pub(super) fn representative_id(&self, cluster: u32) -> Option<DocumentId> {
        self.cluster(cluster)?.representative().map(|of| of.id.clone())
    }
}

impl Clusters {
    pub(in crate::backend) fn last_note(&self) -> Option<ClusterPosition> {
        self.read(|state| (!state.is_building()).then(|| state.notes.end())).flatten()
    }

    pub(in crate::backend) fn notes_after(
        &self,
        after: u64,
        until: u64,
        max: usize,
    ) -> Option<(Vec<ClusterNote>, u64)> {
        self.read(|state| state.notes.after(after, until, max)).flatten()
    }

    pub(in crate::backend) fn members_of(&self, cluster: u32) -> Vec<Version> {
        self.read(|state| state.members(cluster).cloned().collect()).unwrap_or_default()
    }
}
