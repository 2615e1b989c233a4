//! Ends the reading of a corpus before memory does.

use indicatif::{HumanBytes, HumanCount};

use crate::cli::failure::Failure;
use crate::document::DocumentId;
use crate::engine::{DOCUMENT_BYTES, Room};

/// What a document takes besides, where pairs are listed: its id, its keys and its places in the
/// tables of candidates. Measured, and rounded up.
const LISTED_BYTES: usize = 400;

/// What the corpus will take.
pub struct Memory {
    documents: u64,
    bytes: usize,
    bytes_max: usize,
    lists_pairs: bool,
}

impl Memory {
    /// Half of the memory is left for what is read and sorted.
    pub fn new(room: &Room, lists_pairs: bool) -> Self {
        Self { documents: 0, bytes: 0, bytes_max: room.memory / 2, lists_pairs }
    }

    /// Counts a document.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn take(&mut self, id: &DocumentId) -> Result<(), Failure> {
        self.documents += 1;
        let listed = if self.lists_pairs { LISTED_BYTES + id.as_str().len() } else { 0 };
        self.bytes += DOCUMENT_BYTES + listed;
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        Err(Failure::with_hint(
            format!(
                "{} documents may take more than half of the {} of memory that are allowed",
                HumanCount(self.documents),
                HumanBytes(2 * self.bytes_max as u64)
            ),
            "allow more by --memory-max-mib; or work in parts: `akin dedup PART --against KEPT` \
             compares each part with those kept before",
        ))
    }
}
