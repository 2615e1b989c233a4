//! What everybody is given: the same documents in the same order, and the same sets of them.
//!
//! A prepared corpus is a folder:
//!
//! - `documents.jsonl`: `{"id", "text"}` a line;
//! - `sets.bin`: their sets, layout in [`sets`];
//! - `truth.bin`: every pair at or over [`crate::truth::FLOOR`], layout in [`crate::truth`];
//! - `corpus.json`: its [`Description`], written last.

mod generate;
mod prepare;
mod sets;

pub use generate::{edited, generate, made_up, made_up_id};
pub use prepare::{Source, prepare};
pub use sets::FlatSets;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    pub name: String,
    pub documents: usize,
    pub text_bytes: u64,
    /// Distinct ones, summed over documents.
    pub shingles: u64,
    /// How many of the documents' sets are distinct.
    pub distinct_sets: usize,
    /// At or over the threshold, and of these those of equal sets.
    pub pairs: u64,
    pub pairs_equal: u64,
    /// What making the truth took.
    pub truth_s: f64,
}

impl Description {
    /// Or else somebody wrote the documents.
    pub fn is_made_up(&self) -> bool {
        self.name.starts_with("made_up")
    }
}

#[derive(Deserialize)]
pub struct Document {
    pub id: String,
    pub text: String,
}

/// The first documents of a prepared corpus.
pub fn documents(folder: &Path, count: usize) -> impl Iterator<Item = Document> {
    lines(folder, count).map(|line| serde_json::from_str(&line).expect("it was written so"))
}

/// The same as JSON.
pub fn lines(folder: &Path, count: usize) -> impl Iterator<Item = String> {
    let file = File::open(folder.join("documents.jsonl")).expect("the corpus is prepared");
    let lines = BufReader::with_capacity(1 << 20, file).lines();
    lines.take(count).map(|line| line.expect("the corpus can be read"))
}

pub fn texts(folder: &Path, count: usize) -> Vec<String> {
    documents(folder, count).map(|document| document.text).collect()
}
