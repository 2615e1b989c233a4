mod crowds;
mod growth;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::document::DocumentId;
use crate::measure::Overlap;
use crate::scheme::{Bands, SchemeSettings};
use crate::sketch::{SketchSettings, Sketcher};
use crate::text::ShingleSet;

/// Sets in memory, by number.
struct InMemory {
    corpus: Corpus,
    sets: Vec<ShingleSet>,
    reads: usize,
    read: BTreeSet<u32>,
}

impl Sets for InMemory {
    type Error = Infallible;

    fn count(&self) -> u32 {
        self.corpus.count()
    }

    fn shingles(&self, number: u32) -> usize {
        self.corpus.shingles(number)
    }

    fn sketch(&mut self, number: u32) -> Result<&[u8], Infallible> {
        Ok(self.corpus.sketch(number))
    }

    fn set(&mut self, number: u32) -> Result<ShingleSet, Infallible> {
        self.reads += 1;
        self.read.insert(number);
        Ok(self.sets[number as usize].clone())
    }
}

struct TestCorpus {
    documents: Documents,
    sets: InMemory,
}

/// Builds the corpus of documents (id, set), pushed in this order.
fn gathered(documents: &[(String, ShingleSet)]) -> TestCorpus {
    let mut builder = CorpusBuilder::new(SketchSettings::default().sketch_bytes());
    for (tag, (id, set)) in (0..).zip(documents) {
        let (sketch, id) = (SKETCHER.sketch(set), DocumentId::new(id.as_str()).unwrap());
        let shingles = set.count() as u32;
        builder.push((id, tag), set.fingerprint(), shingles, sketch.as_bytes());
    }
    let (corpus, behind) = builder.finish();
    let set = |number| documents[behind.of(number)[0].1 as usize].1.clone();
    let sets = (0..corpus.count()).map(set).collect();
    TestCorpus {
        documents: behind,
        sets: InMemory { corpus, sets, reads: 0, read: BTreeSet::new() },
    }
}

#[derive(Clone, Copy, Debug)]
enum By {
    Keys(PairScoring),
    Prefix,
}

const ALL: [By; 3] =
    [By::Keys(PairScoring::Verified), By::Keys(PairScoring::Estimated), By::Prefix];

static BANDS: LazyLock<Bands> =
    LazyLock::new(|| Bands::new(&SchemeSettings::default(), &SketchSettings::default()));

static SKETCHER: LazyLock<Sketcher> = LazyLock::new(|| Sketcher::new(SketchSettings::default()));

fn estimator() -> Estimator {
    Estimator::new(&SketchSettings::default())
}

fn keys(threshold: Threshold) -> Keys<impl Fn(&[u8], u32) -> Option<u32>> {
    let plan = BANDS.plan(threshold);
    Keys {
        tables: plan.bands,
        value: |sketch: &[u8], table| Some(BANDS.value(sketch, table)),
        agreeing_min: plan.agreeing_min,
        crowds_from: threshold,
    }
}

fn join(by: By, sets: &mut InMemory, threshold: f64) -> Join<'static> {
    let judged = (estimator(), Threshold::new(threshold).unwrap());
    let progress = JoinProgress::default();
    match by {
        By::Prefix => Join::exact(judged, sets, &progress).unwrap(),
        By::Keys(scoring) => {
            Join::by_keys(keys(judged.1), judged, scoring, sets, &progress).unwrap()
        }
    }
}

fn pairs(by: By, sets: &mut InMemory, threshold: f64) -> Vec<Pair> {
    let join = join(by, sets, threshold);
    let mut pairs = Vec::new();
    let visit = |pair| {
        pairs.push(pair);
        ControlFlow::Continue(())
    };
    join.pairs(sets, &JoinProgress::default(), visit).unwrap();
    pairs
}

fn clusters(by: By, linkage: Linkage, sets: &mut InMemory, threshold: f64) -> Vec<u32> {
    let join = join(by, sets, threshold);
    join.clusters(linkage, sets, &JoinProgress::default()).unwrap()
}

fn brute_force(sets: &[ShingleSet], threshold: f64) -> Vec<(u32, u32, Overlap)> {
    let numbers = 0..sets.len() as u32;
    let all = numbers.clone().flat_map(|a| (a + 1..numbers.end).map(move |b| (a, b)));
    let overlap = |(a, b): (u32, u32)| {
        let overlap = Overlap::of(&sets[a as usize], &sets[b as usize]);
        (overlap.resemblance() >= threshold).then_some((a, b, overlap))
    };
    all.filter_map(overlap).collect()
}

fn set(shingles: impl IntoIterator<Item = u64>) -> ShingleSet {
    ShingleSet::from_shingles(shingles.into_iter().collect()).unwrap()
}

/// Ids are numbers that are not in byte order.
fn named(sets: impl IntoIterator<Item = ShingleSet>) -> Vec<(String, ShingleSet)> {
    (0..).zip(sets).map(|(n, set): (u32, _)| (format!("d{n}"), set)).collect()
}

/// Sets with all degrees of overlap: ranges of numbers with a few extra elements.
fn overlapping() -> impl Strategy<Value = Vec<(String, ShingleSet)>> {
    let stretch = (0..8_u64, 1..40_u64, btree_set(0..60_u64, 0..4));
    let shingles = |(from, len, own): (u64, u64, _)| {
        set((from..from + len).chain(own).map(|shingle| shingle * 65_536))
    };
    vec(stretch.prop_map(shingles), 1..40).prop_map(named)
}

/// Documents made from a few templates: some elements left out, and some of their own. Enough sets
/// for crowds, with pairs and without.
fn made_from_templates() -> impl Strategy<Value = Vec<(String, ShingleSet)>> {
    let document = (0..2_u64, btree_set(0..40_u64, 0..8), 0..20_u64, 0..1_000_u64);
    let shingles = |(template, left_out, own, from): (u64, BTreeSet<u64>, u64, u64)| {
        let kept = (0..40).filter(move |element| !left_out.contains(element));
        let template = kept.map(move |element| template * 1_000 + element);
        set(template.chain((from..from + own).map(|own| 10_000 + own)))
    };
    vec(document.prop_map(shingles), 1..60).prop_map(named)
}

fn corpora() -> impl Strategy<Value = Vec<(String, ShingleSet)>> {
    prop_oneof![overlapping(), made_from_templates()]
}

fn thresholds() -> impl Strategy<Value = f64> {
    prop_oneof![0.01..=1.0_f64, Just(0.5), Just(0.8), Just(1.0)]
}

/// Few thresholds, so that each is planned once.
fn planned() -> impl Strategy<Value = f64> {
    (3..=10_u32).prop_map(|tenths| f64::from(tenths) / 10.0)
}

proptest! {
    #[test]
    fn exact_pairs_equal_brute_force(
        documents in corpora(),
        threshold in thresholds(),
    ) {
        let TestCorpus { mut sets, .. } = gathered(&documents);
        let expected = brute_force(&sets.sets, threshold);
        let mut found: Vec<_> = pairs(By::Prefix, &mut sets, threshold)
            .iter()
            .map(|pair| (pair.a, pair.b, pair.overlap.unwrap()))
            .collect();
        found.sort_unstable_by_key(|(a, b, _)| (*a, *b));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn joins_by_keys_read_only_the_sets_to_read(
        documents in corpora(),
        threshold in planned(),
        memory in prop_oneof![Just(1), Just(usize::MAX)],
    ) {
        let TestCorpus { mut sets, .. } = gathered(&documents);
        let judged = (estimator(), Threshold::new(threshold).unwrap());
        for scoring in [PairScoring::Verified, PairScoring::Estimated] {
            let (keys, progress) = (keys(judged.1), JoinProgress::default());
            sets.read.clear();
            let is_read =
                Join::sets_to_read(keys, judged, scoring, (&mut sets, memory), &progress).unwrap();
            prop_assert!(sets.read.is_empty());
            let found = pairs(By::Keys(scoring), &mut sets, threshold);
            for linkage in [Linkage::Single, Linkage::Representative] {
                clusters(By::Keys(scoring), linkage, &mut sets, threshold);
            }
            prop_assert!(sets.read.iter().all(|set| is_read[*set as usize]));
            // The similarity of each pair may be computed afterwards.
            prop_assert!(found.iter().all(|it| is_read[it.a as usize] && is_read[it.b as usize]));
        }
    }

    #[test]
    fn pairs_by_keys_are_true_and_come_once(
        documents in corpora(),
        threshold in planned(),
    ) {
        let TestCorpus { mut sets, .. } = gathered(&documents);
        let expected = brute_force(&sets.sets, threshold);
        for scoring in [PairScoring::Verified, PairScoring::Estimated] {
            let found = pairs(By::Keys(scoring), &mut sets, threshold);
            let once: BTreeMap<_, _> = found.iter().map(|pair| ((pair.a, pair.b), pair)).collect();
            prop_assert_eq!(once.len(), found.len());
            for pair in &found {
                prop_assert!(pair.a < pair.b);
                let estimate = estimator().estimate(pair.agreeing).value;
                match pair.overlap {
                    Some(overlap) => prop_assert!(expected.contains(&(pair.a, pair.b, overlap))),
                    None => prop_assert!(estimate >= threshold),
                }
                prop_assert_eq!(pair.overlap.is_some(), scoring == PairScoring::Verified);
            }
        }
    }

    /// Skipped comparisons do not change the clusters, and neither does reading in parts.
    #[test]
    fn clusters_are_the_components_of_the_pairs(
        documents in corpora(),
        threshold in planned(),
        memory in prop_oneof![Just(usize::MAX), 0..20_000_usize],
    ) {
        let TestCorpus { mut sets, .. } = gathered(&documents);
        for by in ALL {
            let pairs = pairs(by, &mut sets, threshold);
            let joined = |a, b| pairs.iter().any(|pair| (pair.a, pair.b) == (a, b));
            let count = sets.count();
            let mut single: Vec<u32> = (0..count).collect();
            for pair in &pairs {
                let (a, b) = (single[pair.a as usize], single[pair.b as usize]);
                for root in single.iter_mut().filter(|root| **root == a.max(b)) {
                    *root = a.min(b);
                }
            }
            let mut clusters = |linkage| {
                let join = join(by, &mut sets, threshold).within(memory);
                join.clusters(linkage, &mut sets, &JoinProgress::default()).unwrap()
            };
            prop_assert_eq!(clusters(Linkage::Single), single);

            let mut greedy: Vec<u32> = Vec::new();
            for number in 0..count {
                let represents = |&a: &u32| greedy[a as usize] == a && joined(a, number);
                let representative = (0..number).find(represents).unwrap_or(number);
                greedy.push(representative);
            }
            prop_assert_eq!(clusters(Linkage::Representative), greedy);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_arrival_changes_nothing(documents in corpora(), turn in 0..40_usize) {
        let mut turned = documents.clone();
        turned.rotate_left(turn % documents.len());
        let mut reversed = documents.clone();
        reversed.reverse();
        let reported = |documents: &[(String, ShingleSet)], by| {
            let TestCorpus { documents, mut sets } = gathered(documents);
            let ids = |number| -> Vec<_> {
                documents.of(number).iter().map(|(id, _)| id.clone()).collect()
            };
            let pairs = pairs(by, &mut sets, 0.5);
            let pairs: Vec<_> = pairs.iter().map(|p| (ids(p.a), ids(p.b), p.overlap)).collect();
            let of = |linkage| clusters(by, linkage, &mut sets.again(), 0.5);
            (pairs, of(Linkage::Single), of(Linkage::Representative))
        };
        for by in ALL {
            let first = reported(&documents, by);
            prop_assert_eq!(&first, &reported(&turned, by));
            prop_assert_eq!(&first, &reported(&reversed, by));
        }
    }
}

impl InMemory {
    fn again(&self) -> Self {
        Self {
            corpus: self.corpus.clone(),
            sets: self.sets.clone(),
            reads: 0,
            read: BTreeSet::new(),
        }
    }
}
