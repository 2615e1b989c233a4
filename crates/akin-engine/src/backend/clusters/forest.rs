//! A spanning forest: trees of nodes, which edges connect and cut. To test whether two nodes are in
//! the same tree takes O(log n) amortised steps, n being the size of the tree: link-cut trees
//! (Sleator and Tarjan 1983, with splay trees: 1985).
//!
//! Each tree is divided into paths. A path is a splay tree of its nodes in their order, and the
//! root of a path's splay tree points to the node above the path ("parent" in the same field).

/// No node, or no edge.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    /// In the splay tree; of its root, the node above the path.
    parent: u32,
    /// In the splay tree: the part of the path above, and the part below.
    children: [u32; 2],
    /// The first of the node's edges.
    edges: u32,
    /// The path in this subtree is to be read in reverse.
    is_reversed: bool,
}

/// An edge as seen from a node.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    /// The next edge of the same node.
    next: u32,
}

#[derive(Debug, Default)]
pub(super) struct Forest {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    free_nodes: Vec<u32>,
    free_edges: Vec<u32>,
    #[cfg(test)]
    pub rotations: u64,
}

impl Forest {
    /// Adds a tree of a single node.
    pub fn add(&mut self) -> u32 {
        let node = Node { parent: NONE, children: [NONE; 2], edges: NONE, is_reversed: false };
        place(&mut self.nodes, &mut self.free_nodes, node)
    }

    /// Connects two nodes of different trees.
    pub fn link(&mut self, a: u32, b: u32) {
        self.evert(a);
        self.nodes[a as usize].parent = b;
        for (from, to) in [(a, b), (b, a)] {
            let edge = Edge { to, next: self.nodes[from as usize].edges };
            self.nodes[from as usize].edges = place(&mut self.edges, &mut self.free_edges, edge);
        }
    }

    /// Removes a node and its edges, and returns its former neighbours: each is in a tree of its
    /// own now.
    pub fn remove(&mut self, node: u32) -> Vec<u32> {
        let neighbours: Vec<u32> = self.neighbours(node).collect();
        for neighbour in &neighbours {
            self.cut(node, *neighbour);
            self.drop_edge(node, *neighbour);
            self.drop_edge(*neighbour, node);
        }
        self.free_nodes.push(node);
        neighbours
    }

    pub fn are_connected(&mut self, a: u32, b: u32) -> bool {
        a == b || self.root(a) == self.root(b)
    }

    /// A node that is the same for all nodes of a tree until the forest is changed.
    pub fn root(&mut self, node: u32) -> u32 {
        self.expose(node);
        let mut top = node;
        self.push_down(top);
        while self.nodes[top as usize].children[0] != NONE {
            top = self.nodes[top as usize].children[0];
            self.push_down(top);
        }
        self.splay(top);
        top
    }

    pub fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> {
        let some = |edge: u32| (edge != NONE).then(|| self.edges[edge as usize]);
        let first = some(self.nodes[node as usize].edges);
        std::iter::successors(first, move |edge| some(edge.next)).map(|edge| edge.to)
    }

    pub fn bytes(&self) -> usize {
        let free = self.free_nodes.capacity() + self.free_edges.capacity();
        self.nodes.capacity() * size_of::<Node>()
            + self.edges.capacity() * size_of::<Edge>()
            + free * size_of::<u32>()
    }

    fn cut(&mut self, a: u32, b: u32) {
        self.evert(a);
        self.expose(b);
        // The path consists of the two nodes, and `a` is above `b`.
        self.push_down(b);
        self.nodes[b as usize].children[0] = NONE;
        self.nodes[a as usize].parent = NONE;
    }

    fn drop_edge(&mut self, from: u32, to: u32) {
        let mut before = NONE;
        let mut at = self.nodes[from as usize].edges;
        while at != NONE {
            let edge = self.edges[at as usize];
            if edge.to == to {
                match before {
                    NONE => self.nodes[from as usize].edges = edge.next,
                    before => self.edges[before as usize].next = edge.next,
                }
                self.free_edges.push(at);
                return;
            }
            (before, at) = (at, edge.next);
        }
    }

    /// Makes a node the top of its tree.
    fn evert(&mut self, node: u32) {
        self.expose(node);
        self.nodes[node as usize].is_reversed ^= true;
    }

    /// Makes the way from the top of the tree to a node one path, with the node as the root of its
    /// splay tree.
    fn expose(&mut self, node: u32) {
        let (mut below, mut at) = (NONE, node);
        while at != NONE {
            self.splay(at);
            self.nodes[at as usize].children[1] = below;
            (below, at) = (at, self.nodes[at as usize].parent);
        }
        self.splay(node);
    }

    fn splay(&mut self, node: u32) {
        let mut above = vec![node];
        let mut at = node;
        while !self.is_splay_root(at) {
            at = self.nodes[at as usize].parent;
            above.push(at);
        }
        above.into_iter().rev().for_each(|node| self.push_down(node));
        while !self.is_splay_root(node) {
            let parent = self.nodes[node as usize].parent;
            if !self.is_splay_root(parent) {
                let grandparent = self.nodes[parent as usize].parent;
                let is_straight = self.side(node) == self.side(parent);
                debug_assert_ne!(grandparent, NONE);
                self.rotate(if is_straight { parent } else { node });
            }
            self.rotate(node);
        }
    }

    fn rotate(&mut self, node: u32) {
        #[cfg(test)]
        (self.rotations += 1);
        let parent = self.nodes[node as usize].parent;
        let grandparent = self.nodes[parent as usize].parent;
        let side = self.side(node);
        if !self.is_splay_root(parent) {
            let parents_side = self.side(parent);
            self.nodes[grandparent as usize].children[parents_side] = node;
        }
        let inner = self.nodes[node as usize].children[1 - side];
        self.nodes[parent as usize].children[side] = inner;
        if inner != NONE {
            self.nodes[inner as usize].parent = parent;
        }
        self.nodes[node as usize].children[1 - side] = parent;
        self.nodes[parent as usize].parent = node;
        self.nodes[node as usize].parent = grandparent;
    }

    fn side(&self, node: u32) -> usize {
        let parent = self.nodes[node as usize].parent;
        usize::from(self.nodes[parent as usize].children[1] == node)
    }

    fn is_splay_root(&self, node: u32) -> bool {
        match self.nodes[node as usize].parent {
            NONE => true,
            parent => !self.nodes[parent as usize].children.contains(&node),
        }
    }

    fn push_down(&mut self, node: u32) {
        if !std::mem::take(&mut self.nodes[node as usize].is_reversed) {
            return;
        }
        let children = &mut self.nodes[node as usize].children;
        children.swap(0, 1);
        for child in (*children).into_iter().filter(|child| *child != NONE) {
            self.nodes[child as usize].is_reversed ^= true;
        }
    }
}

/// Puts an item in a free place, and returns its number.
fn place<T>(items: &mut Vec<T>, free: &mut Vec<u32>, item: T) -> u32 {
    if let Some(at) = free.pop() {
        items[at as usize] = item;
        return at;
    }
    push(items, item);
    items.len() as u32 - 1
}

/// Grows by a quarter, as there may be millions of items.
pub(super) fn push<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len() / 4 + 4);
    }
    items.push(item);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The nodes that edges connect with a node, from a plain list of edges.
    fn tree_of(edges: &BTreeSet<(u32, u32)>, node: u32) -> BTreeSet<u32> {
        let (mut tree, mut open) = (BTreeSet::from([node]), vec![node]);
        while let Some(next) = open.pop() {
            for (a, b) in edges {
                for (from, to) in [(*a, *b), (*b, *a)] {
                    if from == next && tree.insert(to) {
                        open.push(to);
                    }
                }
            }
        }
        tree
    }

    proptest! {
        #[test]
        fn trees_are_those_of_a_plain_list(
            steps in prop::collection::vec((0_u8..5, 0_usize..30, 0_usize..30), 1..150),
        ) {
            let mut forest = Forest::default();
            let (mut nodes, mut edges) = (Vec::new(), BTreeSet::new());
            for (kind, a, b) in steps {
                if kind == 0 || nodes.len() < 2 {
                    nodes.push(forest.add());
                    continue;
                }
                let (a, b) = (a % nodes.len(), nodes[b % nodes.len()]);
                if kind == 1 {
                    let removed = nodes.swap_remove(a);
                    let is_of = |(x, y): &(u32, u32)| *x == removed || *y == removed;
                    let before = edges.iter().filter(|edge| is_of(edge)).count();
                    edges.retain(|edge| !is_of(edge));
                    prop_assert_eq!(forest.remove(removed).len(), before);
                } else {
                    let a = nodes[a];
                    let are_connected = tree_of(&edges, a).contains(&b);
                    prop_assert_eq!(forest.are_connected(a, b), are_connected);
                    if !are_connected {
                        forest.link(a, b);
                        edges.insert((a, b));
                    }
                }
            }
            for node in &nodes {
                let tree = tree_of(&edges, *node);
                for other in &nodes {
                    prop_assert_eq!(forest.are_connected(*node, *other), tree.contains(other));
                }
                let near = edges.iter().filter(|(a, b)| a == node || b == node).count();
                prop_assert_eq!(forest.neighbours(*node).count(), near);
            }
        }
    }
}
