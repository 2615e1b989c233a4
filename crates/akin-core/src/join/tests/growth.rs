//! The steps of a join grow linearly with the number of documents of a template.

use super::*;

/// The resemblance of two documents: half, and up to nearly the same.
const LEVELS: [f64; 5] = [0.5, 0.57, 0.7, 0.85, 0.95];

/// Elements of a document.
const SIZE: u64 = 100;

/// The maximum factor of the steps for each document when the number of documents doubles.
const GROWTH_MAX: f64 = 1.3;

/// Documents that share a template's elements, and have `own(n)` elements of their own.
fn of_template(count: u64, shared: u64, own: impl Fn(u64) -> u64) -> InMemory {
    let document = |n: u64| set((0..shared).chain((0..own(n)).map(|own| (n + 1) * 1_000 + own)));
    gathered(&named((0..count).map(document))).sets
}

/// Documents each two of which have this resemblance.
fn resembling(count: u64, resemblance: f64) -> InMemory {
    let shared = (2.0 * resemblance / (1.0 + resemblance) * SIZE as f64).round() as u64;
    of_template(count, shared, |_| SIZE - shared)
}

fn all_steps(steps: Steps) -> f64 {
    (steps.visited + steps.compared + steps.verified) as f64
}

/// The steps of listing pairs for each pair, or for each document where there are fewer.
fn steps_of_pairs(by: By, sets: &mut InMemory) -> f64 {
    let (join, mut pairs) = (join(by, sets, 0.8), 0);
    let count = |_| {
        pairs += 1;
        ControlFlow::Continue(())
    };
    join.pairs(sets, &JoinProgress::default(), count).unwrap();
    assert_eq!(join.left_out(), LeftOut::default());
    all_steps(join.steps()) / f64::from(sets.count().max(pairs))
}

/// The steps of clustering for each document.
fn steps_of_clusters(by: By, linkage: Linkage, sets: &mut InMemory) -> f64 {
    let join = join(by, sets, 0.8);
    join.clusters(linkage, sets, &JoinProgress::default()).unwrap();
    assert_eq!(join.left_out(), LeftOut::default());
    all_steps(join.steps()) / f64::from(sets.count())
}

fn assert_growth(few: f64, many: f64, what: &str) {
    // Two steps for each are as good as none.
    assert!(many <= (few * GROWTH_MAX).max(2.0), "{what}: {few} and then {many} for each");
}

#[test]
fn pairs_of_a_template_take_constant_steps_each() {
    for level in LEVELS {
        let (mut few, mut many) = (resembling(150, level), resembling(300, level));
        for by in ALL {
            let [few, many] = [&mut few, &mut many].map(|sets| steps_of_pairs(by, sets));
            assert_growth(few, many, &format!("{level} {by:?}"));
        }
    }
}

#[test]
fn clusters_of_a_template_take_constant_steps_each() {
    for level in LEVELS {
        let (mut few, mut many) = (resembling(500, level), resembling(1_000, level));
        for (by, linkage) in ALL.into_iter().flat_map(with_each_linkage) {
            let steps = |sets| steps_of_clusters(by, linkage, sets);
            let [few, many] = [&mut few, &mut many].map(steps);
            assert_growth(few, many, &format!("{level} {by:?} {linkage:?}"));
        }
    }
}

/// Documents with different shares of own words: some are pairs, the rest are not.
#[test]
fn clusters_of_unlike_shares_take_constant_steps() {
    let mixed = |count| of_template(count, 80, |n| 2 + n * 7 % 29);
    let (mut few, mut many) = (mixed(500), mixed(1_000));
    for (by, linkage) in ALL.into_iter().flat_map(with_each_linkage) {
        let steps = |sets| steps_of_clusters(by, linkage, sets);
        let [few, many] = [&mut few, &mut many].map(steps);
        assert_growth(few, many, &format!("{by:?} {linkage:?}"));
    }
}

fn with_each_linkage(by: By) -> [(By, Linkage); 2] {
    [Linkage::Single, Linkage::Representative].map(|linkage| (by, linkage))
}

/// Documents of a common vocabulary without own words, just below the threshold.
fn of_vocabulary(count: u64) -> InMemory {
    let kept = |n: u64, element: u64| {
        let mixed = (n * 120 + element + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32 & 127 > 22
    };
    let document = |n: u64| set((0..120).filter(move |element| kept(n, *element)));
    gathered(&named((0..count).map(document))).sets
}

#[test]
fn unsuccessful_comparisons_are_bounded_and_reported() {
    let mut sets = of_vocabulary(300);
    let by = By::Keys(PairScoring::Verified);
    let bounded = |sets: &mut InMemory, memory| {
        let mut join = join(by, sets, 0.8).within(memory);
        join.check.effort.bound(100);
        join
    };
    let join = bounded(&mut sets, usize::MAX);
    let mut found = Vec::new();
    let visit = |pair: Pair| {
        found.push((pair.a, pair.b));
        ControlFlow::Continue(())
    };
    join.pairs(&mut sets, &JoinProgress::default(), visit).unwrap();
    let LeftOut { sets: left_out, named, example } = join.left_out();
    assert!(left_out > 100 && example.is_some(), "{left_out} {example:?}");
    assert_eq!(named.len(), LeftOut::NAMED_MAX);
    assert!(join.steps().verified < 300 * 100, "{:?}", join.steps());
    let expected = brute_force(&sets.sets, 0.8);
    assert!(found.iter().all(|pair| expected.iter().any(|(a, b, _)| (*a, *b) == *pair)));

    for linkage in [Linkage::Single, Linkage::Representative] {
        let mut outcome = |memory| {
            let join = bounded(&mut sets, memory);
            let clusters = join.clusters(linkage, &mut sets, &JoinProgress::default()).unwrap();
            (clusters, join.left_out())
        };
        let all = outcome(usize::MAX);
        assert!(all.1.sets > 100, "{linkage:?}: {:?}", all.1);
        for memory in [0, 10_000, 100_000] {
            assert_eq!(outcome(memory), all, "{linkage:?} within {memory}");
        }
    }
}

#[test]
fn an_exact_join_compares_without_bound() {
    let mut sets = of_vocabulary(200);
    let expected = brute_force(&sets.sets, 0.8);
    assert_eq!(pairs(By::Prefix, &mut sets, 0.8).len(), expected.len());
}
