//! Texts that have to be a run of their survivor's words.

use std::collections::HashMap;
use std::io;

use super::automaton::RunAutomaton;
use crate::offline::OfflineCorpus;

/// Bytes of memory in tables that are half full: of a distinct run without its words, and of each
/// text.
const RUN_BYTES: usize = 128 + RunAutomaton::RUN_BYTES;
const TEXT_BYTES: usize = 32;
/// Bytes of memory of each word of a distinct run.
const WORD_BYTES: usize = size_of::<u64>() + RunAutomaton::WORD_BYTES;

/// Whether a text of a set of so many shingles says too little by its set: the text has fewer words
/// than a shingle, or most of its shingles are repetitions.
fn has_to_be_run(words: usize, distinct: usize, size: usize) -> bool {
    words < size || 2 * distinct < words + 1 - size
}

/// The places of the texts of a corpus, and the new texts that have to be runs.
pub struct TextRuns {
    /// Where the words of each document begin in those of the corpus, by its number, and their end.
    begins: Vec<u64>,
    /// The number of the run, by the number of a document.
    pub of: HashMap<u32, u32>,
    /// The distinct runs, with their numbers.
    distinct: HashMap<Vec<u64>, u32>,
    /// Bytes of memory of the runs, at the peak of the work.
    pub bytes: usize,
}

impl TextRuns {
    /// `size`: the words of a shingle. Reading ends early once the runs take more memory than
    /// allowed.
    ///
    /// # Errors
    /// The words could not be read back.
    pub fn read(corpus: &OfflineCorpus, size: usize, bytes_max: usize) -> io::Result<Self> {
        let documents = corpus.documents();
        let mut begins = Vec::with_capacity(documents.numbers() as usize + 1);
        begins.push(0);
        let (of, distinct) = (HashMap::new(), HashMap::new());
        let mut runs = Self { begins, of, distinct, bytes: 0 };
        let mut words = 0;
        let mut texts = corpus.words()?;
        for number in 0..documents.numbers() {
            if runs.bytes > bytes_max {
                break;
            }
            let text = texts.next_text()?;
            words += text.len() as u64;
            runs.begins.push(words);
            let set = documents.set_of(number).filter(|_| number >= corpus.first_new());
            if set.is_some_and(|set| has_to_be_run(text.len(), corpus.size(set), size)) {
                let run = match runs.distinct.get(text) {
                    Some(run) => *run,
                    None => runs.add(text)?,
                };
                runs.of.insert(number, run);
                runs.bytes += TEXT_BYTES;
            }
        }
        Ok(runs)
    }

    fn add(&mut self, text: &[u64]) -> io::Result<u32> {
        let run = self.distinct.len() as u32;
        self.bytes += RUN_BYTES + text.len() * WORD_BYTES;
        if self.bytes / WORD_BYTES > RunAutomaton::WORDS_MAX {
            return Err(io::Error::other("the repetitive texts have too many words"));
        }
        self.distinct.insert(text.to_vec(), run);
        Ok(run)
    }

    /// The number of words of a document.
    pub fn words(&self, number: u32) -> u64 {
        self.begins[number as usize + 1] - self.begins[number as usize]
    }

    /// Finds the runs in texts.
    pub fn search(self) -> RunSearch {
        let count = self.distinct.len();
        let mut runs: Vec<(Vec<u64>, u32)> = self.distinct.into_iter().collect();
        runs.sort_unstable();
        let automaton = RunAutomaton::new(&runs);
        RunSearch { begins: self.begins, of: self.of, count, automaton, text: Vec::new() }
    }
}

/// Finds the runs in texts.
pub struct RunSearch {
    begins: Vec<u64>,
    /// The number of the run, by the number of a document.
    pub of: HashMap<u32, u32>,
    /// The number of distinct runs.
    pub count: usize,
    automaton: RunAutomaton,
    /// Reusable buffer.
    text: Vec<u64>,
}

impl RunSearch {
    /// Visits the runs in a document's words, as [`RunAutomaton::each_in`] does.
    ///
    /// # Errors
    /// The words could not be read back.
    pub fn each_in(
        &mut self,
        corpus: &OfflineCorpus,
        number: u32,
        visit: impl FnMut(u32) -> bool,
    ) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let begin = self.begins[number as usize];
        let end = self.begins[number as usize + 1];
        corpus.read_words(number, begin..end, &mut self.text)?;
        self.automaton.each_in(&self.text, visit);
        Ok(())
    }
}
