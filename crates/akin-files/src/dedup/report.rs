//! The report of cut spans, and its parts that other reports share.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::corpus::WordedText;
use crate::failure::Failure;
use crate::input::Origin;
use crate::output::{Output, write_json};
use akin_core::passages::repeats::Repeat;
use akin_core::text::CharOffsets;
use akin_model::document::DocumentId;

/// A part of a text in a report.
#[derive(Serialize)]
pub struct ReportedSpan {
    /// Unicode code points of the text.
    start: usize,
    end: usize,
    words: usize,
}

/// A document in a report. Files may have documents of the same id.
#[derive(Serialize)]
pub struct ReportedDocument<'d> {
    pub id: &'d str,
    pub file: &'d str,
}

/// A document with cuts.
#[derive(Serialize)]
struct CutDocument<'d> {
    id: &'d str,
    words: usize,
    words_cut: usize,
    spans: Vec<CutSpan<'d>>,
}

#[derive(Serialize)]
struct CutSpan<'d> {
    #[serde(flatten)]
    span: ReportedSpan,
    /// The documents with the first occurrences of its parts.
    first_in: Vec<ReportedDocument<'d>>,
}

impl ReportedSpan {
    pub fn new(chars: &Range<usize>, words: usize) -> Self {
        Self { start: chars.start, end: chars.end, words }
    }
}

/// Writes a line of JSON for each document with cuts.
pub struct CutReport {
    output: Output,
    /// The documents with first occurrences, in the order of their numbers.
    documents: Vec<(DocumentId, Arc<str>)>,
    /// Of these documents.
    pub bytes: usize,
}

impl CutReport {
    pub fn new(output: Output) -> Self {
        Self { output, documents: Vec::new(), bytes: 0 }
    }

    /// The number that the next document has if it is [added](Self::add).
    pub fn next(&self) -> u32 {
        self.documents.len() as u32
    }

    /// Adds a document with a first occurrence.
    pub fn add(&mut self, id: &DocumentId, origin: &Origin) {
        self.bytes += size_of::<(DocumentId, Arc<str>)>() + id.as_str().len() + ARC_BYTES;
        self.documents.push((id.clone(), Arc::clone(&origin.file)));
    }

    /// # Errors
    /// The file cannot be written.
    pub fn write(
        &mut self,
        WordedText { id, text, words, .. }: &WordedText,
        repeats: &[Repeat],
    ) -> Result<(), Failure> {
        let offsets = CharOffsets::new(text);
        let named = |number: &u32| {
            let (id, file) = &self.documents[*number as usize];
            ReportedDocument { id: id.as_str(), file }
        };
        let spans = repeats.iter().map(|repeat| {
            let chars = offsets.range(words.bytes(repeat.words.clone()));
            CutSpan {
                span: ReportedSpan::new(&chars, repeat.words.len()),
                first_in: repeat.first_in.iter().map(named).collect(),
            }
        });
        let line = CutDocument {
            id: id.as_str(),
            words: words.len(),
            words_cut: repeats.iter().map(|repeat| repeat.words.len()).sum(),
            spans: spans.collect(),
        };
        write_json(&mut self.output, &line)
    }

    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<(), Failure> {
        self.output.finish()
    }
}

/// The counts of an `Arc`, and what the allocator adds to it.
const ARC_BYTES: usize = 32;
