//! Passages: runs that follow one another in both sequences with few words between.

use std::cmp::Reverse;
use std::ops::Range;
use std::{iter, mem};

use super::coverage::Coverage;
use super::runs::{Run, Seeds};
use crate::text::ReaderWords;

/// The maximum number of words of a sequence between two neighbouring runs of a passage.
const GAP_WORDS_MAX: usize = 12;

/// A part of the probe and a part of a match that are equal word for word, or nearly.
///
/// A passage is a run of equal words, or several runs in the same order in both texts. Two
/// runs are joined if, in the probe and in the match, at most 12 words are between, each of the two
/// runs has at least half as many words as are between, and the runs are at most 12 words further
/// apart in one text than in the other. Runs of fewer than three words count as words between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The numbers of its words in the probe.
    pub probe: Range<usize>,
    /// The numbers of its words in the match.
    pub matched: Range<usize>,
    /// The number of pairs of equal words, in order: each word is in a single pair at most.
    pub equal: usize,
    /// The number of words between the runs: of each gap, in the text with more words there.
    pub differing: usize,
}

/// The words that a match and the probe share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageComparison {
    /// The passages with the most equal words first. A passage is left out if other passages have
    /// its words already, in the probe and in the match. Passages may overlap in the probe where
    /// the match repeats a text, and the other way round.
    pub passages: Vec<Passage>,
    /// The number of words of the longest run.
    pub longest: usize,
    /// The number of words of the probe in runs of passages, without the words between the runs,
    /// and the number of all its words.
    pub of_probe: WordShare,
    /// The same for the match.
    pub of_match: WordShare,
}

/// A number of words, of a number of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordShare {
    /// Each word counts once, in however many runs and passages it is.
    pub shared: usize,
    /// The words of the whole text.
    pub words: usize,
}

impl WordShare {
    /// The containment: the shared words, divided by all words.
    pub fn containment(self) -> f64 {
        self.shared as f64 / self.words.max(1) as f64
    }
}

/// A run at the end of the best chain of runs to it.
#[derive(Clone, Copy)]
struct Link {
    before: Option<usize>,
    /// Equal words of the chain.
    words: usize,
    /// Words of the chain without the words of its gaps.
    score: usize,
}

impl PassageComparison {
    /// Compares two sequences of words without an index: the passages of at least `words_min` equal
    /// words, or of the whole of either. `readers`: the words of the probe's reader, if words are
    /// counted as a reader counts them. `pairs_max` limits the pairs of equal seeds and words of
    /// runs. Returns false if more pairs had been needed: then passages may be missing.
    pub fn of_words(
        probe: &[u64],
        matched: &[u64],
        (words_min, readers): (usize, Option<&ReaderWords>),
        mut pairs_max: usize,
    ) -> (Self, bool) {
        let mut runs = Vec::new();
        let is_complete = Seeds::new(probe).runs(matched, &mut pairs_max, &mut runs);
        let lengths = [probe.len(), matched.len()];
        (Self::new(&runs, lengths, (words_min, readers)), is_complete)
    }

    /// The passages of at least `words_min` equal words, or of the whole probe or match. `runs`: in
    /// the order of the match, then of the probe. Time and memory grow with the number of runs and
    /// their words.
    pub(super) fn new(
        runs: &[Run],
        [probe, matched]: [usize; 2],
        (words_min, readers): (usize, Option<&ReaderWords>),
    ) -> Self {
        let whole = probe.min(matched);
        let links = links(runs, probe, matched);
        let mut chains = chains(runs, &links, words_min.min(whole).max(1));
        if let Some(readers) = readers {
            let counted = |chain: &Chain| -> f64 {
                let runs = chain.runs.iter().map(|member| runs[*member]);
                runs.map(|run| readers.count(run.probe..run.probe_end())).sum()
            };
            chains
                .retain(|chain| chain.passage.equal >= whole || counted(chain) >= words_min as f64);
        }
        chains.sort_by_key(|chain| (Reverse(chain.passage.equal), chain.passage.probe.start));
        let (mut of_probe, mut of_match) = (Coverage::new(probe), Coverage::new(matched));
        let mut comparison = Self::default();
        for Chain { runs: members, passage } in chains {
            let mut is_new = false;
            for run in members.iter().map(|member| runs[*member]) {
                is_new |= of_probe.cover(run.probe..run.probe_end());
                is_new |= of_match.cover(run.matched..run.matched_end());
            }
            let longest = members.iter().map(|member| runs[*member].words).max();
            comparison.longest = comparison.longest.max(longest.unwrap_or(0));
            comparison.passages.extend(is_new.then_some(passage));
        }
        comparison.of_probe = WordShare { shared: of_probe.count(), words: probe };
        comparison.of_match = WordShare { shared: of_match.count(), words: matched };
        comparison
    }
}

/// The best predecessor of each run. Runs on the same diagonal (with the same difference of their
/// places in the two texts) are disjoint, so only the last few runs of each near diagonal are near.
fn links(runs: &[Run], probe: usize, matched: usize) -> Vec<Link> {
    let mut last = vec![u32::MAX; probe + matched + 2 * GAP_WORDS_MAX + 1];
    // Of each run the run before it on its diagonal.
    let mut earlier = vec![u32::MAX; runs.len()];
    let diagonal = |run: &Run| run.probe + matched - run.matched;
    let (mut links, mut entered) = (Vec::<Link>::with_capacity(runs.len()), 0);
    for run in runs {
        while runs[entered].matched < run.matched {
            let last = &mut last[diagonal(&runs[entered]) + GAP_WORDS_MAX];
            earlier[entered] = mem::replace(last, entered as u32);
            entered += 1;
        }
        let is_near = |before: &usize| {
            runs.get(*before).is_some_and(|it| it.matched_end() + GAP_WORDS_MAX >= run.matched)
        };
        let of_diagonal = |last: &u32| {
            let last = Some(*last as usize).filter(is_near);
            iter::successors(last, |at| Some(earlier[*at] as usize).filter(is_near))
        };
        let near = &last[diagonal(run)..=diagonal(run) + 2 * GAP_WORDS_MAX];
        let link = |before: usize| {
            let gap = joined(&runs[before], run)?;
            let new = run.words - gap.overlap;
            let words = links[before].words + new;
            let score = (links[before].score + new).saturating_sub(gap.words);
            Some(Link { before: Some(before), words, score })
        };
        let near = near.iter().flat_map(of_diagonal);
        let best = near.filter_map(link).max_by_key(|link| (link.score, link.words));
        let alone = Link { before: None, words: run.words, score: run.words };
        links.push(best.unwrap_or(alone));
    }
    links
}

struct Gap {
    /// Words between the runs, in the text with more words there.
    words: usize,
    /// Words that both runs have in a text.
    overlap: usize,
}

/// The gap between two runs that are joined in a passage.
fn joined(before: &Run, run: &Run) -> Option<Gap> {
    if before.probe >= run.probe || before.matched >= run.matched {
        return None;
    }
    let [over_probe, over_match] =
        [(before.probe_end(), run.probe), (before.matched_end(), run.matched)]
            .map(|(end, start)| end.saturating_sub(start));
    let words = run
        .probe
        .saturating_sub(before.probe_end())
        .max(run.matched.saturating_sub(before.matched_end()));
    let overlap = over_probe.max(over_match);
    let continues = before.words.min(run.words) * 2 >= words && overlap < run.words;
    (words <= GAP_WORDS_MAX && continues).then_some(Gap { words, overlap })
}

struct Chain {
    runs: Vec<usize>,
    passage: Passage,
}

/// Chains with at least `words_min` equal words, with each run in at most one: the longest first,
/// and each without the runs that an earlier chain has. A run of `words_min` words is in a chain.
fn chains(runs: &[Run], links: &[Link], words_min: usize) -> Vec<Chain> {
    let mut ends: Vec<usize> =
        (0..runs.len()).filter(|end| links[*end].words >= words_min).collect();
    ends.sort_by_key(|end| Reverse(links[*end].words));
    let (mut is_taken, mut chains) = (vec![false; runs.len()], Vec::new());
    for end in ends {
        let (mut at, mut members) = (Some(end), Vec::new());
        while let Some(member) = at.filter(|member| !is_taken[*member]) {
            members.push(member);
            at = links[member].before;
        }
        members.reverse();
        let Some(passage) = passage(runs, &members).filter(|it| it.equal >= words_min) else {
            continue;
        };
        for member in &members {
            is_taken[*member] = true;
        }
        chains.push(Chain { runs: members, passage });
    }
    chains
}

fn passage(runs: &[Run], members: &[usize]) -> Option<Passage> {
    let (first, last) = (runs[*members.first()?], runs[*members.last()?]);
    let (mut equal, mut differing) = (first.words, 0);
    for pair in members.windows(2) {
        let gap = joined(&runs[pair[0]], &runs[pair[1]]).expect("runs of a chain are joined");
        equal += runs[pair[1]].words - gap.overlap;
        differing += gap.words;
    }
    Some(Passage {
        probe: first.probe..last.probe_end(),
        matched: first.matched..last.matched_end(),
        equal,
        differing,
    })
}
