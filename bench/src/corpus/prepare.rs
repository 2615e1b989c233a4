//! From a file, or from nothing, to a prepared corpus.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use akin::document::Content;
use akin::engine::{Analyser, CollectionSettings};
use flate2::read::MultiGzDecoder;

use super::{Description, Document, FlatSets, generate};
use crate::truth::Truth;

/// Where documents come from.
pub enum Source {
    /// JSON lines of `{"id", "text"}`, plain or .gz.
    File(PathBuf),
    /// Made up, so many.
    MadeUp(usize),
}

impl Source {
    /// What the corpus is called: the folder of its report.
    pub fn name(&self) -> String {
        match self {
            Self::MadeUp(count) => format!("made_up_{count}"),
            Self::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.split('.').next().unwrap_or_default().to_owned()
            }
        }
    }
}

/// Prepares a corpus in the folder, unless that is done already.
pub fn prepare(source: &Source, folder: &Path) -> Description {
    let described = folder.join("corpus.json");
    if let Ok(text) = std::fs::read_to_string(&described) {
        return serde_json::from_str(&text).expect("corpus.json is as it was written");
    }
    std::fs::create_dir_all(folder).expect("the folder can be made");
    let description = match source {
        Source::File(path) => gather(source.name(), path, folder),
        Source::MadeUp(count) => {
            let file = folder.join("made_up.jsonl");
            generate(*count, &file);
            let description = gather(source.name(), &file, folder);
            std::fs::remove_file(file).expect("it was just made");
            description
        }
    };
    let text = serde_json::to_string(&description).expect("a description is plain");
    std::fs::write(described, text).expect("the disk has room");
    description
}

/// Keeps documents that have a set; those without a word are nobody's concern here.
fn gather(name: String, from: &Path, folder: &Path) -> Description {
    let analyser = Analyser::new(&CollectionSettings::default());
    let file = File::create(folder.join("documents.jsonl")).expect("the folder can be written to");
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let mut description = Description { name, ..Description::default() };
    let (mut sets, mut distinct) = (FlatSets::default(), HashSet::new());
    for document in read(from) {
        let line = serde_json::json!({ "id": document.id, "text": document.text });
        let bytes = document.text.len() as u64;
        let Ok(analysis) = analyser.analyse(&Content::Text(document.text)) else { continue };
        writeln!(file, "{line}").expect("the disk has room");
        sets.push(analysis.set.as_slice());
        distinct.insert(analysis.fingerprint);
        description.text_bytes += bytes;
    }
    file.flush().expect("the disk has room");
    sets.write(folder);
    description.documents = sets.len();
    description.shingles = sets.elements().len() as u64;
    description.distinct_sets = distinct.len();
    let started = Instant::now();
    let truth = Truth::of(&sets);
    description.truth_s = started.elapsed().as_secs_f64();
    truth.write(folder);
    (description.pairs, description.pairs_equal) = truth.counts(crate::THRESHOLD);
    description
}

fn read(path: &Path) -> impl Iterator<Item = Document> {
    let file = File::open(path).expect("the corpus can be opened");
    let input: Box<dyn Read> = match path.extension().is_some_and(|extension| extension == "gz") {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    let lines = BufReader::with_capacity(1 << 20, input).lines();
    lines.map(|line| {
        serde_json::from_str(&line.expect("the corpus can be read")).expect("a document a line")
    })
}
