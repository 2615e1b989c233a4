//! The texts of documents, outside the cluster: one object for each version of a document.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, parse_url_opts};
use tokio::time::timeout;

use super::connection::unavailable;
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

/// The contents of one collection. Cheap to clone.
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
    /// # Errors
    /// [`BackendError::Unreachable`] if there is nothing at the URL.
    pub fn open(url: &str, collection: &str, deadline: Duration) -> Result<Self, BackendError> {
        let fault = |error: &dyn std::fmt::Display| BackendError::Unreachable {
            reason: format!("cluster.contents = \"{url}\": {error}"),
        };
        let parsed = url::Url::parse(url).map_err(|error| fault(&error))?;
        if let Ok(dir) = parsed.to_file_path() {
            std::fs::create_dir_all(dir).map_err(|error| fault(&error))?;
        }
        let (store, root) =
            parse_url_opts(&parsed, std::env::vars()).map_err(|error| fault(&error))?;
        let root = root.join(collection);
        Ok(Self { store: store.into(), root, deadline })
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

    /// Deletes a content, if there is one.
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
        use futures_util::{StreamExt, TryStreamExt};
        let listed = self.store.list(Some(&self.root)).take(max).try_collect::<Vec<_>>();
        let listed = self.within(listed).await?;
        for object in &listed {
            self.within(self.store.delete(&object.location)).await?;
        }
        Ok(listed.len())
    }

    async fn within<T>(
        &self,
        work: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, BackendError> {
        match timeout(self.deadline, work).await {
            Ok(done) => done.map_err(|error| unavailable(format!("the contents: {error}"))),
            Err(_) => Err(unavailable("the contents did not answer within cluster.deadline_ms")),
        }
    }
}
