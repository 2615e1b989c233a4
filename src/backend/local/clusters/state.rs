//! Clusters as sets of ordinals. No operation but [`State::rebuilt`] costs more than the smaller of
//! two clusters that it merges, and that one no more than what has changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::document::Ordinal;

/// A node of a B-tree with room for eleven ordinals.
const NODE_BYTES: usize = 11 * size_of::<Ordinal>() + 16;

/// An ordinal in a B-tree whose nodes are two thirds full.
const ENTRY_BYTES: usize = size_of::<Ordinal>() * 3 / 2;

#[derive(Debug, Default)]
pub(super) struct State {
    /// The cluster of each document that has one. Those of one document are not kept.
    of: HashMap<Ordinal, u64>,
    members: HashMap<u64, BTreeSet<Ordinal>>,
    /// Clusters by their oldest members.
    pub by_oldest: BTreeMap<Ordinal, u64>,
    /// The number of the next cluster. Numbers are not given again.
    next: u64,
    /// Clusters that a removal may have divided.
    stale: BTreeSet<u64>,
    /// The one that was last taken to be rebuilt.
    last_taken: u64,
    rebuilding: Option<Rebuilding>,
    /// Documents whose near-duplicates were not looked up yet.
    pub pending: BTreeSet<Ordinal>,
    /// Documents whose near-duplicates are being looked up.
    pub linking: BTreeSet<Ordinal>,
    /// Chunks of the catalog whose documents were there at the start and are not linked yet.
    pub unvisited: Vec<u64>,
    /// Documents were copied from another collection, and not all of them are linked yet.
    pub has_copied: bool,
}

/// What happens to a cluster while it is rebuilt.
#[derive(Debug, Default)]
struct Rebuilding {
    cluster: u64,
    joined: Vec<Ordinal>,
    left: BTreeSet<Ordinal>,
    /// It was merged with another that is stale.
    is_stale_again: bool,
}

impl State {
    pub fn new(unvisited: Vec<u64>) -> Self {
        Self { unvisited, ..Self::default() }
    }

    pub fn cluster_of(&self, ordinal: Ordinal) -> Option<u64> {
        self.of.get(&ordinal).copied()
    }

    pub fn members(&self, cluster: u64) -> Option<&BTreeSet<Ordinal>> {
        self.members.get(&cluster)
    }

    pub fn is_stale(&self, cluster: u64) -> bool {
        self.stale.contains(&cluster)
    }

    pub fn clusters(&self) -> u64 {
        self.members.len() as u64
    }

    /// Documents in clusters.
    pub fn documents(&self) -> u64 {
        self.of.len() as u64
    }

    pub fn is_building(&self) -> bool {
        self.has_copied || !self.unvisited.is_empty()
    }

    pub fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.linking.is_empty() && self.stale.is_empty()
    }

    /// An estimate.
    pub fn bytes(&self) -> u64 {
        let of = self.of.capacity() * (size_of::<(Ordinal, u64)>() + 1);
        let member_sets = self.members.capacity() * (size_of::<(u64, BTreeSet<Ordinal>)>() + 1)
            + self.members.len() * NODE_BYTES;
        let waiting = self.pending.len() + self.linking.len() + self.stale.len();
        let entries = self.of.len() + 2 * self.by_oldest.len() + waiting;
        let rebuilding = self.rebuilding.as_ref().map_or(0, |of| of.joined.len() + of.left.len());
        let unvisited = self.unvisited.capacity() * size_of::<u64>();
        (of + member_sets + (entries + rebuilding) * ENTRY_BYTES + unvisited) as u64
    }

    /// Two documents are near-duplicates.
    pub fn connect(&mut self, a: Ordinal, b: Ordinal) {
        match (self.cluster_of(a), self.cluster_of(b)) {
            (Some(x), Some(y)) if x == y => {}
            (Some(x), Some(y)) => self.merge(x, y),
            (Some(x), None) => self.join(x, b),
            (None, Some(y)) => self.join(y, a),
            (None, None) => drop(self.insert(BTreeSet::from([a, b]))),
        }
    }

    /// A document gave way to one with an equal set, whose near-duplicates are the same.
    pub fn replaced(&mut self, old: Ordinal, new: Ordinal) {
        let is_linked = !self.pending.remove(&old) && !self.linking.contains(&old);
        if !is_linked || !self.unvisited.is_empty() {
            self.pending.insert(new);
        }
        if let Some(cluster) = self.cluster_of(old) {
            self.join(cluster, new);
            self.leave(cluster, old);
        }
    }

    /// What a document has connected may now be apart.
    pub fn removed(&mut self, ordinal: Ordinal) {
        self.pending.remove(&ordinal);
        let Some(cluster) = self.cluster_of(ordinal) else { return };
        self.leave(cluster, ordinal);
        if self.members.contains_key(&cluster) {
            self.stale.insert(cluster);
        }
    }

    /// The members of the next stale cluster.
    pub fn take_stale(&mut self) -> Option<Vec<Ordinal>> {
        let later = self.stale.range(self.last_taken + 1..).next();
        let cluster = *later.or_else(|| self.stale.first())?;
        self.last_taken = cluster;
        self.rebuilding = Some(Rebuilding { cluster, ..Rebuilding::default() });
        self.members.get(&cluster).map(|members| members.iter().copied().collect())
    }

    /// The members that were taken last are connected in these groups. Those that came meanwhile
    /// must be linked again, unless all are in one group still; a group that has lost a member is
    /// stale.
    pub fn rebuilt(&mut self, groups: Vec<Vec<Ordinal>>) {
        let Some(Rebuilding { cluster, joined, left, is_stale_again }) = self.rebuilding.take()
        else {
            return;
        };
        self.stale.remove(&cluster);
        let is_whole = groups.len() == 1;
        let largest = (0..groups.len()).max_by_key(|at| groups[*at].len());
        for (at, group) in groups.into_iter().enumerate() {
            let has_lost = group.iter().any(|member| left.contains(member));
            let stale = if Some(at) == largest {
                Some(cluster)
            } else {
                let apart = self.take_out(cluster, group);
                (apart.len() > 1).then(|| self.insert(apart))
            };
            if has_lost && let Some(stale) = stale {
                self.stale.insert(stale);
            }
        }
        if is_stale_again && is_whole {
            self.stale.insert(cluster);
        } else if !is_whole {
            let again = self.take_out(cluster, joined);
            self.pending.extend(again);
        }
        if !self.members.contains_key(&cluster) {
            self.stale.remove(&cluster);
        }
    }

    fn insert(&mut self, members: BTreeSet<Ordinal>) -> u64 {
        self.next += 1;
        let (cluster, oldest) = (self.next, *members.first().expect("a cluster has members"));
        self.of.extend(members.iter().map(|member| (*member, cluster)));
        self.by_oldest.insert(oldest, cluster);
        self.members.insert(cluster, members);
        cluster
    }

    fn join(&mut self, cluster: u64, ordinal: Ordinal) {
        let Some(members) = self.members.get_mut(&cluster) else { return };
        let oldest = *members.first().expect("a cluster has members");
        members.insert(ordinal);
        self.of.insert(ordinal, cluster);
        if ordinal < oldest {
            self.by_oldest.remove(&oldest);
            self.by_oldest.insert(ordinal, cluster);
        }
        if let Some(of) = self.rebuilding.as_mut().filter(|of| of.cluster == cluster) {
            of.joined.push(ordinal);
        }
    }

    /// A cluster of one is none.
    fn leave(&mut self, cluster: u64, ordinal: Ordinal) {
        self.of.remove(&ordinal);
        let Some(members) = self.members.get_mut(&cluster) else { return };
        let oldest = *members.first().expect("a cluster has members");
        members.remove(&ordinal);
        if let Some(of) = self.rebuilding.as_mut().filter(|of| of.cluster == cluster) {
            of.left.insert(ordinal);
        }
        let (first, is_alone) = (members.first().copied(), members.len() < 2);
        if is_alone {
            self.dissolve(cluster, oldest);
        } else if let Some(first) = first.filter(|_| oldest == ordinal) {
            self.by_oldest.remove(&oldest);
            self.by_oldest.insert(first, cluster);
        }
    }

    fn dissolve(&mut self, cluster: u64, oldest: Ordinal) {
        self.by_oldest.remove(&oldest);
        self.stale.remove(&cluster);
        for member in self.members.remove(&cluster).unwrap_or_default() {
            self.of.remove(&member);
        }
    }

    /// The members that are still in the cluster, and are no longer.
    fn take_out(&mut self, cluster: u64, members: Vec<Ordinal>) -> BTreeSet<Ordinal> {
        let is_in = |member: &Ordinal| self.cluster_of(*member) == Some(cluster);
        let out: BTreeSet<Ordinal> = members.into_iter().filter(is_in).collect();
        for member in &out {
            self.leave(cluster, *member);
        }
        out
    }

    fn merge(&mut self, x: u64, y: u64) {
        let size = |cluster| self.members.get(&cluster).map_or(0, BTreeSet::len);
        let (small, large) = if size(x) < size(y) { (x, y) } else { (y, x) };
        let Some(members) = self.members.remove(&small) else { return };
        if let Some(oldest) = members.first() {
            self.by_oldest.remove(oldest);
        }
        if self.rebuilding.as_ref().is_some_and(|of| of.cluster == small) {
            self.rebuilding = None;
        }
        for member in members {
            self.join(large, member);
        }
        if self.stale.remove(&small) {
            self.stale.insert(large);
            if let Some(of) = self.rebuilding.as_mut().filter(|of| of.cluster == large) {
                of.is_stale_again = true;
            }
        }
    }
}
