//! The corpus in memory.

use std::sync::Arc;

use indicatif::{HumanBytes, HumanCount};

use super::PassagesPlan;
use super::found::{SearchedDocument, WantedPassages};
use super::room::PassagesRoom;
use crate::corpus::{NotCompared, TextCutter};
use crate::failure::Failure;
use crate::input::{Item, Origin};
use akin_core::passages::{PassageIndex, TextBlocks};
use akin_model::document::DocumentId;

/// Bytes of a document without its text and its id: measured, and rounded up.
const DOCUMENT_BYTES: usize = 600;

/// Bytes of a posting: measured, and rounded up.
const POSTING_BYTES: usize = 24;

pub struct PassageCorpus {
    cutter: TextCutter,
    index: PassageIndex<u32>,
    /// In the order of their numbers.
    documents: Vec<(DocumentId, Origin)>,
}

impl PassageCorpus {
    /// # Errors
    /// The documents cannot be read, or are too many for the memory.
    pub fn read(plan: &PassagesPlan) -> Result<Self, Failure> {
        let index = PassageIndex::new(plan.settings);
        let cutter = plan.texts.cutter(plan.texts.read.screening.min_words);
        let (mut documents, mut bytes) = (Vec::new(), 0);
        let cut = |item: &Item| {
            let text = cutter.cut(item)?;
            let blocks = TextBlocks::new(plan.settings, &text.text, &text.words);
            let has_words = blocks.words() > 0;
            has_words.then_some((text.id, text.text, blocks)).ok_or(NotCompared::Empty)
        };
        let add = |item: Item, (id, text, blocks): (DocumentId, String, TextBlocks)| {
            let postings = blocks.words() / plan.settings.run_words() * 2 + 1;
            bytes += text.len() + id.as_str().len() + DOCUMENT_BYTES + postings * POSTING_BYTES;
            if bytes > plan.room.corpus_bytes {
                return Err(too_large(documents.len(), &plan.room));
            }
            let inserted = index.insert_blocks(documents.len() as u32, &text, &blocks);
            inserted.expect("the text has a word");
            documents.push((id, item.origin));
            Ok(())
        };
        let of = (&plan.corpus, plan.texts.read.threads());
        let uncompared = plan.texts.read.each_text("reading the corpus", of, cut, add)?;
        if documents.is_empty() {
            return Err(uncompared.nothing_else());
        }
        index.keep_words(plan.room.corpus_bytes - bytes);
        Ok(Self { cutter, index, documents })
    }

    /// The id and the file of a document.
    pub fn document(&self, number: u32) -> (&DocumentId, &Arc<str>) {
        let (id, origin) = &self.documents[number as usize];
        (id, &origin.file)
    }

    /// Finds the documents that share passages with a document.
    ///
    /// # Errors
    /// The record has no text, or too short a text.
    pub fn search(
        &self,
        item: &Item,
        wanted: &WantedPassages,
    ) -> Result<SearchedDocument, NotCompared> {
        let text = self.cutter.cut(item)?;
        let is_wanted = |number: &u32, comparison: &_| {
            let is_itself = self.documents[*number as usize].1 == item.origin;
            !is_itself && wanted.contains(comparison)
        };
        let first = (wanted.count_max, wanted.shared_min(text.words.len()));
        let found = self.index.query_first(&text.text, wanted.limits, first, is_wanted);
        let found = found.map_err(|error| NotCompared::Invalid(error.to_string()))?;
        Ok(SearchedDocument::new(text, found, wanted))
    }
}

fn too_large(documents: usize, room: &PassagesRoom) -> Failure {
    let documents = HumanCount(documents as u64);
    let [corpus, searches] =
        [room.corpus_bytes, room.searches_bytes()].map(|bytes| HumanBytes(bytes as u64));
    Failure::with_hint(
        format!(
            "a corpus of more than {documents} documents takes more than {corpus} of memory: the \
             searches may take {searches} beside it"
        ),
        "allow more by --memory-max-mib, or search parts of the corpus one after the other",
    )
}
