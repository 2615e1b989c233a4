//! The index against brute force: every run of the guaranteed length is found, whole, with texts
//! that repeat themselves, and while texts are added, replaced and removed.
//!
//! `AKIN_PASSAGE_PROBES=100000 cargo test --release -p akin-core passages::tests::oracle` searches
//! that many probes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::*;

/// Probes of the test in the ordinary suite.
const PROBES: usize = 600;
const TEXTS: usize = 12;

/// Pairs of texts with more runs are not [compared naively](shared_words).
const RUNS_MAX: usize = 300;

#[test]
fn no_guaranteed_run_is_missing() {
    let probes = std::env::var("AKIN_PASSAGE_PROBES").ok().and_then(|it| it.parse().ok());
    let probes: usize = probes.unwrap_or(PROBES);
    let mut random = Numbers(27);
    let (mut searched, mut runs, mut short, mut counted) = (0, 0, 0, 0);
    while searched < probes {
        let mut settings = PassageSettings::new([13, 14, 20, 32][random.below(4)]).unwrap();
        settings.block_words = [2 * settings.run_words(), 75, 4_096][random.below(3)];
        let mut world = World::new(settings, random.next());
        for _ in 0..40.min(probes - searched) {
            world.change();
            let found = world.check_probe();
            runs += found.0;
            short += found.1;
            counted += found.2;
            searched += 1;
        }
    }
    assert!(
        runs > probes && short > probes / 50 && counted > probes,
        "too few cases: {runs} runs, {short} short texts, {counted} texts counted"
    );
    println!("{searched} probes, {runs} guaranteed runs, {short} short texts, {counted} counted");
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
            assert_eq!(self.index.stats().sequences, 0);
        }
    }

    /// The number of guaranteed runs and of short texts in a probe, all of which were found, and
    /// of the matches whose words were counted naively.
    fn check_probe(&mut self) -> (usize, usize, usize) {
        let probe = self.words();
        let found = self.index.query_within(&text(&probe), unlimited()).unwrap();
        assert!(!found.truncated);
        let matches: BTreeMap<usize, &MatchingText<usize>> =
            found.matches.iter().map(|it| (it.id, it)).collect();
        assert_eq!(matches.len(), found.matches.len(), "an id is reported once");
        let (mut runs, mut short, mut counted) = (0, 0, 0);
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
                // Of a text of several blocks, blocks without a passage are not compared.
                let is_whole = words.len() <= self.settings.block_words;
                let shared = shared_words(&probe, words, self.settings.run_words());
                if let Some(shared) = shared.filter(|_| is_whole) {
                    assert_eq!([found.of_probe.shared, found.of_match.shared], shared);
                    counted += 1;
                }
            } else {
                assert!(guaranteed.is_empty(), "{guaranteed:?} of {words:?} in {probe:?}");
            }
        }
        (runs, short, counted)
    }
}

/// A run of equal words: its places in the probe and in the text, and its length.
type BruteRun = (usize, usize, usize);

/// The words between two runs that are joined, and the words that both have in a text.
fn gap(before: BruteRun, run: BruteRun) -> Option<(usize, usize)> {
    let ends = [before.0 + before.2, before.1 + before.2];
    let both = || [run.0, run.1].into_iter().zip(ends);
    let gap = both().map(|(start, end)| start.saturating_sub(end)).max()?;
    let overlap = both().map(|(start, end)| end.saturating_sub(start)).max()?;
    let follows = before.0 < run.0 && before.1 < run.1 && overlap < run.2;
    let is_near = gap <= 12 && diagonal(before).abs_diff(diagonal(run)) <= 12;
    (follows && is_near && gap <= 2 * before.2.min(run.2)).then_some((gap, overlap))
}

fn diagonal(run: BruteRun) -> i64 {
    run.0 as i64 - run.1 as i64
}

/// The best chain of runs that ends with each run: its score, its words, and the run before.
fn chains(runs: &[BruteRun]) -> Vec<(usize, usize, Option<usize>)> {
    let mut chains: Vec<(usize, usize, Option<usize>)> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let longer = |before: usize| {
            let (gap, overlap) = gap(runs[before], *run)?;
            let (score, words, _) = chains[before];
            let new = run.2 - overlap;
            Some(((score + new).saturating_sub(gap), words + new, Some(before)))
        };
        let all = (0..number).filter_map(|before| Some((longer(before)?, diagonal(runs[before]))));
        let best = all.max_by_key(|((score, words, _), diagonal)| (*score, *words, *diagonal));
        chains.push(best.map_or((run.2, run.2, None), |(chain, _)| chain));
    }
    chains
}

/// The words of the probe and of a text in runs of their passages, by trying all chains of runs.
/// `None` if there are too many runs.
fn shared_words(probe: &[u32], text: &[u32], words_min: usize) -> Option<[usize; 2]> {
    let words_min = words_min.min(probe.len()).min(text.len());
    let mut runs = brute_runs(probe, text, text.len().min(3));
    runs.sort_by_key(|(at, place, _)| (*place, *at));
    if runs.len() > RUNS_MAX {
        return None;
    }
    let chains = chains(&runs);
    let mut ends: Vec<usize> = (0..runs.len()).collect();
    ends.sort_by_key(|end| Reverse(chains[*end].1));
    let (mut is_taken, mut of_probe, mut of_text) = (vec![false; runs.len()], vec![], vec![]);
    for end in ends {
        let free = |at: &usize| !is_taken[*at];
        let chain = std::iter::successors(Some(end).filter(free), |at| chains[*at].2.filter(free));
        let chain: Vec<usize> = chain.collect();
        let Some(first) = chain.last() else { continue };
        if chains[end].1 - chains[*first].1 + runs[*first].2 < words_min {
            continue;
        }
        for at in chain {
            is_taken[at] = true;
            let (start, place, words) = runs[at];
            of_probe.push(start..start + words);
            of_text.push(place..place + words);
        }
    }
    let count = |ranges: Vec<Range<usize>>, words| {
        covered(ranges, words).iter().filter(|is_covered| **is_covered).count()
    };
    Some([count(of_probe, probe.len()), count(of_text, text.len())])
}

/// The guaranteed runs are in the passages, and everything that is reported is true.
fn check_match(found: &MatchingText<usize>, probe: &[u32], words: &[u32], guaranteed: &[BruteRun]) {
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
