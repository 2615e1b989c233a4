//! Finds out which parts of a cluster are connected by other pairs after its spanning tree fell
//! apart.
//!
//! The parts take turns, and in each turn a document of the part is looked up like a new document.
//! A pair with a document of another part connects the two parts. Often the first lookup finds a
//! pair. If all documents of a part were looked up without a pair, the part becomes a new cluster.
//! Because of the turns the smallest part is finished first, and the largest part is never walked
//! through.

use std::collections::HashSet;

use super::forest::Forest;
use super::state::State;
use crate::document::Ordinal;

#[derive(Debug)]
pub(super) struct Split {
    /// Two parts may be connected again.
    parts: Vec<SplitPart>,
    /// The part that has its turn.
    at: usize,
}

#[derive(Debug)]
struct SplitPart {
    /// A node in the part.
    first: u32,
    /// The documents that were looked up or are in `open`.
    seen: HashSet<Ordinal>,
    /// Documents to be looked up next.
    open: Vec<Ordinal>,
}

impl Split {
    fn of(firsts: impl IntoIterator<Item = u32>) -> Self {
        let part = |first| SplitPart { first, seen: HashSet::new(), open: Vec::new() };
        Self { parts: firsts.into_iter().map(part).collect(), at: 0 }
    }

    fn firsts(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|part| part.first)
    }

    fn looked_up(&self) -> usize {
        self.parts.iter().map(|part| part.seen.len()).sum()
    }
}

impl State {
    /// Begins to split a cluster from which a node with these neighbours was removed. All documents
    /// are looked up again, as documents that were in one part before may be in two parts now.
    pub(super) fn split(&mut self, cluster: u32, removed: u32, neighbours: Vec<u32>) {
        let before = self.end_split(cluster);
        let was_first = before.as_ref().is_some_and(|split| split.firsts().any(|of| of == removed));
        let firsts = before.iter().flat_map(|split| split.firsts());
        let mut firsts: Vec<u32> = firsts.filter(|first| *first != removed).collect();
        if neighbours.len() > 1 || was_first {
            firsts.extend(neighbours);
        } else if let Some(before) = before {
            return self.begin_split(cluster, before);
        }
        if firsts.len() > 1 {
            self.begin_split(cluster, Box::new(Split::of(firsts)));
        }
    }

    fn begin_split(&mut self, cluster: u32, split: Box<Split>) {
        self.looked_up += split.looked_up();
        self.stale.insert(cluster);
        if let Some(of) = self.cluster_mut(cluster) {
            of.split = Some(split);
        }
    }

    pub(super) fn end_split(&mut self, cluster: u32) -> Option<Box<Split>> {
        self.stale.remove(&cluster);
        let split = self.cluster_mut(cluster)?.split.take()?;
        self.looked_up -= split.looked_up();
        Some(split)
    }

    /// Merges the splits of two clusters after their trees were connected.
    pub(super) fn merge_splits(&mut self, small: u32, large: u32) {
        if !self.is_stale(small) && !self.is_stale(large) {
            return;
        }
        let mut firsts = Vec::new();
        for cluster in [small, large] {
            match self.end_split(cluster) {
                Some(split) => firsts.extend(split.firsts()),
                None => {
                    let members = self.cluster(cluster).map(|of| &of.members);
                    firsts.extend(members.and_then(|members| members.values().next()));
                }
            }
        }
        self.begin_split(large, Box::new(Split::of(firsts)));
    }

    /// The next document to be looked up, or `None` once the cluster is whole, or its parts are
    /// clusters of their own.
    pub(super) fn next_of_split(&mut self, cluster: u32) -> Option<Ordinal> {
        loop {
            let mut split = self.end_split(cluster)?;
            if split.at >= split.parts.len() {
                self.drop_connected(&mut split);
            }
            if split.parts.len() < 2 {
                return None;
            }
            let (part, next) = (split.at, (split.at + 1) % split.parts.len());
            let firsts = (split.parts[part].first, split.parts[next].first);
            if self.forest.are_connected(firsts.0, firsts.1) {
                split.parts.swap_remove(part);
                self.begin_split(cluster, split);
                continue;
            }
            let Some(document) = split.parts[part].next(self) else {
                let alone = split.parts.swap_remove(part);
                self.begin_split(cluster, split);
                let nodes = tree(&self.forest, alone.first);
                self.take_out(cluster, nodes);
                continue;
            };
            split.at += 1;
            self.begin_split(cluster, split);
            return Some(document);
        }
    }

    /// Keeps one of the parts that are connected, at the end of each turn.
    fn drop_connected(&mut self, split: &mut Split) {
        let mut roots = HashSet::new();
        split.parts.retain(|part| roots.insert(self.forest.root(part.first)));
        split.at = 0;
    }
}

impl SplitPart {
    /// The next document to be looked up.
    fn next(&mut self, state: &State) -> Option<Ordinal> {
        let ordinal = |node: u32| state.listed[node as usize].document.ordinal;
        if self.seen.is_empty() {
            self.open.push(ordinal(self.first));
            self.seen.insert(ordinal(self.first));
        }
        loop {
            if self.open.is_empty() {
                // Documents may have joined the part after their neighbours were looked up, and new
                // versions may have taken the places of documents in `open`.
                let all = tree(&state.forest, self.first).into_iter().map(ordinal);
                self.open = all.filter(|document| self.seen.insert(*document)).collect();
            }
            let document = self.open.pop()?;
            // It may have been removed or replaced.
            let Some(node) = state.node(document) else { continue };
            for next in state.forest.neighbours(node).map(ordinal) {
                if self.seen.insert(next) {
                    self.open.push(next);
                }
            }
            return Some(document);
        }
    }
}

/// All nodes of a tree.
fn tree(forest: &Forest, first: u32) -> Vec<u32> {
    let (mut nodes, mut seen) = (vec![first], HashSet::from([first]));
    let mut at = 0;
    while let Some(node) = nodes.get(at).copied() {
        nodes.extend(forest.neighbours(node).filter(|next| seen.insert(*next)));
        at += 1;
    }
    nodes
}
