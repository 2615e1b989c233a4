//! The clusters that a collection keeps: which documents are connected by near-duplicates. They are
//! in memory alone, and are found again at each start ([`crate::engine`] finds the pairs).
//!
//! The thread that applies a write adds and removes documents here as it does in the index, so no
//! write is missed. An added document waits to be linked. A removal may leave a cluster stale, with
//! members to be linked again. A document is connected only while it is listed in the catalog,
//! which is checked under the lock. As a removal is applied to the catalog first, no document is
//! connected after it was removed here.
//!
//! Lock order: this lock, then a chunk of the catalog.

mod forest;
mod notes;
mod split;
mod state;
#[cfg(test)]
mod tests;

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::backend::{ClusterCounts, ClusterNote, ClustersState, Version};
use crate::document::{DocumentId, Ordinal};
use state::State;

/// Documents that are linked as one unit of work.
const LINKED_AT_ONCE: usize = 64;

/// Clusters that are looked at for a page, and the documents of its clusters after which it ends.
const SCANNED_MAX: usize = 10_000;
const PAGE_DOCUMENTS: usize = 256;

/// Expired members of a cluster that are passed over in the search for its representative, at most.
const EXPIRED_MAX: usize = 1_024;

/// Documents that may be in the wrong cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    pub documents: usize,
    /// Some of the documents.
    pub named: Vec<Ordinal>,
    /// One of the documents, and another document of its crowd.
    pub example: Option<(Ordinal, Ordinal)>,
}

/// A unit of background work.
#[derive(Debug, PartialEq, Eq)]
pub enum ClusterWork {
    /// Link these documents.
    Link(Vec<Ordinal>),
    /// Link the documents of a chunk of the catalog.
    Visit(u64),
}

#[derive(Debug)]
pub struct Clusters {
    /// `None` over the limit.
    state: Mutex<Option<State>>,
    bytes_max: u64,
    has_noted_cut: AtomicBool,
    #[cfg(test)]
    pub steps: Steps,
}

/// The steps of linking.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct Steps {
    /// Documents that were looked up.
    pub lookups: std::sync::atomic::AtomicU64,
    /// Sets that were compared.
    pub compared: std::sync::atomic::AtomicU64,
}

/// Queues a document again unless its linking came to an end.
pub struct Linking<'a> {
    clusters: &'a Clusters,
    ordinal: Ordinal,
    is_done: bool,
}

impl Linking<'_> {
    pub fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Linking<'_> {
    fn drop(&mut self) {
        self.clusters.change(|state| match (state.linking.remove(&self.ordinal), self.is_done) {
            (true, true) => state.note(ClusterNote::Document(self.ordinal)),
            (true, false) => drop(state.pending.insert(self.ordinal)),
            (false, _) => {}
        });
    }
}

impl Clusters {
    /// `unvisited`: the chunks of the catalog with documents to be linked.
    pub fn new(bytes_max: u64, notes_max: usize, unvisited: Vec<u64>) -> Self {
        let state = Mutex::new(Some(State::new(unvisited, notes_max)));
        Self {
            state,
            bytes_max,
            has_noted_cut: AtomicBool::new(false),
            #[cfg(test)]
            steps: Steps::default(),
        }
    }

    pub(in crate::backend) fn added(&self, ordinals: impl Iterator<Item = Ordinal>) {
        self.change(|state| state.added(ordinals));
    }

    /// Notes that documents are being copied from the collection that this collection replaces.
    pub(in crate::backend) fn copied(&self) {
        self.change(|state| state.has_copied = true);
    }

    /// Connects near-duplicates that `listed` returns: under the lock, see above. Returns false
    /// without them.
    pub(in crate::backend) fn connect(
        &self,
        listed: impl FnOnce() -> Option<(Version, Version)>,
    ) -> bool {
        let connect = |state: &mut State| {
            let Some((a, b)) = listed() else { return false };
            state.connect(&a, &b);
            true
        };
        self.change(connect).unwrap_or(true)
    }

    pub(in crate::backend) fn replaced(&self, old: Ordinal, new: Ordinal) {
        self.change(|state| state.replaced(old, new));
    }

    pub(in crate::backend) fn removed(&self, ordinal: Ordinal) {
        self.change(|state| state.removed(ordinal));
    }

    /// Notes that the near-duplicates of a document are about to be looked up. `None` if the
    /// document is no longer listed in the catalog: then the writer is about to remove or replace
    /// it here.
    pub fn linking(
        &self,
        ordinal: Ordinal,
        is_listed: impl FnOnce() -> bool,
    ) -> Option<Linking<'_>> {
        let begin = |state: &mut State| {
            let is_listed = is_listed();
            if is_listed {
                state.pending.remove(&ordinal);
                state.linking.insert(ordinal);
            }
            is_listed
        };
        let has_begun = self.change(begin).unwrap_or(false);
        has_begun.then_some(Linking { clusters: self, ordinal, is_done: false })
    }

    pub fn is_linked(&self, ordinal: Ordinal) -> bool {
        let waits =
            |state: &State| state.pending.contains(&ordinal) || state.linking.contains(&ordinal);
        !self.read(waits).unwrap_or(false)
    }

    /// A number for the cluster of each document, or for its part of a stale cluster. Documents
    /// with equal numbers are connected for certain.
    pub fn components_of(&self, ordinals: &[Ordinal]) -> Vec<Option<u64>> {
        let mut lock = self.state.lock();
        let of = |state: &mut State| ordinals.iter().map(|of| state.component_of(*of)).collect();
        lock.as_mut().map_or_else(|| vec![None; ordinals.len()], of)
    }

    /// Notes whether a limit was reached when a document was linked: if so, with another document
    /// of its crowd. Returns whether this is the first such document since the start.
    pub fn note_cut(&self, ordinal: Ordinal, of_crowd: Option<Ordinal>) -> bool {
        self.change(|state| match of_crowd {
            Some(of_crowd) => state.cut.insert(ordinal, of_crowd),
            None => state.cut.remove(&ordinal),
        });
        of_crowd.is_some() && !self.has_noted_cut.swap(true, Ordering::Relaxed)
    }

    /// Documents that may be in the wrong cluster: a limit was reached, they are not linked yet, or
    /// a removal may have divided their cluster. At most `named_max` are named.
    pub fn unfinished(&self, named_max: usize) -> Unfinished {
        let unfinished = |state: &State| {
            let is_new = |of: &&Ordinal| !state.cut.contains_key(of);
            let waiting = state.pending.iter().chain(&state.linking).filter(is_new);
            let stale = state.stale.iter().flat_map(|cluster| state.members(*cluster));
            let all = state.cut.keys().chain(waiting).copied();
            let all = all.chain(stale.map(|document| document.ordinal));
            let mut unfinished = Unfinished::default();
            for document in all {
                unfinished.documents += 1;
                if unfinished.named.len() < named_max {
                    unfinished.named.push(document);
                }
            }
            unfinished.example = state.cut.first_key_value().map(|(a, b)| (*a, *b));
            unfinished
        };
        self.read(unfinished).unwrap_or_default()
    }

    pub fn next_work(&self) -> Option<ClusterWork> {
        self.change(|state| {
            if !state.pending.is_empty() {
                let next = state.pending.iter().take(LINKED_AT_ONCE).copied();
                return Some(ClusterWork::Link(next.collect()));
            }
            state.has_copied = false;
            if let Some(chunk) = state.unvisited.last() {
                return Some(ClusterWork::Visit(*chunk));
            }
            if let Some(apart) = state.next_apart() {
                // As with a new document: if linking does not come to an end, it is repeated.
                state.pending.insert(apart);
                return Some(ClusterWork::Link(vec![apart]));
            }
            state.look_up_cut();
            let next: Vec<_> = state.pending.iter().take(LINKED_AT_ONCE).copied().collect();
            (!next.is_empty()).then_some(ClusterWork::Link(next))
        })
        .flatten()
    }

    /// Notes that the documents of a chunk are linked.
    pub fn visited(&self, chunk: u64) {
        self.change(|state| state.unvisited.retain(|unvisited| *unvisited != chunk));
    }

    pub fn counts(&self) -> ClusterCounts {
        let counts = |state: &State| ClusterCounts {
            state: match (state.is_building(), state.is_settled()) {
                (true, _) => ClustersState::Building,
                (false, false) => ClustersState::Updating,
                (false, true) => ClustersState::Current,
            },
            clusters: state.clusters(),
            documents: state.documents(),
            bytes: state.bytes(),
        };
        let state = ClustersState::OverLimit;
        let dropped = ClusterCounts { state, clusters: 0, documents: 0, bytes: 0 };
        self.read(counts).unwrap_or(dropped)
    }

    /// Some clusters of at least `min_size` documents, in the order of their representatives, and
    /// the representative after which the next page begins, unless this page is the last.
    pub fn page(
        &self,
        after: Option<&Version>,
        min_size: usize,
    ) -> (Vec<Vec<Version>>, Option<Version>) {
        let page = |state: &State| {
            let after = after.map_or(Bound::Unbounded, Bound::Excluded);
            let (mut clusters, mut documents, mut scanned, mut last) = (Vec::new(), 0, 0, None);
            let range = (after, Bound::Unbounded);
            for (representative, cluster) in state.by_representative.range::<Version, _>(range) {
                if documents >= PAGE_DOCUMENTS || scanned == SCANNED_MAX {
                    return (clusters, last);
                }
                (last, scanned) = (Some(representative.clone()), scanned + 1);
                let size = state.cluster(*cluster).map_or(0, |of| of.members.len());
                if size >= min_size {
                    documents += size;
                    clusters.push(state.members(*cluster).cloned().collect());
                }
            }
            (clusters, None)
        };
        self.read(page).unwrap_or_default()
    }

    /// The documents in the cluster of a document, in the byte order of their ids; `None` if it is
    /// alone.
    pub fn members(&self, of: Ordinal) -> Option<Vec<Version>> {
        let members = |state: &State| Some(state.members(state.cluster_of(of)?).cloned().collect());
        self.read(members).flatten()
    }

    /// The first document in the cluster of a document that is shown; `None` if it is alone.
    pub fn representative(
        &self,
        of: Ordinal,
        is_shown: impl Fn(Ordinal) -> bool,
    ) -> Option<DocumentId> {
        let representative = |state: &State| {
            let cluster = state.cluster_of(of)?;
            let shown = state.members(cluster).take(EXPIRED_MAX).find(|of| is_shown(of.ordinal));
            shown.or_else(|| state.members(cluster).next()).map(|document| document.id.clone())
        };
        self.read(representative).flatten()
    }

    /// Rotations of the forest.
    #[cfg(test)]
    pub fn rotations(&self) -> u64 {
        self.read(|state| state.forest.rotations).unwrap_or(0)
    }

    fn read<R>(&self, read: impl FnOnce(&State) -> R) -> Option<R> {
        self.state.lock().as_ref().map(read)
    }

    /// `None` over the limit.
    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut lock = self.state.lock();
        let state = lock.as_mut()?;
        let changed = change(state);
        let bytes = state.bytes();
        if bytes > self.bytes_max {
            *lock = None;
            let bytes_max = self.bytes_max;
            tracing::warn!(
                bytes,
                bytes_max,
                "cluster memory limit exceeded (limits.clusters_bytes_max); clusters dropped"
            );
        }
        Some(changed)
    }
}
