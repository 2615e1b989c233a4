//! Recognises documents that are stored again unchanged.

use xxhash_rust::xxh3::Xxh3Default;

use crate::document::{Content, Document, Metadata};

/// A hash of everything in a document except its id.
#[must_use]
pub fn content_hash(document: &Document) -> u64 {
    hash_of_parts(&document.content, document.metadata.as_ref())
}

/// The [`content_hash`] of a document with this content and this metadata.
pub(crate) fn hash_of_parts(content: &Content, metadata: Option<&Metadata>) -> u64 {
    let mut hash = Xxh3Default::new();
    let mut part = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(metadata.map_or("", Metadata::as_json).as_bytes());
    match content {
        Content::Text(text) => part(text.as_bytes()),
        Content::Tokens(tokens) => {
            for token in tokens {
                part(token.text.as_bytes());
                part(&token.count.to_le_bytes());
            }
        }
        Content::Fields(fields) => {
            for (name, text) in fields {
                part(name.as_bytes());
                part(text.as_bytes());
            }
        }
        Content::Signature(values) => values.iter().for_each(|value| part(&value.to_le_bytes())),
    }
    hash.digest()
}
