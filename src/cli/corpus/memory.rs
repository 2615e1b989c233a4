//! Ends the reading of a corpus before memory does.

use indicatif::{HumanBytes, HumanCount};

use super::CorpusOptions;
use crate::app::available_memory;
use crate::cli::failure::Failure;
use crate::document::DocumentId;

/// What a document takes at most besides its id and its sketch, at the peak of the work: its places
/// in the tables of ids, sets and fates while these grow, and its keys. Measured, and rounded up.
const DOCUMENT_BYTES: usize = 700;
/// While sketches are collected, they may be moved to a place twice as large.
const SKETCH_COPIES: usize = 2;

/// What the corpus will take.
pub struct Memory {
    documents: u64,
    bytes: usize,
    bytes_max: usize,
    document_bytes: usize,
}

impl Memory {
    pub fn new(options: &CorpusOptions, sketch_bytes: usize) -> Self {
        let chosen = options.memory_max_mib.map(|mib| (mib as usize).saturating_mul(1 << 20));
        let bytes_max = chosen.unwrap_or_else(|| available_memory() / 5 * 4);
        let document_bytes = DOCUMENT_BYTES + SKETCH_COPIES * sketch_bytes;
        Self { documents: 0, bytes: 0, bytes_max, document_bytes }
    }

    /// Counts a document.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn take(&mut self, id: &DocumentId) -> Result<(), Failure> {
        self.documents += 1;
        self.bytes += self.document_bytes + id.as_str().len();
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        Err(Failure::with_hint(
            format!(
                "{} documents may take more than the {} of memory that are allowed",
                HumanCount(self.documents),
                HumanBytes(self.bytes_max as u64)
            ),
            "allow more by --memory-max-mib; or work in parts: `akin dedup PART --against KEPT` \
             compares each part with those kept before",
        ))
    }
}
