//! The words of texts that were compared. Queries that share boilerplate compare the same texts
//! again and again, and cutting a text into words takes longer than comparing its words.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use dashmap::DashMap;

use crate::document::Ordinal;

/// Bytes of an entry without its words, rounded up.
const ENTRY_BYTES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct KeptWords {
    bytes_left: AtomicUsize,
    words: DashMap<Ordinal, Arc<[u64]>>,
}

impl KeptWords {
    /// Allows further bytes.
    pub fn allow(&self, bytes: usize) {
        self.bytes_left.fetch_add(bytes, Relaxed);
    }

    pub fn get(&self, ordinal: Ordinal) -> Option<Arc<[u64]>> {
        Some(self.words.get(&ordinal)?.clone())
    }

    /// Keeps the words of a text if there is room.
    pub fn keep(&self, ordinal: Ordinal, words: &Arc<[u64]>) {
        let bytes = bytes(words);
        let less = |left: usize| left.checked_sub(bytes);
        if self.bytes_left.fetch_update(Relaxed, Relaxed, less).is_err() {
            return;
        }
        if self.words.insert(ordinal, Arc::clone(words)).is_some() {
            self.allow(bytes);
        }
    }

    pub fn remove(&self, ordinal: Ordinal) {
        if let Some((_, words)) = self.words.remove(&ordinal) {
            self.allow(bytes(&words));
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.words.len()
    }
}

fn bytes(words: &[u64]) -> usize {
    size_of_val(words) + ENTRY_BYTES
}
