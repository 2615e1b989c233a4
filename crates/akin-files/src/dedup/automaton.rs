//! All runs of words in a text, found in one pass (Aho and Corasick 1975).

use std::collections::{HashMap, VecDeque};

/// In place of a number.
const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;

/// The beginnings of the runs as a trie, by the numbers of its nodes. A node comes after the nodes
/// of shorter beginnings, and the children of a node are consecutive and ascend by their words.
pub struct RunAutomaton {
    /// The last word of a beginning.
    words: Vec<u64>,
    /// The first child; the children end where those of the next node begin.
    children: Vec<u32>,
    /// The node of the longest other beginning that the beginning ends with.
    fallback: Vec<u32>,
    /// The node of the longest run that the beginning is or ends with; or [`NONE`].
    longest: Vec<u32>,
    /// The runs, by their nodes.
    runs: HashMap<u32, u32>,
    /// A bit for the first word of each run, by its lowest bits: most words begin no run.
    begins: Vec<u64>,
}

impl RunAutomaton {
    /// Bytes of memory of each word of a run, while the automaton is built.
    pub const WORD_BYTES: usize = size_of::<u64>() + 3 * size_of::<u32>();
    /// Bytes of memory of each run in addition, of which most are in a table that is half full.
    pub const RUN_BYTES: usize = 3 * (size_of::<(u32, u32)>() + 1);
    /// The most words of all runs: nodes are numbered by 32 bits.
    pub const WORDS_MAX: usize = NONE as usize - 1;

    /// `runs`: distinct and ascending runs of at least a word, each with its number.
    pub fn new(runs: &[(Vec<u64>, u32)]) -> Self {
        let nodes = 1 + runs.iter().map(|(words, _)| words.len()).sum::<usize>();
        assert!(nodes <= Self::WORDS_MAX + 1, "the runs have too many words");
        // Runs with equal beginnings leave a part of the room untouched.
        let room = || Vec::with_capacity(nodes);
        let mut automaton = Self {
            words: Vec::with_capacity(nodes),
            children: room(),
            fallback: room(),
            longest: room(),
            runs: HashMap::with_capacity(runs.len()),
            begins: vec![0; runs.len().next_power_of_two()],
        };
        for (words, _) in runs {
            let (at, bit) = bit_of(words[0], &automaton.begins);
            automaton.begins[at] |= bit;
        }
        automaton.push(0, ROOT);
        automaton.add_beginnings(runs);
        automaton
    }

    fn push(&mut self, word: u64, fallback: u32) {
        self.words.push(word);
        self.fallback.push(fallback);
        self.longest.push(NONE);
    }

    /// Adds the children of all nodes, one level of the trie after the other: all nodes of shorter
    /// beginnings are complete before a node is.
    fn add_beginnings(&mut self, runs: &[(Vec<u64>, u32)]) {
        // The runs that begin as each node does whose children are not added yet.
        let mut open = VecDeque::from([(0_u32, runs.len() as u32)]);
        let (mut length, mut level_end) = (0, 1);
        for node in 0.. {
            let Some((from, to)) = open.pop_front() else { break };
            if node == level_end {
                (length, level_end) = (length + 1, self.words.len());
            }
            self.children.push(self.words.len() as u32);
            let fallback = self.fallback[node] as usize;
            self.longest[node] = self.longest[fallback];
            let (mut from, to) = (from as usize, to as usize);
            if runs[from..to].first().is_some_and(|(words, _)| words.len() == length) {
                self.runs.insert(node as u32, runs[from].1);
                self.longest[node] = node as u32;
                from += 1;
            }
            while from < to {
                let word = runs[from].0[length];
                let is_child = |(words, _): &(Vec<u64>, u32)| words[length] == word;
                let end = from + runs[from..to].partition_point(is_child);
                let fallback = if length == 0 { ROOT } else { self.next(fallback as u32, word) };
                self.push(word, fallback);
                open.push_back((from as u32, end as u32));
                from = end;
            }
        }
        self.children.push(self.words.len() as u32);
    }

    /// The node of the longest beginning that a text ends with: the text before ends with that of
    /// `node`, and `word` follows.
    fn next(&self, mut node: u32, word: u64) -> u32 {
        loop {
            if let Some(child) = self.child(node, word) {
                return child;
            }
            if node == ROOT {
                return ROOT;
            }
            node = self.fallback[node as usize];
        }
    }

    fn child(&self, node: u32, word: u64) -> Option<u32> {
        let (at, bit) = bit_of(word, &self.begins);
        if node == ROOT && self.begins[at] & bit == 0 {
            return None;
        }
        let children = self.children[node as usize]..self.children[node as usize + 1];
        let words = &self.words[children.start as usize..children.end as usize];
        words.binary_search(&word).ok().map(|at| children.start + at as u32)
    }

    /// Visits the runs in a text: at each word the runs that end there, the longest first, until
    /// `visit` says that shorter runs need not be visited.
    pub fn each_in(&self, text: &[u64], mut visit: impl FnMut(u32) -> bool) {
        let mut node = ROOT;
        for word in text {
            node = self.next(node, *word);
            let mut of = self.longest[node as usize];
            while of != NONE && visit(self.runs[&of]) {
                of = self.longest[self.fallback[of as usize] as usize];
            }
        }
    }
}

fn bit_of(word: u64, bits: &[u64]) -> (usize, u64) {
    ((word >> 6) as usize & (bits.len() - 1), 1 << (word & 63))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn automaton(runs: &BTreeSet<Vec<u64>>) -> RunAutomaton {
        RunAutomaton::new(&runs.iter().cloned().zip(0..).collect::<Vec<_>>())
    }

    #[test]
    fn all_runs_of_a_text_are_visited() {
        let mut state = 7_u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let mut found = 0;
        for round in 0..300 {
            let mut words = |shortest, lengths| -> Vec<u64> {
                let length = shortest + below(lengths);
                (0..length).map(|_| below(1 + round % 4)).collect()
            };
            let runs: BTreeSet<Vec<u64>> = (0..round % 40).map(|_| words(1, 9)).collect();
            let automaton = automaton(&runs);
            for _ in 0..5 {
                let text = words(0, 60);
                let mut visited = BTreeSet::new();
                automaton.each_in(&text, |run| {
                    visited.insert(run);
                    true
                });
                let is_in = |run: &Vec<u64>| text.windows(run.len()).any(|window| window == run);
                let numbered = runs.iter().zip(0..).filter(|(run, _)| is_in(run));
                let expected: BTreeSet<u32> = numbered.map(|(_, number)| number).collect();
                assert_eq!(visited, expected, "{runs:?} in {text:?}");
                found += visited.len();
            }
        }
        assert!(found > 5_000, "{found}");
    }

    #[test]
    fn runs_of_one_word_are_visited_as_often_as_they_are_wanted() {
        let lengths = 5..2_000;
        let runs: BTreeSet<Vec<u64>> = lengths.clone().map(|length| vec![9; length]).collect();
        let automaton = automaton(&runs);
        assert_eq!(automaton.words.len(), 2_000, "equal beginnings are one node");
        let mut is_wanted = vec![true; runs.len()];
        let mut visits = 0;
        for length in lengths.rev() {
            automaton.each_in(&vec![9; length], |run| {
                visits += 1;
                std::mem::take(&mut is_wanted[run as usize])
            });
        }
        // Once for each word of the texts, and once for each run.
        assert!(visits < 2_000 * 2_000 / 2 + runs.len(), "{visits}");
    }
}
