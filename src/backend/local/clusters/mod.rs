//! The clusters that a collection keeps: which documents are connected by near-duplicates. They are
//! in memory alone, and are found again at each start ([`crate::engine`] finds the pairs).
//!
//! The thread that applies a write adds and removes documents here as it does in the index, so
//! nothing is missed: what is added waits to be linked, and what is removed leaves its cluster
//! stale. A document is connected only while it is listed in the catalog, which is checked under
//! the lock: a removal is applied to the catalog first, so it finds what was connected before.
//!
//! Lock order: this lock, then a chunk of the catalog.

mod state;
#[cfg(test)]
mod tests;

use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use utoipa::ToSchema;

use super::Local;
use crate::backend::{BackendError, Candidates, Sketched};
use crate::document::{DocumentId, Ordinal};
use crate::index::{ExactSearch, Search};
use state::State;

/// Documents that are linked between two looks at what else there is to do.
const LINKED_AT_ONCE: usize = 64;

/// Clusters that are looked at for a page.
const SCANNED_MAX: usize = 10_000;

/// How far the clusters have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClustersState {
    /// The documents that were there at the start are being linked: clusters are incomplete.
    Building,
    /// Some documents were added or removed that are not taken into account yet.
    Updating,
    Current,
    /// The clusters took more memory than `limits.clusters_bytes_max` and were dropped.
    OverLimit,
}

/// Figures of the clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClusterCounts {
    pub state: ClustersState,
    /// Clusters of at least two documents.
    pub clusters: u64,
    /// Documents in them.
    pub documents: u64,
    /// Their memory.
    pub bytes: u64,
}

/// A cluster without its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterEntry {
    pub oldest: Ordinal,
    pub size: usize,
    /// A member was removed, which may have divided it.
    pub is_stale: bool,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub enum ClusterWork {
    /// Documents to link.
    Link(Vec<Ordinal>),
    /// A chunk of the catalog, whose documents are to be linked.
    Visit(u64),
    /// The members of a cluster, to be connected anew.
    Rebuild(Vec<Ordinal>),
}

#[derive(Debug)]
pub struct Clusters {
    /// `None` over the limit.
    state: Mutex<Option<State>>,
    bytes_max: u64,
}

/// Puts a document back unless its linking came to an end.
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
        self.clusters.change(|state| {
            if state.linking.remove(&self.ordinal) && !self.is_done {
                state.pending.insert(self.ordinal);
            }
        });
    }
}

impl Clusters {
    /// `unvisited`: the chunks of the documents that are there already.
    pub fn new(bytes_max: u64, unvisited: Vec<u64>) -> Self {
        Self { state: Mutex::new(Some(State::new(unvisited))), bytes_max }
    }

    pub(super) fn added(&self, ordinals: impl Iterator<Item = Ordinal>) {
        self.change(|state| state.pending.extend(ordinals));
    }

    /// Documents are being copied from a collection that this one replaces.
    pub(super) fn copied(&self) {
        self.change(|state| state.has_copied = true);
    }

    pub(super) fn replaced(&self, old: Ordinal, new: Ordinal) {
        self.change(|state| state.replaced(old, new));
    }

    pub(super) fn removed(&self, ordinal: Ordinal) {
        self.change(|state| state.removed(ordinal));
    }

    /// A document whose near-duplicates are about to be looked up.
    pub fn linking(&self, ordinal: Ordinal) -> Linking<'_> {
        self.change(|state| {
            state.pending.remove(&ordinal);
            state.linking.insert(ordinal);
        });
        Linking { clusters: self, ordinal, is_done: false }
    }

    pub fn is_linked(&self, ordinal: Ordinal) -> bool {
        let waits =
            |state: &State| state.pending.contains(&ordinal) || state.linking.contains(&ordinal);
        !self.read(waits).unwrap_or(false)
    }

    /// The numbers of the documents' clusters.
    pub fn clusters_of(&self, ordinals: &[Ordinal]) -> Vec<Option<u64>> {
        let of = |state: &State| ordinals.iter().map(|of| state.cluster_of(*of)).collect();
        self.read(of).unwrap_or_else(|| vec![None; ordinals.len()])
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
            state.take_stale().map(ClusterWork::Rebuild)
        })
        .flatten()
    }

    /// The documents of this chunk, the last unvisited one, are linked.
    pub fn visited(&self, chunk: u64) {
        self.change(|state| state.unvisited.retain(|unvisited| *unvisited != chunk));
    }

    /// The members that were last to be rebuilt are connected in these groups.
    pub fn rebuilt(&self, groups: Vec<Vec<Ordinal>>) {
        self.change(|state| state.rebuilt(groups));
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

    /// At most `limit` clusters of at least `min_size`, by their oldest members, after that of a
    /// former page; and where the next page begins, if there may be more.
    pub fn page(
        &self,
        after: Option<Ordinal>,
        min_size: usize,
        limit: usize,
    ) -> (Vec<ClusterEntry>, Option<Ordinal>) {
        let page = |state: &State| {
            let after = after.map_or(Bound::Unbounded, Bound::Excluded);
            let mut entries = Vec::new();
            let mut scanned = 0;
            let mut last = None;
            for (oldest, cluster) in state.by_oldest.range((after, Bound::Unbounded)) {
                if entries.len() == limit || scanned == SCANNED_MAX {
                    return (entries, last);
                }
                (last, scanned) = (Some(*oldest), scanned + 1);
                let size = state.members(*cluster).map_or(0, std::collections::BTreeSet::len);
                if size >= min_size {
                    let is_stale = state.is_stale(*cluster);
                    entries.push(ClusterEntry { oldest: *oldest, size, is_stale });
                }
            }
            (entries, None)
        };
        self.read(page).unwrap_or_default()
    }

    /// The cluster of a document and its members after one, at most `limit`; and whether there are
    /// more.
    pub fn cluster(
        &self,
        of: Ordinal,
        after: Option<Ordinal>,
        limit: usize,
    ) -> Option<(ClusterEntry, Vec<Ordinal>, bool)> {
        let cluster = |state: &State| {
            let cluster = state.cluster_of(of)?;
            let members = state.members(cluster)?;
            let after = after.map_or(Bound::Unbounded, Bound::Excluded);
            let mut range = members.range((after, Bound::Unbounded)).copied();
            let page = range.by_ref().take(limit).collect();
            let (oldest, is_stale) = (*members.first()?, state.is_stale(cluster));
            let entry = ClusterEntry { oldest, size: members.len(), is_stale };
            Some((entry, page, range.next().is_some()))
        };
        self.read(cluster).flatten()
    }

    fn read<R>(&self, read: impl FnOnce(&State) -> R) -> Option<R> {
        self.lock().as_ref().map(read)
    }

    /// `None` over the limit.
    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut lock = self.lock();
        let state = lock.as_mut()?;
        let changed = change(state);
        let bytes = state.bytes();
        if bytes > self.bytes_max {
            *lock = None;
            let bytes_max = self.bytes_max;
            tracing::warn!(bytes, bytes_max, "the clusters are dropped: limits.clusters_bytes_max");
        }
        Some(changed)
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What linking documents needs. Those that have expired are linked like others until they are
/// removed, since the clock may be set back.
impl Local {
    /// The clusters, if they are kept.
    pub fn clusters(&self) -> Option<&Clusters> {
        self.live.clusters.as_ref()
    }

    /// How far the clusters have come. Expired documents belong to their clusters until they are
    /// removed.
    pub fn cluster_counts(&self) -> Option<ClusterCounts> {
        let mut counts = self.clusters()?.counts();
        let has_expired = || !self.live.catalog.due(self.now_ms(), 1).is_empty();
        if counts.state == ClustersState::Current && has_expired() {
            counts.state = ClustersState::Updating;
        }
        Some(counts)
    }

    /// Connects near-duplicates; `false` if one of them is no longer there.
    pub fn connect(&self, a: Ordinal, b: Ordinal) -> bool {
        let Some(clusters) = self.clusters() else { return true };
        let connect = |state: &mut State| {
            let is_there = |of| self.live.catalog.fingerprint(of).is_some();
            let are_there = is_there(a) && is_there(b);
            if are_there {
                state.connect(a, b);
            }
            are_there
        };
        clusters.change(connect).unwrap_or(true)
    }

    pub fn fingerprint(&self, ordinal: Ordinal) -> Option<u64> {
        self.live.catalog.fingerprint(ordinal)
    }

    pub fn sketched_at(&self, ordinal: Ordinal) -> Option<Sketched> {
        self.live.sketched_ordinal(ordinal, i64::MIN)
    }

    /// The documents of a chunk of the catalog.
    pub fn documents_in(&self, chunk: u64) -> Vec<Ordinal> {
        self.live.catalog.ordinals_in(chunk)
    }

    /// The ordinal of a document that has not expired.
    pub fn ordinal(&self, id: &DocumentId) -> Option<Ordinal> {
        self.alive(id)
    }

    pub fn id(&self, ordinal: Ordinal) -> Option<DocumentId> {
        self.live.catalog.listing(ordinal).map(|listing| listing.id)
    }

    pub fn has_expired(&self, ordinal: Ordinal) -> bool {
        let now_ms = self.now_ms();
        self.live.catalog.listing(ordinal).is_some_and(|listing| listing.has_expired(now_ms))
    }

    /// # Errors
    /// [`BackendError::Storage`]
    pub async fn linkable(&self, search: &Search<'_>) -> Result<Candidates, BackendError> {
        self.search_at(search, i64::MIN).await
    }

    /// # Errors
    /// [`BackendError::Storage`]
    pub async fn linkable_exactly(
        &self,
        search: &ExactSearch,
    ) -> Result<Option<Candidates>, BackendError> {
        self.search_exactly_at(search, i64::MIN).await
    }
}
