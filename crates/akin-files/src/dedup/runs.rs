//! Texts that have to be a run of their survivor's words, and the texts that have these runs.

use std::collections::{BTreeSet, HashMap};
use std::io;

use crate::offline::{OfflineCorpus, Rarest, Sorted, Sorter};

const NONE: u32 = u32::MAX;
const NUMBER_BYTES: usize = size_of::<u32>();

/// Bytes of memory in tables that are half full: of a distinct run without its words, and of each
/// text.
const RUN_BYTES: usize = 128;
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
    /// The lengths of the runs that are shorter than a shingle.
    short: BTreeSet<usize>,
    /// All other runs, by their sets.
    long: HashMap<u32, Vec<u32>>,
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
        let mut runs = Self {
            words: Vec::new(),
            of: HashMap::new(),
            distinct: HashMap::new(),
            short: BTreeSet::new(),
            long: HashMap::new(),
            bytes: 0,
        };
        let mut texts = corpus.words(0)?.ok_or_else(no_words)?;
        for number in 0..documents.numbers() {
            if runs.bytes > bytes_max {
                break;
            }
            let text = texts.next_text()?;
            runs.words.push(text.len() as u32);
            let set = documents.set_of(number).filter(|_| number >= corpus.first_new());
            let is_run = |set: &u32| has_to_be_run(text.len(), corpus.size(*set), size);
            let Some(set) = set.filter(is_run) else { continue };
            let run = match runs.distinct.get(text) {
                Some(run) => *run,
                None => runs.add(text, set, size),
            };
            runs.of.insert(number, run);
            runs.bytes += TEXT_BYTES;
        }
        Ok(runs)
    }

    fn add(&mut self, text: &[u64], set: u32, size: usize) -> u32 {
        let run = self.distinct.len() as u32;
        self.bytes += RUN_BYTES + size_of_val(text);
        self.distinct.insert(text.to_vec(), run);
        if text.len() < size {
            self.short.insert(text.len());
        } else {
            self.long.entry(set).or_default().push(run);
        }
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
    pub fn occurrences(
        &self,
        corpus: &mut OfflineCorpus,
        rarest: &Rarest,
        order: &[u32],
    ) -> io::Result<Occurrences> {
        let mut sorter = Sorter::new(corpus.room(), corpus.room().share());
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
            let (within, begins) = (self.sets_within(corpus, rarest)?, self.begins());
            let words = self.by_number();
            let mut texts = corpus.words(0)?.ok_or_else(no_words)?;
            for (number, at) in (0..).zip(position) {
                let text = texts.next_text()?;
                let Some(set) = corpus.documents().set_of(number) else { continue };
                let is_before = |run: &u32| at < first[*run as usize];
                let sets = within.get(&set).into_iter().flatten().chain([&set]);
                let long = sets.filter_map(|set| self.long.get(set)).flatten().copied();
                let long = long.filter(is_before).filter(|run| is_run(words[*run as usize], text));
                for run in self.short_in(text, &begins).into_iter().filter(is_before).chain(long) {
                    let first = first[run as usize];
                    sorter.push(&[first.to_be_bytes(), at.to_be_bytes()].concat())?;
                }
            }
        }
        Ok(Occurrences { sorted: sorter.finish()?, next: None })
    }

    /// The sets of runs that lie in other sets, by these.
    fn sets_within(
        &self,
        corpus: &mut OfflineCorpus,
        rarest: &Rarest,
    ) -> io::Result<HashMap<u32, Vec<u32>>> {
        let mut found = HashMap::new();
        let outer = if self.long.is_empty() { 0..0 } else { 0..corpus.sets() };
        for outer in outer {
            let wanted = |inner: u32| self.long.contains_key(&inner);
            let within = corpus.sets_within(rarest, outer, wanted)?;
            if !within.is_empty() {
                found.insert(outer, within);
            }
        }
        Ok(found)
    }

    /// The words of the runs.
    fn by_number(&self) -> Vec<&[u64]> {
        let mut words: Vec<&[u64]> = vec![&[]; self.count()];
        self.distinct.iter().for_each(|(run, number)| words[*number as usize] = run);
        words
    }

    /// A bit for the first word of each run, by its lowest bits: most words need no look-up.
    fn begins(&self) -> Vec<u64> {
        let mut begins = vec![0; self.count().next_power_of_two()];
        for first in self.distinct.keys().filter_map(|run| run.first()) {
            let (at, bit) = bit_of(*first, &begins);
            begins[at] |= bit;
        }
        begins
    }

    /// The runs shorter than a shingle that a text has.
    fn short_in(&self, text: &[u64], begins: &[u64]) -> Vec<u32> {
        let mut found = Vec::new();
        for window in self.short.iter().flat_map(|length| text.windows(*length)) {
            let (at, bit) = bit_of(window[0], begins);
            if begins[at] & bit != 0 {
                found.extend(self.distinct.get(window));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn bit_of(word: u64, bits: &[u64]) -> (usize, u64) {
    ((word >> 6) as usize & (bits.len() - 1), 1 << (word & 63))
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

/// Whether `run` is consecutive in `words` (Knuth, Morris and Pratt 1977).
fn is_run(run: &[u64], words: &[u64]) -> bool {
    if run.len() > words.len() {
        return false;
    }
    let mut fallback = vec![0; run.len()];
    let mut matched = 0;
    for at in 1..run.len() {
        while matched > 0 && run[at] != run[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(run[at] == run[matched]);
        fallback[at] = matched;
    }
    let mut matched = 0;
    words.iter().any(|word| {
        while matched > 0 && run[matched] != *word {
            matched = fallback[matched - 1];
        }
        matched += usize::from(run[matched] == *word);
        matched == run.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_consecutive() {
        let words = [1, 2, 1, 2, 1, 3, 1];
        for at in 0..words.len() {
            for end in at + 1..=words.len() {
                assert!(is_run(&words[at..end], &words));
            }
        }
        assert!(!is_run(&[2, 3], &words) && !is_run(&[1, 2, 1, 2, 1, 2], &words));
        assert!(!is_run(&[1, 3, 1, 2], &words));
    }
}
