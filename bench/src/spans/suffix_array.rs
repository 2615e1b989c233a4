//! What a suffix array over the words of all texts finds. Neighbouring suffixes are compared word
//! by word, which takes less memory than an array of their common prefixes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use akin_core::text::{ShingleSettings, Shingler};
use clap::Args;
use libsais::SuffixArrayConstruction;

use crate::corpus::Document;

/// What the process is to do.
#[derive(Args)]
pub struct Job {
    texts: PathBuf,
    #[arg(long)]
    words: usize,
    /// Find runs that texts of this file have, instead of runs that occur earlier
    #[arg(long)]
    evaluation: Option<PathBuf>,
}

/// Counts the words in the runs, and prints the number as akin does.
pub fn take(job: &Job) {
    let mut sequence = Sequence::default();
    if let Some(evaluation) = &job.evaluation {
        sequence.read(evaluation);
    }
    let evaluation = sequence.words.len();
    sequence.read(&job.texts);
    let words = sequence.words;
    let is_start = match job.evaluation {
        Some(_) => {
            starts(words, job.words, |start, first| first < evaluation && start >= evaluation)
        }
        None => starts(words, job.words, |start, first| start - first >= job.words),
    };
    println!("{{\"words_covered\":{}}}", covered(&is_start, job.words));
}

/// The words of texts as numbers; after each text a number that occurs once.
#[derive(Default)]
struct Sequence {
    words: Vec<i32>,
    numbers: HashMap<u64, i32, BuildHasherDefault<Hashed>>,
    next: i32,
}

impl Sequence {
    fn read(&mut self, path: &Path) {
        let shingler = Shingler::new(ShingleSettings::default(), 0, usize::MAX);
        let file = File::open(path).expect("the texts can be read");
        for line in BufReader::with_capacity(1 << 20, file).lines() {
            let line = line.expect("the texts can be read");
            let document: Document = serde_json::from_str(&line).expect("it was written so");
            let words = shingler.words(&document.text).expect("a text of usual length");
            for word in words.hashes() {
                let number = match self.numbers.entry(*word) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        self.next += 1;
                        *new.insert(self.next - 1)
                    }
                };
                self.words.push(number);
            }
            self.words.push(self.next);
            self.next += 1;
        }
    }
}

/// Where runs of n words start that are wanted, by the start of a run and that of the first equal
/// run.
fn starts(mut words: Vec<i32>, n: usize, is_wanted: impl Fn(usize, usize) -> bool) -> Vec<bool> {
    let array = SuffixArrayConstruction::for_text_mut(&mut words)
        .in_owned_buffer32()
        .single_threaded()
        .run()
        .expect("the sequence is short enough")
        .into_vec();
    let run = |at: &i32| words.get(*at as usize..*at as usize + n);
    let is_same = |one: &i32, other: &i32| run(one).is_some_and(|it| run(other) == Some(it));
    let mut is_start = vec![false; words.len()];
    for same in array.chunk_by(is_same).filter(|same| same.len() > 1) {
        let first = *same.iter().min().expect("it has two suffixes") as usize;
        for start in same.iter().map(|start| *start as usize) {
            is_start[start] = is_wanted(start, first);
        }
    }
    is_start
}

/// The number of words in runs of n words with these starts.
fn covered(is_start: &[bool], n: usize) -> usize {
    let (mut covered, mut end) = (0, 0);
    for start in (0..is_start.len()).filter(|start| is_start[*start]) {
        covered += start + n - start.max(end);
        end = start + n;
    }
    covered
}

/// Takes hashes as they are.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are hashes")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_occur_earlier_are_covered() {
        let covered_of = |words: &[i32], n| {
            covered(&starts(words.to_vec(), n, |start, first| start - first >= n), n)
        };
        assert_eq!(covered_of(&[1, 2, 3, 4, 9, 1, 2, 3, 5, 10], 3), 3);
        assert_eq!(covered_of(&[7, 7, 7, 7, 7, 7, 7, 8], 3), 4);
        assert_eq!(covered_of(&[1, 2, 3, 1, 2], 3), 0);
    }
}
