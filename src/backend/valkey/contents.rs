//! The texts of documents, outside Valkey: an object for each version of a document.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::time::timeout;

use super::failure::unavailable;
use super::s3;
use crate::backend::BackendError;
use crate::document::{Content, Ordinal};
use crate::storage::{Form, decode_content, encode_content};

/// Bits of an ordinal that do not choose the object's directory.
const ORDINALS_PER_DIRECTORY_BITS: u32 = 12;

/// zstd's, as by default on disk.
const COMPRESSION_LEVEL: i32 = 1;

const FORMS: [Form; 4] = [Form::Text, Form::Tokens, Form::Fields, Form::Signature];

/// The first byte of an object.
fn code_of(form: Form) -> u8 {
    match form {
        Form::Text => 0,
        Form::Tokens => 1,
        Form::Fields => 2,
        Form::Signature => 3,
    }
}

/// The contents of all collections, or of a single collection. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Contents {
    store: Arc<dyn ObjectStore>,
    root: Path,
    deadline: Duration,
}

/// Where the contents of a collection are below the root.
pub fn directory(prefix: &str, number: impl std::fmt::Display) -> String {
    format!("{prefix}-{number}")
}

impl Contents {
    /// The contents of all collections, below a URL.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] if there is nothing at the URL.
    pub async fn open(url: &str, deadline: Duration) -> Result<Self, BackendError> {
        let fault = |error: &dyn std::fmt::Display| BackendError::Unreachable {
            reason: format!("valkey.contents = \"{url}\": {error}"),
        };
        let parsed = url::Url::parse(url).map_err(|error| fault(&error))?;
        let opened = if parsed.scheme() == "s3" {
            s3::open(&parsed, deadline)
        } else {
            let dir = parsed.to_file_path().map_err(|()| fault(&"no directory"))?;
            std::fs::create_dir_all(&dir).map_err(|error| fault(&error))?;
            // A text must be as durable as the nodes' append-only files.
            let store = LocalFileSystem::new_with_prefix(dir);
            store.map(|store| (Arc::new(store.with_fsync(true)) as _, Path::default()))
        };
        let (store, root) = opened.map_err(|error| fault(&error))?;
        let contents = Self { store, root, deadline };
        // A bucket that is not there, or that may not be read, is noticed now.
        match contents.some(1).await {
            Ok(_) => Ok(contents),
            Err(BackendError::Unavailable { reason }) => Err(fault(&reason)),
            Err(error) => Err(error),
        }
    }

    /// The contents of a collection.
    pub fn of(&self, collection: &str) -> Self {
        Self { root: self.root.clone().join(collection), ..self.clone() }
    }

    fn path(&self, ordinal: Ordinal) -> Path {
        let number = ordinal.get();
        let directory = number >> ORDINALS_PER_DIRECTORY_BITS;
        self.root.clone().join(format!("{directory:x}")).join(format!("{number:x}"))
    }

    /// Returns once the content is stored.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    pub async fn put(&self, ordinal: Ordinal, content: &Content) -> Result<(), BackendError> {
        let mut bytes = vec![code_of(Form::of(content))];
        bytes.extend_from_slice(&encode_content(content, COMPRESSION_LEVEL));
        let path = self.path(ordinal);
        let put = self.store.put(&path, Bytes::from(bytes).into());
        self.within(put).await.map(|_| ())
    }

    /// `None` if there is none.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]; [`BackendError::Unexpected`] if it is damaged.
    pub async fn get(&self, ordinal: Ordinal) -> Result<Option<Content>, BackendError> {
        let path = self.path(ordinal);
        let read = async {
            match self.store.get(&path).await {
                Ok(found) => found.bytes().await.map(Some),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let Some(bytes) = self.within(read).await? else { return Ok(None) };
        let decoded = bytes.split_first().and_then(|(form, bytes)| {
            let form = FORMS.into_iter().find(|known| code_of(*known) == *form)?;
            decode_content(bytes, form)
        });
        decoded.map(Some).ok_or(BackendError::Unexpected { what: "a stored content" })
    }

    /// Deletes a content; does nothing if it does not exist.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    pub async fn delete(&self, ordinal: Ordinal) -> Result<(), BackendError> {
        let path = self.path(ordinal);
        let delete = async {
            match self.store.delete(&path).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                deleted => deleted,
            }
        };
        self.within(delete).await
    }

    /// Deletes the contents of the collection, at most `max` of them; returns how many.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    pub async fn delete_some(&self, max: usize) -> Result<usize, BackendError> {
        let listed = self.some(max).await?;
        for object in &listed {
            self.within(self.store.delete(&object.location)).await?;
        }
        Ok(listed.len())
    }

    async fn some(&self, max: usize) -> Result<Vec<ObjectMeta>, BackendError> {
        self.within(self.store.list(Some(&self.root)).take(max).try_collect()).await
    }

    async fn within<T>(
        &self,
        work: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, BackendError> {
        match timeout(self.deadline, work).await {
            Ok(done) => done.map_err(|error| unavailable(format!("the contents: {error}"))),
            Err(_) => Err(unavailable("the contents did not answer within valkey.deadline_ms")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `AKIN_TEST_CONTENTS` names another place than a directory: `tests/s3.sh` does.
    async fn opened(dir: &std::path::Path) -> Contents {
        let url = std::env::var("AKIN_TEST_CONTENTS");
        let url = url.unwrap_or_else(|_| format!("file://{}", dir.display()));
        Contents::open(&url, Duration::from_secs(30)).await.unwrap()
    }

    fn text(number: u32) -> Content {
        Content::Text(format!("the text of {number} ").repeat(100))
    }

    #[tokio::test]
    async fn contents_come_and_go() {
        let dir = tempfile::tempdir().unwrap();
        let all = opened(dir.path()).await;
        let (ours, others) = (all.of("ours"), all.of("others"));
        let numbers = || (4_090_u32..4_100).map(|number| (Ordinal::from(number), text(number)));
        futures_util::future::try_join_all(numbers().map(|(ordinal, content)| {
            let ours = ours.clone();
            async move { ours.put(ordinal, &content).await }
        }))
        .await
        .unwrap();
        for (ordinal, content) in numbers() {
            assert_eq!(ours.get(ordinal).await.unwrap(), Some(content));
            assert_eq!(others.get(ordinal).await.unwrap(), None);
        }
        let first = Ordinal::from(4_090_u32);
        ours.put(first, &text(1)).await.unwrap();
        assert_eq!(ours.get(first).await.unwrap(), Some(text(1)), "the last one put");
        for _ in 0..2 {
            ours.delete(first).await.unwrap();
            assert_eq!(ours.get(first).await.unwrap(), None);
        }
        others.put(first, &text(2)).await.unwrap();
        assert_eq!(ours.delete_some(5).await.unwrap(), 5);
        assert_eq!(ours.delete_some(100).await.unwrap(), 4);
        assert_eq!(ours.delete_some(100).await.unwrap(), 0);
        assert_eq!(others.get(first).await.unwrap(), Some(text(2)));
    }

    /// How a place that is not there is refused.
    async fn refusal(url: &str) -> String {
        match Contents::open(url, Duration::from_secs(10)).await {
            Err(BackendError::Unreachable { reason }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_missing_place_of_contents_is_refused() {
        let refused = refusal("file:///proc/akin").await;
        assert!(refused.starts_with("valkey.contents = \"file:///proc/akin\": "), "{refused}");
        if std::env::var_os("AKIN_TEST_CONTENTS").is_some() {
            let refused = refusal("s3://not-there/akin").await;
            assert!(refused.contains("NoSuchBucket"), "{refused}");
        }
    }
}
