//! The index against brute force: every run of the guaranteed length is found, whole, with texts
//! that repeat themselves, and while texts are added, replaced and removed.
//!
//! `AKIN_PASSAGE_PROBES=100000 cargo test --release -p akin-core passages::tests::oracle` searches
//! that many probes.

use std::collections::BTreeMap;

use super::*;

/// Probes of the test in the ordinary suite.
const PROBES: usize = 600;
const TEXTS: usize = 12;

#[test]
fn no_guaranteed_run_is_missing() {
    let probes = std::env::var("AKIN_PASSAGE_PROBES").ok().and_then(|it| it.parse().ok());
    let probes: usize = probes.unwrap_or(PROBES);
    let mut random = Numbers(27);
    let (mut searched, mut runs, mut short) = (0, 0, 0);
    while searched < probes {
        let mut settings = PassageSettings::new([13, 14, 20, 32][random.below(4)]).unwrap();
        settings.block_words = [2 * settings.run_words(), 75, 4_096][random.below(3)];
        let mut world = World::new(settings, random.next());
        for _ in 0..40.min(probes - searched) {
            world.change();
            let found = world.check_probe();
            runs += found.0;
            short += found.1;
            searched += 1;
        }
    }
    assert!(
        runs > probes && short > probes / 50,
        "too few cases: {runs} runs, {short} short texts"
    );
    println!("{searched} probes, {runs} guaranteed runs, {short} short texts");
}

struct World {
    random: Numbers,
    settings: PassageSettings,
    vocabulary: usize,
    index: PassageIndex<usize>,
    texts: BTreeMap<usize, Vec<u32>>,
}

impl World {
    fn new(settings: PassageSettings, seed: u64) -> Self {
        let mut random = Numbers(seed);
        let vocabulary = [1, 2, 3, 8, 50, 100_000][random.below(6)];
        let index = PassageIndex::new(settings);
        Self { random, settings, vocabulary, index, texts: BTreeMap::new() }
    }

    /// Pieces of other texts, periods and other words, in any order.
    fn words(&mut self) -> Vec<u32> {
        let random = &mut self.random;
        let target = [3, 12, 40, 90, 200][random.below(5)];
        let target = 1 + random.below(target);
        let mut words = Vec::new();
        while words.len() < target {
            let length = 1 + random.below(50);
            match random.below(4) {
                0 if !self.texts.is_empty() => {
                    let of = self.texts.values().nth(random.below(self.texts.len())).unwrap();
                    let from = random.below(of.len());
                    words.extend(of[from..].iter().take(length));
                }
                1 => {
                    let period = 1 + random.below(5);
                    let start: Vec<u32> =
                        (0..period).map(|_| random.below(self.vocabulary) as u32).collect();
                    words.extend(start.iter().cycle().take(length));
                }
                2 if !words.is_empty() => {
                    let from = random.below(words.len());
                    words.extend_from_within(from..words.len().min(from + length));
                }
                _ => words.extend((0..length).map(|_| random.below(self.vocabulary) as u32)),
            }
        }
        words
    }

    /// Adds, replaces or removes a text.
    fn change(&mut self) {
        let id = self.random.below(TEXTS);
        if self.random.below(4) == 0 {
            assert_eq!(self.index.remove(&id), self.texts.remove(&id).is_some());
        } else {
            let words = self.words();
            let is_new = self.index.insert(id, &text(&words)).unwrap();
            assert_eq!(is_new, self.texts.insert(id, words).is_none());
        }
        if self.texts.is_empty() {
            assert_eq!(self.index.stats().postings, 0);
            assert_eq!(self.index.stats().entries, 0);
        }
    }

    /// The number of guaranteed runs and of short texts in a probe, all of which were found.
    fn check_probe(&mut self) -> (usize, usize) {
        let probe = self.words();
        let found = self.index.query_within(&text(&probe), unlimited()).unwrap();
        assert!(!found.truncated);
        let matches: BTreeMap<usize, &PassageMatch<usize>> =
            found.matches.iter().map(|it| (it.id, it)).collect();
        assert_eq!(matches.len(), found.matches.len(), "an id is reported once");
        let (mut runs, mut short) = (0, 0);
        for (id, words) in &self.texts {
            let guaranteed = brute_runs(&probe, words, self.settings.run_words());
            let is_short = words.len() < self.settings.run_words();
            if is_short && probe.windows(words.len()).any(|window| window == words) {
                let of_match = matches.get(id).expect("a short text is found").of_match;
                assert_eq!((of_match.shared, of_match.words), (words.len(), words.len()));
                short += 1;
            }
            runs += guaranteed.len();
            if let Some(found) = matches.get(id) {
                check_match(found, &probe, words, &guaranteed);
            } else {
                assert!(guaranteed.is_empty(), "{guaranteed:?} of {words:?} in {probe:?}");
            }
        }
        (runs, short)
    }
}

/// The guaranteed runs are in the passages, and everything that is reported is true.
fn check_match(
    found: &PassageMatch<usize>,
    probe: &[u32],
    words: &[u32],
    guaranteed: &[(usize, usize, usize)],
) {
    let of_probe = covered(found.passages.iter().map(|it| it.probe.words.clone()), probe.len());
    let of_match = covered(found.passages.iter().map(|it| it.matched.words.clone()), words.len());
    for (at, place, length) in guaranteed {
        assert!(of_probe[*at..at + length].iter().all(|it| *it), "{found:?} {guaranteed:?}");
        assert!(of_match[*place..place + length].iter().all(|it| *it), "{found:?} {guaranteed:?}");
    }
    let runs_of_probe = covered(guaranteed.iter().map(|run| run.0..run.0 + run.2), probe.len());
    assert!(found.of_probe.shared >= runs_of_probe.iter().filter(|it| **it).count());
    assert!(found.of_probe.shared <= of_probe.iter().filter(|it| **it).count());
    assert!(found.of_match.shared <= of_match.iter().filter(|it| **it).count());
    let longest = brute_runs(probe, words, 1).into_iter().map(|run| run.2).max();
    assert!(guaranteed.is_empty() || longest == Some(found.longest));
    for MatchedPassage { probe: at, matched, equal, .. } in &found.passages {
        let (of_probe, of_match) = (&probe[at.words.clone()], &words[matched.words.clone()]);
        assert!(*equal <= of_probe.len().min(of_match.len()));
        assert_eq!(of_probe[0], of_match[0]);
        assert_eq!(of_probe.last(), of_match.last());
        assert_eq!(text(probe)[at.bytes.clone()], *text(of_probe).trim_end());
        assert_eq!(text(words)[matched.bytes.clone()], *text(of_match).trim_end());
    }
}

/// Candidates are ordered by the bound, so a bound that is too low would lose the best matches.
#[test]
fn no_sequence_shares_more_words_than_its_bound() {
    for seed in 0..60 {
        let mut world = World::new(PassageSettings::new(13).unwrap(), seed);
        for _ in 0..20 {
            world.change();
        }
        let index = BlockIndex::new(world.settings);
        for (id, words) in &world.texts {
            let (text, ordinal) = (text(words), (*id as u32).into());
            let blocks = TextBlocks::new(world.settings, &text, &shingler().words(&text).unwrap());
            index.insert(ordinal, &blocks);
        }
        for _ in 0..30 {
            check_bounds(&index, &world.words(), &world.texts);
        }
    }
}

/// The words of the probe in guaranteed runs are at most the bound of each candidate.
fn check_bounds(index: &BlockIndex, probe: &[u32], texts: &BTreeMap<usize, Vec<u32>>) {
    let hashes = shingler().words(&text(probe)).unwrap();
    let mut search = index.search(hashes.hashes(), unlimited());
    let mut before = usize::MAX;
    for candidate in search.next_group(usize::MAX) {
        assert!(candidate.shared_max() <= before, "the highest bounds come first");
        before = candidate.shared_max();
        let words = &texts[&(candidate.blocks()[0].0.get() as usize)];
        let runs = brute_runs(probe, words, 13);
        let shared = covered(runs.iter().map(|run| run.0..run.0 + run.2), probe.len());
        assert!(shared.iter().filter(|it| **it).count() <= candidate.shared_max());
    }
}
