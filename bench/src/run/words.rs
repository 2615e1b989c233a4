//! The truth by the words of the peers in Python, so that each participant is held against the sets
//! that it made itself, too: `words_N/` of a prepared corpus, of its first N documents.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::corpus::FlatSets;
use crate::truth::Truth;

fn folder(corpus: &Path, documents: usize) -> PathBuf {
    corpus.join(format!("words_{documents}"))
}

/// Makes the sets and the truth, unless that is done already.
pub fn prepare(python: &Path, peers: &Path, corpus: &Path, documents: usize) {
    let folder = folder(corpus, documents);
    if folder.join("truth.bin").exists() {
        return;
    }
    std::fs::create_dir_all(&folder).expect("the corpus can be written to");
    let mut command = Command::new(python);
    command.arg(peers.join("sets.py")).arg(corpus).arg(documents.to_string()).arg(&folder);
    let status = command.env("PYTHONHASHSEED", "0").status().expect("Python starts");
    assert!(status.success(), "the sets are made");
    Truth::of(&FlatSets::read(&folder, documents)).write(&folder);
}

/// `None` of another number of documents.
pub fn truth(corpus: &Path, documents: usize) -> Option<Truth> {
    let folder = folder(corpus, documents);
    folder.exists().then(|| Truth::read(&folder, documents))
}
