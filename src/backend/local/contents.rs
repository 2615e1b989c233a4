//! The contents of documents: read for candidates, and told apart.

use xxhash_rust::xxh3::Xxh3Default;

use super::Local;
use crate::backend::{BackendError, Candidate};
use crate::document::{Content, Document, Metadata, Ordinal};
use crate::storage::{Part, Record};

impl Local {
    pub(super) async fn read_contents(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<Content>>, BackendError> {
        let firsts = candidates.iter().map(|candidate| candidate.members[0].ordinal).collect();
        let mut contents = self.contents_of(firsts).await?;
        for (content, candidate) in contents.iter_mut().zip(candidates) {
            // The first member is gone meanwhile; another may be there.
            let mut others = candidate.members[1..].iter();
            while let (None, Some(member)) = (&content, others.next()) {
                *content = self.contents_of(vec![member.ordinal]).await?.pop().flatten();
            }
        }
        Ok(contents)
    }

    async fn contents_of(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<Content>>, BackendError> {
        let records = self.store.fetch(ordinals, Part::All).await?;
        let content = |record: Option<Record>| record.and_then(|record| record.content);
        Ok(records.into_iter().map(content).collect())
    }
}

/// One number for all that a document is beside its id.
pub(super) fn content_hash(document: &Document) -> u64 {
    let mut hash = Xxh3Default::new();
    let mut part = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(document.metadata.as_ref().map_or("", Metadata::as_json).as_bytes());
    match &document.content {
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
    }
    hash.digest()
}
