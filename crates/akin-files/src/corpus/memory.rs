//! Refuses a corpus that would not fit into memory, while it is read.

use indicatif::{HumanBytes, HumanCount};

use crate::failure::Failure;
use crate::offline::{CONTAINED_BYTES, DOCUMENT_BYTES, Room};
use akin_core::scheme::{Threshold, prefix_len};
use akin_model::analysis::Mode;
use akin_model::document::DocumentId;

/// Further bytes of a document where pairs are listed: its id, its keys and its places in the
/// tables of candidates. Measured, and rounded up.
const LISTED_BYTES: usize = 400;

/// Further bytes of each of its rarest shingles, where these find all pairs.
const SHINGLE_BYTES: usize = 24;

/// How pairs are listed, with their keys in memory.
#[derive(Clone, Copy)]
pub struct PairListing {
    pub mode: Mode,
    pub threshold: Threshold,
}

/// The memory that the corpus will take.
pub struct CorpusMemory {
    documents: u64,
    bytes: usize,
    bytes_max: usize,
    listing: Option<PairListing>,
    /// Of each document, however it is compared.
    document_bytes: usize,
}

impl CorpusMemory {
    /// Half of the memory is left for reading and sorting. `needs_words`: by the rule `contained`.
    pub fn new(room: &Room, listing: Option<PairListing>, needs_words: bool) -> Self {
        let document_bytes = DOCUMENT_BYTES + if needs_words { CONTAINED_BYTES } else { 0 };
        Self { documents: 0, bytes: 0, bytes_max: room.memory / 2, listing, document_bytes }
    }

    /// Counts a document with so many shingles.
    ///
    /// # Errors
    /// The corpus would not fit into memory.
    pub fn take(&mut self, id: &DocumentId, shingles: usize) -> Result<(), Failure> {
        let listed = self.listing.map_or(0, |PairListing { mode, threshold }| {
            let by_shingles = mode == Mode::Exact && shingles > 0;
            let keys = if by_shingles { prefix_len(threshold, shingles) } else { 0 };
            LISTED_BYTES + id.as_str().len() + keys * SHINGLE_BYTES
        });
        self.add(1, self.document_bytes + listed)
    }

    /// Counts the documents of a state.
    ///
    /// # Errors
    /// They do not fit into memory.
    pub fn take_saved(&mut self, documents: u32) -> Result<(), Failure> {
        self.add(documents.into(), documents as usize * self.document_bytes)
    }

    fn add(&mut self, documents: u64, bytes: usize) -> Result<(), Failure> {
        self.documents += documents;
        self.bytes += bytes;
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        let is_exact = self.listing.is_some_and(|listing| listing.mode == Mode::Exact);
        let less = if is_exact { "; --mode verified of `akin pairs` takes less" } else { "" };
        Err(Failure::with_hint(
            format!(
                "{} documents may take more than half of the {} of memory that are allowed",
                HumanCount(self.documents),
                HumanBytes(2 * self.bytes_max as u64)
            ),
            format!(
                "allow more by --memory-max-mib{less}; or work in parts: `akin dedup PART \
                 --against KEPT` compares each part with those kept before"
            ),
        ))
    }
}

/// `what` takes so many bytes of the memory that is allowed.
///
/// # Errors
/// More than half of the memory. `less`: what takes less.
pub fn check_memory(what: &str, bytes: usize, memory: usize, less: &str) -> Result<(), Failure> {
    if bytes <= memory / 2 {
        return Ok(());
    }
    let allowed = HumanBytes(memory as u64);
    Err(Failure::with_hint(
        format!("{what} takes more than half of the {allowed} of memory that are allowed"),
        format!("allow more by --memory-max-mib; {less}"),
    ))
}
