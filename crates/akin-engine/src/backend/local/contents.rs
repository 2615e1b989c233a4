//! Reads the contents of documents.

use super::Local;
use super::catalog::Listing;
use crate::backend::{BackendError, Candidate, Version};
use crate::document::{Content, Ordinal};
use crate::storage::StorageError;
use crate::stored::{Detail, Record};
use akin_core::text::ShingleSet;

impl Local {
    /// The set of the first member that still exists. Members are read one at a time, as all have
    /// the same set.
    pub(super) async fn any_set(
        &self,
        candidate: &Candidate,
    ) -> Result<Option<ShingleSet>, BackendError> {
        for member in &candidate.members {
            let mut read = self.read_sets(vec![member.ordinal]).await?;
            if let Some(set) = read.pop().flatten() {
                return Ok(Some(set));
            }
        }
        Ok(None)
    }

    /// The documents with these ordinals; `None` for a document that was removed or replaced.
    pub(super) async fn fetch(
        &self,
        ordinals: Vec<Ordinal>,
        detail: Detail,
    ) -> Result<Vec<Option<Record>>, BackendError> {
        let records = self.store.fetch(ordinals.clone(), detail).await?;
        self.check_missing(&ordinals, &records).await.map(|()| records)
    }

    /// Checks that each document without a row is no longer in the catalog. A document that was
    /// just removed on disk is, until the pending operations of the store are complete.
    ///
    /// # Errors
    /// [`StorageError::CorruptDocument`]: damage hides the row.
    pub(super) async fn check_missing<T: Sync>(
        &self,
        ordinals: &[Ordinal],
        read: &[Option<T>],
    ) -> Result<(), BackendError> {
        let missing = || {
            let missing = ordinals.iter().zip(read).filter(|(_, read)| read.is_none());
            let listed = |(&ordinal, _)| self.memory.catalog.listing(ordinal);
            missing.map(listed).find_map(|listed| listed)
        };
        if missing().is_none() {
            return Ok(());
        }
        self.store.sync().await?;
        match missing() {
            None => Ok(()),
            Some(Listing { ordinal, id, .. }) => {
                let id = id.to_string();
                Err(StorageError::CorruptDocument { ordinal, id, what: "its row is missing" }
                    .into())
            }
        }
    }

    pub(super) async fn read_contents(
        &self,
        groups: &[Vec<Version>],
    ) -> Result<Vec<Option<Content>>, BackendError> {
        let firsts = groups.iter().map(|group| group[0].ordinal).collect();
        let mut contents = self.contents_of(firsts).await?;
        for (content, group) in contents.iter_mut().zip(groups) {
            // The first document was removed since; another document of the group may still exist.
            let mut others = group[1..].iter();
            while let (None, Some(version)) = (&content, others.next()) {
                *content = self.contents_of(vec![version.ordinal]).await?.pop().flatten();
            }
        }
        Ok(contents)
    }

    async fn contents_of(
        &self,
        ordinals: Vec<Ordinal>,
    ) -> Result<Vec<Option<Content>>, BackendError> {
        let records = self.fetch(ordinals, Detail::Content).await?;
        let content = |record: Option<Record>| record.and_then(|record| record.content);
        Ok(records.into_iter().map(content).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tempfile::tempdir;

    use super::*;
    use crate::backend::Backend;
    use crate::backend::testing::{add, prepared};

    #[tokio::test]
    async fn content_comes_from_any_remaining_document() {
        let dir = tempdir().unwrap();
        let local = crate::backend::local::tests::open(dir.path());
        let prepared = prepared("a", "one two three");
        let (id, content) = (prepared.document.id.clone(), prepared.document.content.clone());
        add(Arc::clone(&local) as Arc<dyn Backend>, prepared).await.unwrap();
        let version = |ordinal| Version { id: id.clone(), ordinal };
        let there = || version(local.memory.catalog.ordinal(&id).unwrap());
        let gone = || version(Ordinal::from(77));
        let groups = [vec![gone(), gone(), there()], vec![gone()], vec![there()]];
        let contents = local.contents(&groups).await.unwrap();
        assert_eq!(contents, [Some(content.clone()), None, Some(content)]);
    }
}
