//! The index of passages of a collection, in addition to the index of sets. It is in memory only: a
//! start makes it from the stored texts. Documents of tokens are not in it.

mod arriving;
mod filtering;
mod search;

use std::collections::HashSet;

use parking_lot::Mutex;

use akin_core::passages::{BlockIndex, PassageSettings, TextBlocks};
use akin_core::text::Shingler;

use super::Local;
use crate::backend::BackendError;
use crate::background::request;
use crate::document::{Content, Ordinal};
use crate::storage::StorageError;
use crate::stored::Detail;

pub(super) use arriving::ArrivingTexts;

/// The index of passages, and the parts that change it.
pub(super) struct CollectionPassages {
    pub index: BlockIndex,
    /// Cuts texts of any length.
    shingler: Shingler,
    /// Stored documents that are not in the index, because their texts are damaged.
    unreadable: Mutex<HashSet<Ordinal>>,
}

impl CollectionPassages {
    pub fn new(settings: PassageSettings, shingler: Shingler) -> Self {
        Self { index: BlockIndex::new(settings), shingler, unreadable: Mutex::default() }
    }

    /// The blocks of a text; `None` for other contents.
    pub fn cut(&self, content: &Content) -> Option<TextBlocks> {
        let Content::Text(text) = content else { return None };
        // A text that is too long to be cut into words has no shingles either, and is not stored.
        let words = self.shingler.words(text).ok()?;
        Some(TextBlocks::new(self.index.settings(), text, &words))
    }

    /// Notes a document with an unreadable text.
    pub fn add_unreadable(&self, ordinal: Ordinal) {
        self.unreadable.lock().insert(ordinal);
    }

    /// Whether every stored text is in the index.
    pub fn is_complete(&self) -> bool {
        self.unreadable.lock().is_empty()
    }

    pub fn add(&self, ordinal: Ordinal, blocks: Option<&TextBlocks>) {
        if let Some(blocks) = blocks {
            self.index.insert(ordinal, blocks);
        }
    }

    pub fn remove(&self, ordinal: Ordinal, blocks: Option<&TextBlocks>) {
        self.unreadable.lock().remove(&ordinal);
        if let Some(blocks) = blocks {
            self.index.remove(ordinal, blocks);
        }
    }
}

impl Local {
    /// The blocks of a stored text that is to be removed from the index of passages. An unreadable
    /// text does not prevent the removal: it only leaves unused postings in the index.
    pub(super) async fn blocks_to_remove(&self, ordinal: Ordinal) -> Option<TextBlocks> {
        self.memory.passages.as_ref()?;
        // As few at a time as searches, so that few texts are in memory.
        let turn = self.passage_searches.take().await;
        let (state, store) = (self.memory.clone(), self.store.clone());
        let cut = move || {
            let _turn = turn;
            let record = store.fetch_here(ordinal, Detail::Content)?;
            let content = record.and_then(|record| record.content);
            Ok(content.and_then(|content| state.passages.as_ref()?.cut(&content)))
        };
        let cut: Result<_, StorageError> = super::blocking(cut).await;
        cut.inspect_err(|error| tracing::warn!(%error, "could not remove a text from the passages"))
            .ok()
            .flatten()
    }
}

/// Runs blocking work that may fail for want of memory on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackendError> + Send + 'static,
) -> Result<T, BackendError> {
    let work = request::handed_over(work);
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(BackendError::Closed))
}
