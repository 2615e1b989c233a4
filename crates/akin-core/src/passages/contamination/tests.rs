use std::collections::{BTreeSet, HashMap};

use super::super::tests::Numbers;
use super::*;

/// The hashes of words with small numbers as names.
fn words(numbers: &[u32]) -> Vec<u64> {
    numbers.iter().map(|number| crate::text::finalise(u64::from(*number) + 1)).collect()
}

fn random_words(random: &mut Numbers, count: usize, vocabulary: usize) -> Vec<u32> {
    (0..count).map(|_| random.below(vocabulary) as u32).collect()
}

fn set(texts: &[Vec<u32>], gram: usize) -> EvaluationSet {
    let mut builder = EvaluationSetBuilder::new(gram).unwrap();
    for (number, text) in (0..).zip(texts) {
        assert_eq!(builder.add(&words(text)), number);
    }
    builder.build()
}

#[test]
fn scans_find_the_grams_that_brute_force_finds() {
    let mut random = Numbers(4);
    let mut covered = 0;
    for round in 0..200 {
        let (gram, vocabulary) = (1 + random.below(6), [1, 2, 4, 30][round % 4]);
        let texts: Vec<Vec<u32>> = (0..random.below(8))
            .map(|_| {
                let count = random.below(40);
                random_words(&mut random, count, vocabulary)
            })
            .collect();
        let set = set(&texts, gram);
        let too_short = texts.iter().filter(|text| text.len() < gram).count();
        assert_eq!((set.size().texts, set.size().too_short), (texts.len(), too_short));
        let mut grams: HashMap<&[u32], BTreeSet<u32>> = HashMap::new();
        for (number, text) in (0..).zip(&texts) {
            for window in text.windows(gram) {
                grams.entry(window).or_default().insert(number);
            }
        }
        assert_eq!(set.size().grams, grams.len());
        let training = random_words(&mut random, 60, vocabulary);
        let found = set.scan(&words(&training));
        let mut expected = vec![false; training.len()];
        let mut hit: BTreeSet<u32> = BTreeSet::new();
        for (at, window) in training.windows(gram).enumerate() {
            if let Some(texts) = grams.get(window) {
                expected[at..at + gram].fill(true);
                hit.extend(texts);
            }
        }
        let spans = super::super::tests::covered(found.spans.clone(), training.len());
        assert_eq!(spans, expected);
        assert!(found.spans.windows(2).all(|pair| pair[0].end < pair[1].start));
        assert_eq!(found.covered, expected.iter().filter(|it| **it).count());
        assert_eq!(found.texts, hit.into_iter().collect::<Vec<_>>());
        covered += found.covered;
    }
    assert!(covered > 1_000, "{covered}");
}

#[test]
fn frequent_grams_are_ignored_on_request() {
    let boilerplate: Vec<u32> = (0..20).collect();
    let question: Vec<u32> = (100..120).collect();
    let set = set(&[[&boilerplate[..], &question].concat(), (200..220).collect()], 13);
    let counts = DocumentCounts::new(&set);
    let add = |words: &[u64]| counts.add(words, &Vec::from_iter(Some(0..words.len())));
    for text in 0..5_u32 {
        let own: Vec<u32> = (1_000 + text * 50..1_040 + text * 50).collect();
        add(&words(&[&boilerplate[..], &own, &boilerplate].concat()));
    }
    let leak = words(&[&boilerplate[..], &[5_000], &question].concat());
    add(&leak);
    let frequent = counts.frequent(5);
    assert_eq!((frequent.count(), counts.frequent(6).count()), (8, 0));
    let whole = Vec::from_iter(Some(0..leak.len()));
    let found = set.scan_parts(&leak, &whole, Some(&frequent));
    assert_eq!(found.spans, Vec::from_iter(Some(21..41)));
    assert_eq!((found.ignored, found.longest, found.texts), (8, 20, vec![0]));
    assert_eq!(set.scan(&leak).spans, [0..20, 21..41]);
    let seen =
        |ignored| counts.seen(ignored).iter().map(|it| (it.seen, it.grams)).collect::<Vec<_>>();
    assert_eq!(seen(None), [(16, 28), (0, 8)]);
    assert_eq!(seen(Some(&frequent)), [(8, 28), (0, 8)]);
}

#[test]
fn only_grams_within_the_scanned_parts_count() {
    let set = set(&[(0..20).collect(), (100..120).collect(), (10..30).collect()], 13);
    let text = words(&(0..20).chain([5_000]).chain(100..120).collect::<Vec<_>>());
    let counts = DocumentCounts::new(&set);
    let parts = [0..12, 18..40];
    let found = set.scan_parts(&text, &parts, None);
    assert_eq!(found.spans, Vec::from_iter(Some(21..40)));
    assert_eq!((found.texts, found.longest), (vec![1], 19));
    counts.add(&text, &parts);
    let seen: Vec<usize> = counts.seen(None).iter().map(|share| share.seen).collect();
    assert_eq!(seen, [0, 7, 0]);
}

#[test]
fn reported_texts_are_limited() {
    let texts = vec![(0..20).collect::<Vec<u32>>(); 300];
    let found = set(&texts, 13).scan(&words(&texts[0]));
    assert_eq!((found.texts.len(), found.has_more_texts), (100, true));
    assert_eq!((found.covered, found.share()), (20, 1.0));
    assert!(EvaluationSetBuilder::new(0).is_err() && EvaluationSetBuilder::new(101).is_err());
}
