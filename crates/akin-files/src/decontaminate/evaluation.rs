//! Reads the evaluation set.

use std::sync::Arc;

use indicatif::{HumanBytes, HumanCount};

use super::options::DecontaminationPlan;
use crate::corpus::WordedText;
use crate::failure::Failure;
use crate::input::Item;
use crate::memory::available_memory;
use akin_core::passages::contamination::{EvaluationSet, EvaluationSetBuilder};
use akin_core::text::WordSequence;
use akin_model::document::DocumentId;

/// The most bytes that a gram takes while the set is built.
const GRAM_BYTES: usize = 64;
/// Bytes of a document without its grams and its id.
const DOCUMENT_BYTES: usize = 64;

/// The evaluation documents.
pub struct Evaluation {
    pub set: EvaluationSet,
    /// In the order of their numbers in the set.
    pub documents: Vec<EvaluationDocument>,
}

/// An evaluation document. Files may have documents of the same id.
pub struct EvaluationDocument {
    pub id: DocumentId,
    pub file: Arc<str>,
}

impl Evaluation {
    /// # Errors
    /// The documents cannot be read, are too many for the memory, or have too few words.
    pub fn read(plan: &DecontaminationPlan) -> Result<Self, Failure> {
        let builder = EvaluationSetBuilder::new(plan.words);
        let mut builder = builder.map_err(|error| Failure::new(error.to_string()))?;
        let texts = &plan.options.texts;
        let mut documents = Vec::new();
        let memory = available_memory() / 2;
        let mut bytes = 0;
        let cutter = texts.cutter(0);
        let cut = |item: &_| {
            let WordedText { id, text, words, .. } = cutter.cut(item)?;
            let is_short = words.readers_words(&text, 0..words.len()) < plan.words;
            Ok((id, words, is_short))
        };
        let add = |item: Item, (id, words, is_short): (DocumentId, WordSequence, bool)| {
            let grams = (words.len() + 1).saturating_sub(plan.words);
            bytes += grams * GRAM_BYTES + DOCUMENT_BYTES + id.as_str().len();
            if bytes > memory {
                return Err(too_large(memory));
            }
            match is_short {
                true => builder.add_whole(words.hashes()),
                false => builder.add(words.hashes()),
            };
            documents.push(EvaluationDocument { id, file: item.origin.file });
            Ok(())
        };
        let of = (&plan.against, texts.read.threads());
        let uncompared = texts.read.each_text("reading the evaluation set", of, cut, add)?;
        if documents.is_empty() {
            return Err(uncompared.nothing_else());
        }
        let set = builder.build();
        if set.size().grams == 0 {
            let documents = HumanCount(documents.len() as u64);
            return Err(Failure::with_hint(
                format!("none of {documents} evaluation documents has {} words", plan.words),
                "--words takes a lower number",
            ));
        }
        Ok(Self { set, documents })
    }
}

fn too_large(memory: usize) -> Failure {
    Failure::with_hint(
        format!("the evaluation set needs more than {}", HumanBytes(memory as u64)),
        "--against names the evaluation set, and the first paths are the training documents; or \
         run the command for parts of the evaluation set, each on the output of the part before",
    )
}
