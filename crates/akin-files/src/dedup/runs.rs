//! Texts that have to be a run of their survivor's words, and the texts that have these runs.

use std::collections::HashMap;
use std::io;

use crate::offline::{OfflineCorpus, Sorted, Sorter};

const NONE: u32 = u32::MAX;
const NUMBER_BYTES: usize = size_of::<u32>();

/// Bytes of memory for each word of the distinct runs, with their search: at most 55 of a table
/// that is half full, 8 of the run, 64 of a state in a vector that grows by doubling, and 4 of the
/// order of states.
const WORD_BYTES: usize = 136;

/// Bytes of a run in tables that are half full: of a distinct run, and of each text.
const RUN_BYTES: usize = 96;
const TEXT_BYTES: usize = 24;

/// Whether a text of a set of so many shingles says too little by its set: the text has fewer words
/// than a shingle, or most of its shingles are repetitions.
fn has_to_be_run(words: usize, distinct: usize, size: usize) -> bool {
    words < size || 2 * distinct < words + 1 - size
}

/// The lengths of the texts of a corpus, and the new texts that have to be runs.
pub struct TextRuns {
    /// The number of words, by the number of a document.
    pub words: Vec<u32>,
    /// The number of the run, by the number of a document.
    pub of: HashMap<u32, u32>,
    /// The distinct runs, with their numbers.
    distinct: HashMap<Vec<u64>, u32>,
    /// Bytes of memory, at the peak of the work.
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
        let mut runs =
            Self { words: Vec::new(), of: HashMap::new(), distinct: HashMap::new(), bytes: 0 };
        let mut texts = corpus.words(0)?.ok_or_else(no_words)?;
        for number in 0..documents.numbers() {
            if runs.bytes > bytes_max {
                break;
            }
            let text = texts.next_text()?;
            runs.words.push(text.len() as u32);
            let set = documents.set_of(number).filter(|_| number >= corpus.first_new());
            if set.is_some_and(|set| has_to_be_run(text.len(), corpus.size(set), size)) {
                let run = match runs.distinct.get(text) {
                    Some(run) => *run,
                    None => runs.add(text),
                };
                runs.of.insert(number, run);
                runs.bytes += TEXT_BYTES;
            }
        }
        Ok(runs)
    }

    fn add(&mut self, text: &[u64]) -> u32 {
        let run = self.distinct.len() as u32;
        self.bytes += RUN_BYTES + text.len() * WORD_BYTES;
        self.distinct.insert(text.to_vec(), run);
        run
    }

    /// The number of distinct runs.
    pub fn count(&self) -> usize {
        self.distinct.len()
    }

    /// Finds the documents before the first of each run that have the run in their words. `order`:
    /// the numbers of documents.
    ///
    /// # Errors
    /// The words could not be read back, or the disk is full.
    pub fn occurrences(&self, corpus: &OfflineCorpus, order: &[u32]) -> io::Result<Occurrences> {
        let room = corpus.room();
        let mut sorter = Sorter::new(room, room.share());
        if self.count() > 0 {
            let mut first = vec![NONE; self.count()];
            let mut position = vec![NONE; self.words.len()];
            for (at, number) in (0..).zip(order) {
                position[*number as usize] = at;
                if let Some(run) = self.of.get(number) {
                    let first = &mut first[*run as usize];
                    *first = at.min(*first);
                }
            }
            let mut search =
                RunSearch::of(self.distinct.iter().map(|(run, number)| (&run[..], *number)));
            let mut texts = corpus.words(0)?.ok_or_else(no_words)?;
            for at in position {
                let text = texts.next_text()?;
                let found: &[u32] = if at == NONE { &[] } else { search.within(text) };
                for first in
                    found.iter().map(|run| first[*run as usize]).filter(|first| at < *first)
                {
                    sorter.push(&[first.to_be_bytes(), at.to_be_bytes()].concat())?;
                }
            }
        }
        Ok(Occurrences { sorted: sorter.finish()?, next: None })
    }
}

fn no_words() -> io::Error {
    io::Error::other("the corpus has no words")
}

/// The documents that have runs, by the first document of each run.
pub struct Occurrences {
    sorted: Sorted,
    /// The place of the first document of a run in the order, and of a document with the run.
    next: Option<(u32, u32)>,
}

impl Occurrences {
    /// The places of the documents that have the run of the document at this place, in their order.
    /// Places ascend from call to call.
    ///
    /// # Errors
    /// They could not be read back.
    pub fn of(&mut self, first: u32) -> io::Result<Vec<u32>> {
        let mut found = Vec::new();
        loop {
            match self.next.take() {
                Some((run, at)) if run == first => found.push(at),
                Some(other) if other.0 > first => {
                    self.next = Some(other);
                    return Ok(found);
                }
                _ => {}
            }
            let Some(record) = self.sorted.next_record()? else { return Ok(found) };
            let (run, at) = record.split_at(NUMBER_BYTES);
            let number = |bytes: &[u8]| {
                u32::from_be_bytes(*bytes.first_chunk().expect("records have a fixed length"))
            };
            self.next = Some((number(run), number(at)));
        }
    }
}

/// Finds runs of words in texts (Aho and Corasick 1975).
struct RunSearch {
    /// By a state and the word that follows.
    next: HashMap<(u32, u64), u32>,
    states: Vec<State>,
    /// A bit for each word that begins a run, by its lowest bits.
    begins: Vec<u64>,
    /// The number of the text that is searched.
    text: u32,
    found: Vec<u32>,
}

/// The beginning of a run. The first state is the empty beginning.
#[derive(Clone)]
struct State {
    parent: u32,
    word: u64,
    depth: u32,
    /// The longest state that ends the words of this state.
    fallback: u32,
    /// The longest such state, this or a shorter state, that is a whole run; 0 if there is none.
    whole: u32,
    run: u32,
    /// The text in which the run was last found.
    found_in: u32,
}

const START: State =
    State { parent: 0, word: 0, depth: 0, fallback: 0, whole: 0, run: NONE, found_in: 0 };

impl RunSearch {
    fn of<'r>(runs: impl ExactSizeIterator<Item = (&'r [u64], u32)>) -> Self {
        let bits = (64 * runs.len()).next_power_of_two().max(64);
        let mut search = Self {
            next: HashMap::new(),
            states: vec![START],
            begins: vec![0; bits / 64],
            text: 0,
            found: Vec::new(),
        };
        for (words, run) in runs {
            let mut state = 0;
            for word in words {
                state = search.extended(state, *word);
            }
            search.states[state as usize].run = run;
            if let Some(first) = words.first() {
                let (at, bit) = search.begin_of(*first);
                search.begins[at] |= bit;
            }
        }
        search.link();
        search
    }

    fn begin_of(&self, word: u64) -> (usize, u64) {
        ((word >> 6) as usize & (self.begins.len() - 1), 1 << (word & 63))
    }

    fn extended(&mut self, parent: u32, word: u64) -> u32 {
        let new = self.states.len() as u32;
        let state = *self.next.entry((parent, word)).or_insert(new);
        if state == new {
            let depth = self.states[parent as usize].depth + 1;
            self.states.push(State { parent, word, depth, ..START });
        }
        state
    }

    /// Finds the longest ends of states that are states, the shortest states first.
    fn link(&mut self) {
        let mut order: Vec<u32> = (1..self.states.len() as u32).collect();
        order.sort_by_key(|state| self.states[*state as usize].depth);
        for at in order {
            let State { parent, word, run, .. } = self.states[at as usize];
            let fallback = match parent {
                0 => 0,
                _ => self.after(self.states[parent as usize].fallback, word),
            };
            let whole = if run == NONE { self.states[fallback as usize].whole } else { at };
            let state = &mut self.states[at as usize];
            (state.fallback, state.whole) = (fallback, whole);
        }
    }

    /// The longest state that ends the words of a state and a further word.
    fn after(&self, mut state: u32, word: u64) -> u32 {
        loop {
            if state == 0 {
                let (at, bit) = self.begin_of(word);
                if self.begins[at] & bit == 0 {
                    return 0;
                }
            }
            match self.next.get(&(state, word)) {
                Some(next) => return *next,
                None if state == 0 => return 0,
                None => state = self.states[state as usize].fallback,
            }
        }
    }

    /// The runs that a text has.
    fn within(&mut self, text: &[u64]) -> &[u32] {
        self.text += 1;
        self.found.clear();
        let mut at = 0;
        for word in text {
            at = self.after(at, *word);
            let mut whole = self.states[at as usize].whole;
            // The runs that end a run were found with it.
            while whole != 0 && self.states[whole as usize].found_in != self.text {
                let state = &mut self.states[whole as usize];
                state.found_in = self.text;
                self.found.push(state.run);
                let fallback = state.fallback;
                whole = self.states[fallback as usize].whole;
            }
        }
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_runs_of_a_text_are_found_once() {
        let text = [1, 2, 1, 2, 1, 3, 1];
        let mut runs: Vec<Vec<u64>> = vec![vec![2, 3], vec![1, 2, 1, 2, 1, 2], vec![3, 1, 1]];
        let absent = runs.len();
        for at in 0..text.len() {
            runs.extend((at + 1..=text.len()).map(|end| text[at..end].to_vec()));
        }
        runs[absent..].sort();
        runs.dedup();
        let numbered = runs.iter().map(Vec::as_slice).zip(0..).collect::<Vec<_>>();
        let mut search = RunSearch::of(numbered.into_iter());
        for _ in 0..2 {
            let mut found = search.within(&text).to_vec();
            found.sort_unstable();
            assert_eq!(found, (absent as u32..runs.len() as u32).collect::<Vec<_>>());
        }
        assert!(search.within(&[]).is_empty());
    }
}
