//! Clusters of documents, each with a spanning tree of verified pairs ([`Forest`]). Merging two
//! clusters costs as many steps as the smaller cluster has documents; a removal costs as many steps
//! as the document has edges, times the logarithm of the cluster.
//!
//! Where the removed document had several edges, its tree falls apart, and the cluster is *split*
//! until it is known whether other pairs connect the parts ([`super::split`]). Until then it stays
//! a single cluster. A cluster that is not split has a single tree.
//!
//! Members are in the byte order of their ids, and the first member is the cluster's
//! representative.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::forest::{self, Forest};
use super::notes::Notes;
use super::split::Split;
use crate::backend::{ClusterNote, Version};
use crate::document::Ordinal;

/// A node of a B-tree with room for eleven members.
const NODE_BYTES: usize = 11 * (size_of::<Version>() + size_of::<u32>()) + 16;

/// The memory of an item in a B-tree that is two thirds full.
const fn in_tree(bytes: usize) -> usize {
    bytes * 3 / 2
}

/// A document in a cluster. Its number is that of its node in the forest.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub document: Version,
    pub cluster: u32,
}

#[derive(Debug)]
pub(super) struct Cluster {
    /// The nodes of the documents, by id. While a document is replaced, both versions may be here.
    pub members: BTreeMap<Version, u32>,
    /// `None` if the cluster has one tree.
    pub split: Option<Box<Split>>,
}

#[derive(Debug)]
pub(super) struct State {
    /// The node of each document that is in a cluster. A document alone is in no cluster.
    nodes: HashMap<Ordinal, u32>,
    pub listed: Vec<Listed>,
    pub forest: Forest,
    clusters: Vec<Option<Cluster>>,
    free_clusters: Vec<u32>,
    /// Clusters by their representatives.
    pub by_representative: BTreeMap<Version, u32>,
    /// Clusters that are split.
    pub stale: BTreeSet<u32>,
    /// The split cluster that was worked on last.
    last_taken: u32,
    /// Documents that were looked up since their clusters were split.
    pub looked_up: usize,
    /// Documents to be looked up.
    pub pending: BTreeSet<Ordinal>,
    /// Documents that are being looked up.
    pub linking: BTreeSet<Ordinal>,
    /// Documents that may not be in their clusters, as a limit was reached, each with another
    /// document of its crowd.
    pub cut: BTreeMap<Ordinal, Ordinal>,
    /// Additions and removals since the documents in `cut` were all looked up.
    changes: usize,
    /// Chunks of the catalog with documents that existed at the start and are not linked yet.
    pub unvisited: Vec<u64>,
    /// Documents were copied from another collection, and not all of them are linked yet.
    pub has_copied: bool,
    /// Of documents with a changed cluster.
    pub notes: Notes,
}

impl Cluster {
    pub fn representative(&self) -> Option<&Version> {
        self.members.first_key_value().map(|(first, _)| first)
    }
}

impl State {
    pub fn new(unvisited: Vec<u64>, notes_max: usize) -> Self {
        Self {
            nodes: HashMap::new(),
            listed: Vec::new(),
            forest: Forest::default(),
            clusters: Vec::new(),
            free_clusters: Vec::new(),
            by_representative: BTreeMap::new(),
            stale: BTreeSet::new(),
            last_taken: 0,
            looked_up: 0,
            pending: BTreeSet::new(),
            linking: BTreeSet::new(),
            cut: BTreeMap::new(),
            changes: 0,
            unvisited,
            has_copied: false,
            notes: Notes::new(notes_max),
        }
    }

    pub fn node(&self, ordinal: Ordinal) -> Option<u32> {
        self.nodes.get(&ordinal).copied()
    }

    pub fn cluster_of(&self, ordinal: Ordinal) -> Option<u32> {
        self.node(ordinal).map(|node| self.listed[node as usize].cluster)
    }

    /// A number that two documents have in common if pairs connect them for certain.
    pub fn component_of(&mut self, ordinal: Ordinal) -> Option<u64> {
        let node = self.node(ordinal)?;
        let cluster = self.listed[node as usize].cluster;
        Some(match self.stale.contains(&cluster) {
            true => u64::from(self.forest.root(node)) << u32::BITS | u64::from(u32::MAX),
            false => u64::from(cluster),
        })
    }

    pub fn cluster(&self, cluster: u32) -> Option<&Cluster> {
        self.clusters.get(cluster as usize)?.as_ref()
    }

    pub fn cluster_mut(&mut self, cluster: u32) -> Option<&mut Cluster> {
        self.clusters.get_mut(cluster as usize)?.as_mut()
    }

    pub fn is_stale(&self, cluster: u32) -> bool {
        self.stale.contains(&cluster)
    }

    pub fn clusters(&self) -> u64 {
        self.by_representative.len() as u64
    }

    /// The documents of a cluster, in the byte order of their ids.
    pub fn members(&self, cluster: u32) -> impl Iterator<Item = &Version> {
        self.cluster(cluster).into_iter().flat_map(|of| of.members.keys())
    }

    /// Documents in clusters.
    pub fn documents(&self) -> u64 {
        self.nodes.len() as u64
    }

    pub fn is_building(&self) -> bool {
        self.has_copied || !self.unvisited.is_empty()
    }

    pub fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.linking.is_empty() && self.stale.is_empty()
    }

    /// An estimate.
    pub fn bytes(&self) -> u64 {
        let nodes = self.nodes.capacity() * (size_of::<(Ordinal, u32)>() + 1)
            + self.listed.capacity() * size_of::<Listed>()
            + self.nodes.len() * in_tree(size_of::<(Version, u32)>());
        let clusters = self.clusters.capacity() * size_of::<Option<Cluster>>()
            + self.by_representative.len() * (NODE_BYTES + in_tree(size_of::<(Version, u32)>()))
            + self.free_clusters.capacity() * size_of::<u32>();
        let ordinals = self.pending.len() + self.linking.len() + 2 * self.cut.len();
        let waiting = (ordinals + self.stale.len()) * in_tree(size_of::<Ordinal>());
        let looked_up = self.looked_up * 2 * size_of::<Ordinal>();
        let unvisited = self.unvisited.capacity() * size_of::<u64>();
        let others = waiting + looked_up + unvisited + self.notes.bytes();
        (nodes + clusters + self.forest.bytes() + others) as u64
    }

    /// Two documents are near-duplicates.
    pub fn connect(&mut self, a: &Version, b: &Version) {
        if a.ordinal == b.ordinal {
            return;
        }
        match (self.node(a.ordinal), self.node(b.ordinal)) {
            (Some(x), Some(y)) => self.connect_nodes(x, y),
            (Some(x), None) => self.join(x, b),
            (None, Some(y)) => self.join(y, a),
            (None, None) => {
                let cluster = self.new_cluster();
                let node = self.list(a, cluster);
                self.join(node, b);
            }
        }
    }

    fn connect_nodes(&mut self, a: u32, b: u32) {
        let (x, y) = (self.listed[a as usize].cluster, self.listed[b as usize].cluster);
        if x != y {
            self.forest.link(a, b);
            self.merge(x, y);
        } else if self.is_stale(x) && !self.forest.are_connected(a, b) {
            self.forest.link(a, b);
        }
    }

    /// Replaces a document by a version with an equal set, which has the same near-duplicates.
    pub fn replaced(&mut self, old: Ordinal, new: Ordinal) {
        let was_pending = self.pending.remove(&old);
        let is_linked = !self.linking.remove(&old) && !was_pending;
        if !is_linked || !self.unvisited.is_empty() {
            self.pending.insert(new);
        }
        self.note(ClusterNote::Document(new));
        if let Some(of_crowd) = self.cut.remove(&old) {
            self.cut.insert(new, of_crowd);
        }
        if self.nodes.contains_key(&new) {
            // The lookup of another document found the new version first.
            self.pending.insert(new);
            return self.removed(old);
        }
        if let Some(node) = self.nodes.remove(&old) {
            self.nodes.insert(new, node);
            let Listed { document, cluster } = self.listed[node as usize].clone();
            self.remove_member(cluster, &document);
            let document = Version { ordinal: new, ..document };
            self.listed[node as usize].document = document.clone();
            self.add_member(cluster, document, node);
        }
    }

    pub fn added(&mut self, ordinals: impl Iterator<Item = Ordinal>) {
        let before = self.pending.len();
        self.pending.extend(ordinals);
        self.changes += self.pending.len() - before;
    }

    /// Has the documents in `cut` looked up again once as many documents were added or removed as
    /// there are in it: their lookups may now end before the limit. So each change costs a further
    /// lookup at most.
    pub fn look_up_cut(&mut self) {
        if !self.cut.is_empty() && self.changes >= self.cut.len() {
            self.changes = 0;
            self.pending.extend(self.cut.keys());
        }
    }

    /// Removes a document. The documents that it connected may now be in several clusters.
    pub fn removed(&mut self, ordinal: Ordinal) {
        self.changes += 1;
        self.pending.remove(&ordinal);
        self.linking.remove(&ordinal);
        self.cut.remove(&ordinal);
        let Some(node) = self.node(ordinal) else { return };
        let before = self.representative_id(self.listed[node as usize].cluster);
        let cluster = self.unlist(node);
        self.note_renamed(cluster, before.as_ref());
        let neighbours = self.forest.remove(node);
        match self.cluster(cluster).map_or(0, |cluster| cluster.members.len()) {
            0 | 1 => {
                // The remaining document may have been linked with the removed document instead of
                // a new document with the same set, which takes no note of single documents.
                let alone: Vec<_> = self.members(cluster).map(|of| of.ordinal).collect();
                self.pending.extend(alone);
                self.dissolve(cluster);
            }
            _ => self.split(cluster, node, neighbours),
        }
    }

    /// A new node for a document in a cluster, not connected yet.
    fn list(&mut self, document: &Version, cluster: u32) -> u32 {
        let (node, listed) = (self.forest.add(), Listed { document: document.clone(), cluster });
        match self.listed.get_mut(node as usize) {
            Some(former) => *former = listed,
            None => forest::push(&mut self.listed, listed),
        }
        self.nodes.insert(document.ordinal, node);
        let before = self.representative_id(cluster);
        self.add_member(cluster, document.clone(), node);
        self.note(ClusterNote::Document(document.ordinal));
        if before.is_some() {
            self.note_renamed(cluster, before.as_ref());
        }
        node
    }

    fn join(&mut self, node: u32, document: &Version) {
        let cluster = self.listed[node as usize].cluster;
        let new = self.list(document, cluster);
        self.forest.link(new, node);
    }

    fn add_member(&mut self, cluster: u32, document: Version, node: u32) {
        let Some(of) = self.cluster_mut(cluster) else { return };
        let before = of.representative().cloned();
        of.members.insert(document.clone(), node);
        if before.as_ref().is_none_or(|before| document < *before) {
            before.map(|before| self.by_representative.remove(&before));
            self.by_representative.insert(document, cluster);
        }
    }

    fn remove_member(&mut self, cluster: u32, document: &Version) {
        let Some(of) = self.cluster_mut(cluster) else { return };
        of.members.remove(document);
        let next = of.representative().cloned();
        if self.by_representative.remove(document).is_some()
            && let Some(next) = next
        {
            self.by_representative.insert(next, cluster);
        }
    }

    /// Takes a document out of its cluster and returns the cluster's number; the node stays.
    fn unlist(&mut self, node: u32) -> u32 {
        let Listed { document, cluster } = self.listed[node as usize].clone();
        self.nodes.remove(&document.ordinal);
        self.remove_member(cluster, &document);
        cluster
    }

    pub fn new_cluster(&mut self) -> u32 {
        let cluster = Some(Cluster { members: BTreeMap::new(), split: None });
        if let Some(number) = self.free_clusters.pop() {
            self.clusters[number as usize] = cluster;
            return number;
        }
        self.clusters.push(cluster);
        self.clusters.len() as u32 - 1
    }

    /// Removes a cluster of a single document.
    pub fn dissolve(&mut self, cluster: u32) {
        self.end_split(cluster);
        let Some(of) = self.clusters[cluster as usize].take() else { return };
        self.free_clusters.push(cluster);
        for (document, node) in of.members {
            self.by_representative.remove(&document);
            self.nodes.remove(&document.ordinal);
            self.forest.remove(node);
        }
    }

    fn merge(&mut self, x: u32, y: u32) {
        let size = |of: u32| self.cluster(of).map_or(0, |of| of.members.len());
        let (small, large) = if size(x) < size(y) { (x, y) } else { (y, x) };
        self.merge_splits(small, large);
        let Some(merged) = self.clusters[small as usize].take() else { return };
        self.free_clusters.push(small);
        if let Some(representative) = merged.representative() {
            self.by_representative.remove(representative);
        }
        let before = self.representative_id(large);
        let keeps_name = merged.representative().map(|of| &of.id) > before.as_ref();
        for (document, node) in merged.members {
            self.listed[node as usize].cluster = large;
            if keeps_name {
                self.note(ClusterNote::Document(document.ordinal));
            }
            self.add_member(large, document, node);
        }
        self.note_renamed(large, before.as_ref());
    }

    /// Makes a part of a cluster a new cluster, or no cluster if the part is a single document.
    pub fn take_out(&mut self, cluster: u32, nodes: Vec<u32>) {
        let new = self.new_cluster();
        let before = self.representative_id(cluster);
        for node in nodes {
            let document = self.listed[node as usize].document.clone();
            self.note(ClusterNote::Document(document.ordinal));
            self.remove_member(cluster, &document);
            self.listed[node as usize].cluster = new;
            self.add_member(new, document, node);
        }
        // Noted as well, as the cluster may be dissolved.
        let first = self.cluster(cluster).and_then(Cluster::representative).map(|of| of.ordinal);
        if let Some(first) = first {
            self.note(ClusterNote::Document(first));
        }
        self.note_renamed(cluster, before.as_ref());
        for of in [new, cluster] {
            if self.cluster(of).is_some_and(|of| of.members.len() < 2) {
                self.dissolve(of);
            }
        }
    }

    /// The next document to be looked up in a split cluster; the split clusters take turns.
    pub fn next_apart(&mut self) -> Option<Ordinal> {
        while let Some(cluster) = self.next_stale() {
            if let Some(document) = self.next_of_split(cluster) {
                return Some(document);
            }
        }
        None
    }

    fn next_stale(&mut self) -> Option<u32> {
        let later = self.stale.range(self.last_taken.saturating_add(1)..).next();
        let cluster = *later.or_else(|| self.stale.first())?;
        self.last_taken = cluster;
        Some(cluster)
    }
}
