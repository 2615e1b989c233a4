//! Equal sets, crowds of near-copies, chains; and cancellation.

use std::ops::ControlFlow;

use super::{ALL, By, TestCorpus, clusters, gathered, join, named, set};
use crate::document::DocumentId;
use crate::join::{JoinError, JoinProgress, Linkage, Sets, cluster_name};
use crate::measure::Overlap;
use crate::text::ShingleSet;

#[test]
fn documents_with_equal_sets_are_one_set() {
    let documents = [("b", 1..9), ("a", 5..20), ("d", 1..9), ("c", 5..20), ("e", 0..3)];
    let documents = documents.map(|(id, range)| (id.to_owned(), set(range)));
    let TestCorpus { sets, documents } = gathered(&documents);
    assert_eq!((sets.count(), documents.count()), (3, 5));
    let sizes: Vec<_> = (0..3).map(|number| sets.shingles(number)).collect();
    assert_eq!(sizes, [15, 8, 3]);
    let ids =
        |number| -> String { documents.of(number).iter().map(|(id, _)| id.as_str()).collect() };
    assert_eq!([ids(0), ids(1), ids(2)], ["ac", "bd", "e"]);
}

/// n copies of a template, each with a number of its own: n² / 2 pairs.
fn template(copies: u64) -> Vec<(String, ShingleSet)> {
    named((0..copies).map(|copy| set((0..60).chain([1_000 + copy]))))
}

#[test]
fn near_copies_do_not_cost_quadratic_time() {
    const COPIES: usize = 3_000;
    let TestCorpus { mut sets, .. } = gathered(&template(COPIES as u64));
    for by in ALL {
        for linkage in [Linkage::Single, Linkage::Representative] {
            sets.reads = 0;
            let representatives = clusters(by, linkage, &mut sets, 0.9);
            // With bands, some copies may be found only through other copies.
            let with_first = representatives.iter().filter(|first| **first == 0).count();
            assert!(with_first > COPIES * 99 / 100, "{by:?} {linkage:?}: {with_first}");
            assert!(sets.reads < 6 * COPIES, "{by:?} {linkage:?}: {} sets read", sets.reads);
        }
    }
}

#[test]
fn a_visitor_can_stop_the_join() {
    let TestCorpus { mut sets, .. } = gathered(&template(200));
    for by in ALL {
        let join = join(by, &mut sets, 0.9);
        let mut seen = 0;
        let outcome = join.pairs(&mut sets, &JoinProgress::default(), |_| {
            seen += 1;
            if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(outcome, Err(JoinError::Stopped(_))));
        assert_eq!(seen, 3);

        let progress = JoinProgress::default();
        progress.stop();
        sets.reads = 0;
        let outcome = join.clusters(Linkage::Single, &mut sets, &progress);
        assert!(matches!(outcome, Err(JoinError::Stopped(_))));
        assert!(sets.reads <= 2);
    }
}

#[test]
fn clusters_of_representatives_do_not_chain() {
    // Neighbours share 18 of 22 elements, and sets three apart less than half.
    let chain = (0..10).map(|link| set(link * 2..link * 2 + 20));
    let TestCorpus { mut sets, .. } = gathered(&named(chain));
    let single = clusters(By::Prefix, Linkage::Single, &mut sets, 0.8);
    assert_eq!(single, [0; 10]);
    let represented = clusters(By::Prefix, Linkage::Representative, &mut sets, 0.8);
    assert_eq!(represented, [0, 0, 2, 2, 4, 4, 6, 6, 8, 8]);
    let sets = &sets.sets;
    for (member, representative) in (0..).zip(represented) {
        let overlap = Overlap::of(&sets[member], &sets[representative as usize]);
        assert!(overlap.resemblance() >= 0.8);
    }
}

#[test]
fn a_refused_set_closes_the_block() {
    // The last set is near the second set only.
    let stretches = [6..28, 0..10, 0..25, 0..4].map(set);
    let TestCorpus { mut sets, .. } = gathered(&named(stretches));
    for memory in (0..1_000).step_by(10) {
        let join = join(By::Prefix, &mut sets, 0.3).within(memory);
        let represented =
            join.clusters(Linkage::Representative, &mut sets, &JoinProgress::default());
        assert_eq!(represented.unwrap(), [0, 1, 0, 1], "{memory} bytes");
    }
}

#[test]
fn names_of_clusters_are_stable() {
    let name = |id| cluster_name(&DocumentId::new(id).unwrap());
    assert_eq!(name("a"), "e6c632b61e964e1f");
    assert_ne!(name("a"), name("b"));
}
