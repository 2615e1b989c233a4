//! The words of texts, as far as the rule `contained` needs them.

use std::collections::HashMap;

use akin_model::analysis::Analysis;

/// The words of a text.
pub struct TextLength {
    words: u32,
    /// All words, if the text has to be a run of its survivor.
    run: Option<Vec<u64>>,
    is_short: bool,
}

impl TextLength {
    /// `size`: the words of a shingle.
    pub fn new(words: &[u64], analysis: Option<&Analysis>, size: usize) -> Self {
        let distinct = analysis.map_or(0, |analysis| analysis.set.count());
        let is_short = words.len() < size;
        let repeats = 2 * distinct < (words.len() + 1).saturating_sub(size);
        let is_run = !words.is_empty() && (is_short || repeats);
        Self { words: words.len() as u32, run: is_run.then(|| words.to_vec()), is_short }
    }
}

/// The words of texts, by the numbers of documents.
#[derive(Default)]
pub struct Lengths {
    words: Vec<u32>,
    runs: HashMap<u32, (Vec<u64>, bool)>,
    bytes: usize,
}

impl Lengths {
    pub fn push(&mut self, length: TextLength) {
        let number = self.words.len() as u32;
        self.words.push(length.words);
        if let Some(run) = length.run {
            self.bytes += RUN_BYTES + 8 * run.len();
            self.runs.insert(number, (run, length.is_short));
        }
    }

    pub fn words(&self, number: u32) -> u32 {
        self.words[number as usize]
    }

    /// The words of a text that has to be a run of its survivor.
    pub fn run(&self, number: u32) -> Option<&[u64]> {
        self.runs.get(&number).map(|(run, _)| run.as_slice())
    }

    /// Whether a text has fewer words than a shingle.
    pub fn is_short(&self, number: u32) -> bool {
        self.runs.get(&number).is_some_and(|(_, is_short)| *is_short)
    }

    /// Bytes of memory for the runs.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// An entry of the table of runs.
const RUN_BYTES: usize = 64;
