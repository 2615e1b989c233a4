//! Documents as a crawl has them, each made from its number alone: a corpus is the beginning of
//! every larger one, and any part of it can be made by itself.
//!
//! - **Lengths** are log-normal. FineWeb's sample of 10 billion tokens has 14,868,862 documents
//!   (G. Penedo et al., "The FineWeb Datasets", 2024), some 500 words each; that the logarithm has a
//!   standard deviation of 1 is assumed.
//! - **Near-duplicates**: 29.2 % of the documents repeat an earlier document, 22.2 % exactly, as many
//!   as D. Fetterly, M. Manasse and M. Najork found very similar and virtually identical to others
//!   among 150 million pages ("On the Evolution of Clusters of Near-Duplicate Web Pages", 2003).
//!   The others resemble it at 0.4 to 1, spread evenly. Old documents are repeated more often, so
//!   that the sizes of clusters have a heavy tail: of n documents, the largest cluster has some √n.

use std::f64::consts::TAU;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use rayon::prelude::*;

use crate::corpus::{edited, made_up_id};
use crate::made::{Language, Numbers};

const REPEATING: f64 = 0.292;
const EQUAL_OF_REPEATING: f64 = 0.222 / 0.292;

/// Of a made-up word with what is behind it; an English word takes some six.
const WORD_BYTES: f64 = 8.2;
const WORDS_MIN: f64 = 5.0;

/// Documents that a thread makes at a time, and times that are in memory at once.
const PART: usize = 4096;
const PARTS: usize = 64;

pub struct Crawl {
    language: Language,
    /// The mean of a document.
    words: f64,
}

impl Crawl {
    pub fn new(words: usize) -> Self {
        Self { language: Language::new(&mut Numbers(1)), words: words as f64 }
    }

    /// Writes JSON lines of `{"id", "text"}`, compressed by zstd if the file is called so. Returns the
    /// bytes of the lines.
    pub fn write(&self, documents: usize, file: &Path) -> u64 {
        let is_compressed = file.extension().is_some_and(|extension| extension == "zst");
        let file = BufWriter::new(File::create(file).expect("the file can be made"));
        let mut file: Box<dyn Write> = if is_compressed {
            Box::new(zstd::Encoder::new(file, 1).expect("zstd has memory").auto_finish())
        } else {
            Box::new(file)
        };
        let mut bytes = 0;
        let parts: Vec<usize> = (0..documents).step_by(PART).collect();
        for parts in parts.chunks(PARTS) {
            let lines = |from: &usize| self.lines(*from, documents.min(from + PART));
            let made: Vec<Vec<u8>> = parts.par_iter().map(lines).collect();
            for lines in made {
                bytes += lines.len() as u64;
                file.write_all(&lines).expect("the disk has room");
            }
        }
        file.flush().expect("the disk has room");
        bytes
    }

    fn lines(&self, from: usize, end: usize) -> Vec<u8> {
        let mut lines = Vec::new();
        for number in from..end {
            let line = serde_json::json!({ "id": made_up_id(number), "text": self.text(number) });
            writeln!(lines, "{line}").expect("memory takes all");
        }
        lines
    }

    fn text(&self, number: usize) -> String {
        let first = first(number);
        let mut random = numbers(first, "text");
        let text = self.language.document(self.bytes(&mut random), &mut random);
        let mut random = numbers(number, "edit");
        let is_equal = first == number || random.share() < EQUAL_OF_REPEATING;
        if is_equal { text } else { edited(&text, &mut random) }
    }

    /// Of a document, by the method of Box and Muller.
    fn bytes(&self, random: &mut Numbers) -> usize {
        let radius = (-2.0 * (1.0 - random.share()).ln()).sqrt();
        let normal = radius * (TAU * random.share()).cos();
        // The mean of e^x is e^½ for x with the mean 0 and the deviation 1.
        let words = (self.words * (normal - 0.5).exp()).max(WORDS_MIN);
        (words * WORD_BYTES) as usize
    }
}

/// The document that a document repeats, or itself.
fn first(mut number: usize) -> usize {
    while number > 0 {
        let mut random = numbers(number, "first");
        if random.share() >= REPEATING {
            break;
        }
        number = (number as f64 * random.share().powi(2)) as usize;
    }
    number
}

/// Numbers for one purpose of a document.
fn numbers(number: usize, purpose: &str) -> Numbers {
    let seed =
        purpose.bytes().fold(number as u64, |seed, byte| seed << 8 ^ seed >> 56 ^ u64::from(byte));
    Numbers(Numbers(seed).next())
}
