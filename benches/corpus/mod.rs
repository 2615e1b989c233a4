//! A corpus that is the same on every machine: made-up words by Zipf's law.

mod random;
mod texts;

pub use random::Random;

/// So many documents of about `document_bytes` each: sentences with capitals and punctuation, in
/// lines of uneven length.
pub fn documents(count: usize, document_bytes: usize) -> Vec<String> {
    texts::each_document(document_bytes).take(count).collect()
}
