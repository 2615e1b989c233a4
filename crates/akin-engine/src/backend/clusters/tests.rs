//! Random pairs, removals, replacements and rebuilds against components computed by a plain search.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// The documents and their near-duplicates, as plain sets.
#[derive(Default)]
struct Plain {
    documents: BTreeSet<u32>,
    pairs: BTreeSet<(u32, u32)>,
    /// The ids of documents that replaced another version.
    ids: BTreeMap<u32, u32>,
}

fn version(ordinal: u32, id: u32) -> Version {
    let id = DocumentId::new(format!("{id:08}")).unwrap();
    Version { id, ordinal: Ordinal::from(ordinal) }
}

/// Connects documents that have their ordinals as ids.
fn connect(clusters: &Clusters, a: u32, b: u32) {
    clusters.change(|state| state.connect(&version(a, a), &version(b, b)));
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

    fn version(&self, ordinal: u32) -> Version {
        version(ordinal, self.ids.get(&ordinal).copied().unwrap_or(ordinal))
    }

    /// The connected components of these documents.
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

/// As the engine links a document: with one document of each component, chosen by a number.
fn link(clusters: &Clusters, plain: &Plain, document: Ordinal, chosen: usize) {
    let linking = clusters.linking(document, || true).unwrap();
    if plain.documents.contains(&(document.get() as u32)) {
        let mut near: Vec<Ordinal> =
            plain.neighbours(document.get() as u32).into_iter().map(Ordinal::from).collect();
        let at = chosen % near.len().max(1);
        near.rotate_left(at);
        for other in near {
            let components = clusters.components_of(&[document, other]);
            if components[0].is_none() || components[0] != components[1] {
                let [a, b] = [document, other].map(|of| plain.version(of.get() as u32));
                clusters.change(|state| state.connect(&a, &b));
            }
        }
    }
    linking.done();
}

/// Returns the number of documents looked up.
fn settle(clusters: &Clusters, plain: &Plain) -> usize {
    let mut lookups = 0;
    while let Some(work) = clusters.next_work() {
        match work {
            ClusterWork::Link(documents) => {
                for document in documents {
                    link(clusters, plain, document, document.get() as usize);
                    lookups += 1;
                }
            }
            ClusterWork::Visit(_) => unreachable!("there was nothing at the start"),
        }
    }
    lookups
}

fn check(clusters: &Clusters, plain: &Plain) {
    let components = plain.components(&plain.documents).into_iter();
    let sorted = |component: BTreeSet<u32>| {
        let members: BTreeSet<_> = component.into_iter().map(|of| plain.version(of)).collect();
        members.into_iter().collect::<Vec<_>>()
    };
    let mut expected: Vec<_> = components.map(sorted).filter(|of| of.len() > 1).collect();
    expected.sort();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = clusters.page(after.as_ref(), 2);
        found.extend(page);
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
    for members in &expected {
        let last = members.last().unwrap().ordinal;
        assert_eq!(clusters.members(last).as_ref(), Some(members));
        let representative = clusters.representative(last, |_| true);
        assert_eq!(representative.as_ref(), Some(&members[0].id));
    }
    assert_eq!(clusters.unfinished(9), Unfinished::default());
    let counts = clusters.counts();
    assert_eq!((counts.state, counts.clusters), (ClustersState::Current, expected.len() as u64));
    assert_eq!(counts.documents, expected.iter().map(|of| of.len() as u64).sum::<u64>());
}

proptest! {
    #[test]
    fn clusters_are_the_components_of_the_pairs(
        steps in proptest::collection::vec((0_u8..10, any::<u32>(), any::<u32>()), 1..120),
    ) {
        let clusters = Clusters::new(1 << 20, 1_000, Vec::new());
        let mut plain = Plain::default();
        let mut next = 0;
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
                        link(&clusters, &plain, Ordinal::from(next), random as usize);
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
                    let id = plain.ids.get(&document).copied().unwrap_or(document);
                    plain.ids.insert(next, id);
                    plain.remove(document);
                    plain.documents.insert(next);
                    clusters.replaced(Ordinal::from(document), Ordinal::from(next));
                    next += 1;
                }
                // Some of the background work, which may not come to an end.
                (8 | 9, _) => {
                    if let Some(ClusterWork::Link(documents)) = clusters.next_work() {
                        match kind {
                            8 => link(&clusters, &plain, documents[0], other as usize),
                            _ => drop(clusters.linking(documents[0], || true).unwrap()),
                        }
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
    let clusters = Clusters::new(1_000, 1_000, Vec::new());
    for at in 0..100 {
        connect(&clusters, 2 * at, 2 * at + 1);
    }
    let counts = clusters.counts();
    assert_eq!((counts.state, counts.bytes), (ClustersState::OverLimit, 0));
    clusters.added(std::iter::once(Ordinal::from(7)));
    assert_eq!((clusters.next_work(), clusters.page(None, 2)), (None, (Vec::new(), None)));
}

/// In a crowd each document is linked with a random earlier document. Removals of the documents
/// with the most edges, and of the first documents, cost a few lookups each, however large the
/// crowd.
#[test]
fn removing_hubs_costs_few_lookups() {
    for size in [500_u32, 4_000] {
        let clusters = Clusters::new(1 << 30, 1_000, Vec::new());
        let random = |of: u32| (of.wrapping_mul(0x9e37_79b1) >> 7) as usize;
        let mut left: Vec<u32> = (0..size).collect();
        for of in 1..size {
            let other = random(of) as u32 % of;
            connect(&clusters, of, other);
        }
        let mut lookups = 0;
        for step in 0..400 {
            let edges = |of: &u32| {
                let edges = |state: &State| {
                    state.forest.neighbours(state.node(Ordinal::from(*of)).unwrap()).count()
                };
                clusters.read(edges).unwrap()
            };
            let hub = (0..left.len()).max_by_key(|at| edges(&left[*at])).unwrap();
            let removed = left.remove(if step % 2 == 0 { hub } else { 0 });
            clusters.removed(Ordinal::from(removed));
            while let Some(ClusterWork::Link(documents)) = clusters.next_work() {
                for document in documents {
                    lookups += 1;
                    let linking = clusters.linking(document, || true).unwrap();
                    // As a lookup finds some of a crowd.
                    for at in 0..16 {
                        let other = left[(random(lookups * 16 + at)) % left.len()];
                        connect(&clusters, document.get() as u32, other);
                    }
                    linking.done();
                }
            }
            let size = clusters.members(Ordinal::from(left[0])).unwrap().len();
            assert_eq!((size, clusters.unfinished(0).documents), (left.len(), 0));
        }
        assert!(lookups < 400 * 16, "{lookups} lookups for 400 removals among {size}");
    }
}

/// Two crowds that one document alone connects.
#[test]
fn a_part_without_other_pairs_becomes_a_cluster() {
    let clusters = Clusters::new(1 << 20, 1_000, Vec::new());
    let of = Ordinal::from;
    for (from, to) in [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (7, 3), (7, 4)] {
        connect(&clusters, from, to);
    }
    clusters.removed(of(7));
    assert_eq!(clusters.page(None, 2).0.len(), 1, "it stays one until it is known to be two");
    assert_eq!(clusters.unfinished(3).documents, 7);
    let mut looked_up = BTreeSet::new();
    while let Some(ClusterWork::Link(documents)) = clusters.next_work() {
        looked_up.extend(documents.iter().copied());
        for document in documents {
            clusters.linking(document, || true).unwrap().done();
        }
    }
    assert!([4, 5, 6].iter().all(|document| looked_up.contains(&of(*document))));
    let (found, _) = clusters.page(None, 2);
    let found: Vec<_> = found.iter().map(|of| (of[0].ordinal, of.len())).collect();
    assert_eq!(found, [(of(0), 4), (of(4), 3)]);
    assert_eq!(clusters.unfinished(9), Unfinished::default());
}

#[test]
fn a_replaced_document_keeps_its_place() {
    let clusters = Clusters::new(1 << 20, 1_000, Vec::new());
    let of = Ordinal::from;
    connect(&clusters, 0, 1);
    clusters.replaced(of(0), of(9));
    let members = vec![version(9, 0), version(1, 1)];
    assert_eq!(clusters.members(of(1)), Some(members.clone()));
    assert_eq!(clusters.page(None, 2), (vec![members], None));
    // Another document found the new version before the replacement was applied here.
    clusters.change(|state| state.connect(&version(1, 1), &version(12, 0)));
    clusters.replaced(of(9), of(12));
    while let Some(ClusterWork::Link(documents)) = clusters.next_work() {
        for document in documents {
            clusters.linking(document, || true).unwrap().done();
        }
    }
    assert_eq!(clusters.members(of(1)), Some(vec![version(12, 0), version(1, 1)]));
    assert_eq!(clusters.representative(of(1), |shown| shown != of(12)), Some(version(1, 1).id));
}

#[test]
fn a_limit_is_forgotten_with_its_document() {
    let clusters = Clusters::new(1 << 20, 1_000, Vec::new());
    let of = Ordinal::from;
    assert!(clusters.note_cut(of(1), Some(of(7))));
    assert!(!clusters.note_cut(of(2), Some(of(7))), "the first is logged");
    clusters.note_cut(of(1), None);
    let unfinished = clusters.unfinished(9);
    assert_eq!((unfinished.documents, unfinished.named), (1, vec![of(2)]));
    assert_eq!(unfinished.example, Some((of(2), of(7))));
    clusters.replaced(of(2), of(3));
    clusters.removed(of(3));
    assert_eq!(clusters.unfinished(9), Unfinished::default());
}

/// Documents that were cut off by a limit are looked up again once as many documents came or went.
#[test]
fn documents_at_a_limit_are_looked_up_again() {
    let clusters = Clusters::new(1 << 20, 1_000, Vec::new());
    let of = Ordinal::from;
    for document in [1, 2, 3] {
        clusters.note_cut(of(document), Some(of(9)));
    }
    for removed in [10, 11] {
        clusters.removed(of(removed));
        assert_eq!(clusters.next_work(), None);
    }
    clusters.removed(of(12));
    assert_eq!(clusters.next_work(), Some(ClusterWork::Link(vec![of(1), of(2), of(3)])));
    for document in [1, 2, 3] {
        let linking = clusters.linking(of(document), || true).unwrap();
        clusters.note_cut(of(document), None);
        linking.done();
    }
    assert_eq!((clusters.next_work(), clusters.unfinished(9).documents), (None, 0));
}

#[test]
fn a_clustered_document_takes_some_bytes() {
    let clusters = Clusters::new(1 << 30, 1_000, Vec::new());
    let mut each = Vec::new();
    for of in 1..=40_000_u32 {
        let other = of.wrapping_mul(0x9e37_79b1) % of;
        connect(&clusters, of, other);
        if of >= 20_000 && of % 1_000 == 0 {
            each.push(clusters.counts().bytes as f64 / f64::from(of));
        }
    }
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    assert!((90.0..150.0).contains(&mean), "{mean} bytes");
}

/// Whichever of two clusters has the lower id, the notes of their merger are no more than the
/// smaller cluster has documents; and of a document with the lowest id there is a note of the
/// whole.
#[test]
fn the_notes_of_a_merger_are_no_more_than_the_smaller_cluster() {
    for (small, large) in [(0, 100), (1_000, 100)] {
        let clusters = Clusters::new(1 << 20, 10_000, Vec::new());
        for (first, size) in [(small, 5), (large, 500)] {
            (first + 1..first + size).for_each(|of| connect(&clusters, of, of - 1));
        }
        let notes = |clusters: &Clusters| clusters.read(|state| state.notes.end().notes).unwrap();
        let before = notes(&clusters);
        connect(&clusters, small, large);
        assert!(notes(&clusters) - before <= 5, "{}", notes(&clusters) - before);
        let noted = clusters.notes_after(before, u64::MAX, 100).unwrap().0;
        let is_whole = matches!(noted[..], [ClusterNote::Cluster(_)]);
        assert_eq!(is_whole, small < large, "{noted:?}");
    }
}

#[test]
fn a_reader_that_missed_notes_is_told_so() {
    let clusters = Clusters::new(1 << 20, 10, Vec::new());
    (1..20).for_each(|of| connect(&clusters, of, of - 1));
    let end = clusters.read(|state| state.notes.end().notes).unwrap();
    assert_eq!(clusters.notes_after(end - 10, end, 100).unwrap().1, end);
    assert_eq!(clusters.notes_after(end - 11, end, 100), None);
}
