//! Random pairs, removals, replacements and rebuilds against components computed anew.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// The documents that there are, and who resembles whom.
#[derive(Default)]
struct Plain {
    documents: BTreeSet<u32>,
    pairs: BTreeSet<(u32, u32)>,
}

impl Plain {
    fn neighbours(&self, of: u32) -> Vec<u32> {
        let other = |&(a, b): &(u32, u32)| match of {
            _ if a == of => Some(b),
            _ if b == of => Some(a),
            _ => None,
        };
        self.pairs.iter().filter_map(other).collect()
    }

    /// Those of several documents among some.
    fn components(&self, among: &BTreeSet<u32>) -> Vec<BTreeSet<u32>> {
        let (mut left, mut all) = (among.clone(), Vec::new());
        while let Some(first) = left.pop_first() {
            let (mut component, mut open) = (BTreeSet::from([first]), vec![first]);
            while let Some(next) = open.pop() {
                for other in self.neighbours(next) {
                    if left.remove(&other) {
                        component.insert(other);
                        open.push(other);
                    }
                }
            }
            all.push(component);
        }
        all
    }

    fn remove(&mut self, document: u32) {
        self.documents.remove(&document);
        self.pairs.retain(|(a, b)| *a != document && *b != document);
    }
}

/// As the engine links a document.
fn link(clusters: &Clusters, plain: &Plain, document: Ordinal) {
    let linking = clusters.linking(document);
    for other in plain.neighbours(document.get() as u32) {
        clusters.change(|state| state.connect(document, Ordinal::from(other)));
    }
    linking.done();
}

/// As the engine computes the groups of a cluster, of the documents that there are.
fn groups(plain: &Plain, members: &[Ordinal]) -> Vec<Vec<Ordinal>> {
    let among = members.iter().map(|of| of.get() as u32).collect();
    let ordinals = |of: &BTreeSet<u32>| of.iter().map(|of| Ordinal::from(*of)).collect();
    plain.components(&among).iter().map(ordinals).collect()
}

fn settle(clusters: &Clusters, plain: &Plain) {
    while let Some(work) = clusters.next_work() {
        match work {
            ClusterWork::Link(documents) => {
                for document in documents {
                    link(clusters, plain, document);
                }
            }
            ClusterWork::Rebuild(members) => clusters.rebuilt(groups(plain, &members)),
            ClusterWork::Visit(_) => unreachable!("there was nothing at the start"),
        }
    }
}

fn check(clusters: &Clusters, plain: &Plain) {
    let expected: BTreeMap<u32, BTreeSet<u32>> = plain
        .components(&plain.documents)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| (*component.first().unwrap(), component))
        .collect();
    let (mut found, mut after) = (BTreeMap::new(), None);
    loop {
        let (page, next) = clusters.page(after, 2, 3);
        for entry in page {
            let (same, members, more) = clusters.cluster(entry.oldest, None, 1_000).unwrap();
            assert!(same == entry && !more && !entry.is_stale && members.len() == entry.size);
            let members = members.into_iter().map(|of| of.get() as u32).collect();
            assert!(found.insert(entry.oldest.get() as u32, members).is_none());
        }
        let Some(next) = next else { break };
        after = Some(next);
    }
    assert_eq!(found, expected);
    let counts = clusters.counts();
    assert_eq!((counts.state, counts.clusters), (ClustersState::Current, expected.len() as u64));
    assert_eq!(counts.documents, expected.values().map(|of| of.len() as u64).sum::<u64>());
}

proptest! {
    #[test]
    fn clusters_are_the_components_of_the_pairs(
        steps in proptest::collection::vec((0_u8..10, any::<u32>(), any::<u32>()), 1..120),
    ) {
        let clusters = Clusters::new(1 << 20, Vec::new());
        let mut plain = Plain::default();
        let (mut next, mut rebuilding) = (0, None);
        for (kind, random, other) in steps {
            let some = plain.documents.iter().copied().nth(random as usize % 12);
            match (kind, some) {
                // An addition, linked at once or later, with up to three near-duplicates.
                (0..5, _) => {
                    let near = (0..other % 4).filter_map(|at| {
                        let at = (random.rotate_left(at * 7) % 12) as usize;
                        plain.documents.iter().copied().nth_back(at)
                    });
                    let pairs: Vec<_> = near.map(|of| (of, next)).collect();
                    plain.pairs.extend(pairs);
                    plain.documents.insert(next);
                    clusters.added(std::iter::once(Ordinal::from(next)));
                    if kind < 4 {
                        link(&clusters, &plain, Ordinal::from(next));
                    }
                    next += 1;
                }
                (5 | 6, Some(document)) => {
                    plain.remove(document);
                    clusters.removed(Ordinal::from(document));
                }
                // Another document with an equal set in its place.
                (7, Some(document)) => {
                    for near in plain.neighbours(document) {
                        plain.pairs.insert((near, next));
                    }
                    plain.remove(document);
                    plain.documents.insert(next);
                    clusters.replaced(Ordinal::from(document), Ordinal::from(next));
                    next += 1;
                }
                // A rebuild whose outcome comes later, when others have come and gone.
                (8, _) => {
                    let members = clusters.change(State::take_stale).flatten();
                    rebuilding = members.map(|members| groups(&plain, &members));
                }
                (9, _) => {
                    if let Some(groups) = rebuilding.take() {
                        clusters.rebuilt(groups);
                    }
                }
                _ => {}
            }
        }
        settle(&clusters, &plain);
        check(&clusters, &plain);
    }
}

#[test]
fn over_the_limit_they_are_dropped() {
    let clusters = Clusters::new(1_000, Vec::new());
    for at in 0..100 {
        clusters.change(|state| state.connect(Ordinal::from(2 * at), Ordinal::from(2 * at + 1)));
    }
    let counts = clusters.counts();
    assert_eq!((counts.state, counts.bytes), (ClustersState::OverLimit, 0));
    clusters.added(std::iter::once(Ordinal::from(7)));
    assert_eq!((clusters.next_work(), clusters.page(None, 2, 9)), (None, (Vec::new(), None)));
}
