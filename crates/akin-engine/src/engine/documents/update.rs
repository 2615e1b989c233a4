//! Changes the metadata or the expiry of a document, and leaves its content as it is.

use serde_json::{Map, Value};

use crate::backend::BackendError;
use crate::document::{Document, DocumentId, Metadata, Ordinal};
use crate::engine::CONTENT_INLINE_BYTES_MAX;
use crate::engine::{AddOptions, Added, Engine, EngineError, Record, compute_if};

/// How often a change is tried again because another write of the same document came first.
const ATTEMPTS_MAX: usize = 16;

/// The changes to a document. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct DocumentChange {
    /// A merge patch of the metadata (RFC 7396): `null` removes a field, or all of the metadata.
    pub metadata: Option<Option<Metadata>>,
    /// `Some(None)`: it expires as if it were added now without a time of its own.
    pub expires_at_ms: Option<Option<i64>>,
}

impl Engine {
    /// Stores the document again with the change. If the document is written at the same time, the
    /// change is applied to the new version, so no write is lost. Near-duplicates are not searched.
    ///
    /// # Errors
    /// `DocumentNotFound`, `TextNotKept`, `MetadataTooLarge`, `AlreadyExpired`, `DocumentChanged`
    /// if the document is written again and again, `OutOfService`, `Store`.
    pub async fn update(
        &self,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> Result<Added, EngineError> {
        for _ in 0..ATTEMPTS_MAX {
            match self.update_once(id, change.clone()).await {
                Err(EngineError::Backend(BackendError::Changed)) => {}
                outcome => return outcome,
            }
        }
        Err(BackendError::Changed.into())
    }

    async fn update_once(
        &self,
        id: &DocumentId,
        change: DocumentChange,
    ) -> Result<Added, EngineError> {
        if let Some(next) = self.successor.get() {
            return Box::pin(next.engine.update(id, &change)).await;
        }
        // A patch is parsed, into many times its bytes, only if metadata can be so long.
        self.check_metadata(change.metadata.iter().flatten().next())?;
        let record = self.get(id).await?;
        let (engine, weight) = (self.clone(), record.weight());
        let prepare = move || {
            let (ordinal, document) = changed(record, &change)?;
            Ok::<_, EngineError>(engine.prepare(document)?.over(ordinal))
        };
        let prepared = compute_if(weight > CONTENT_INLINE_BYTES_MAX, prepare).await??;
        let options = AddOptions { check: false, ..AddOptions::default() };
        self.add_prepared(prepared, options).await
    }
}

impl Record {
    fn weight(&self) -> usize {
        let content = self.content.as_ref().map_or(0, crate::document::Content::weight);
        content + self.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len())
    }
}

/// The document of a record, with the change, and the ordinal of the record.
fn changed(record: Record, change: &DocumentChange) -> Result<(Ordinal, Document), EngineError> {
    let Record { ordinal, id, content, metadata, expires_at_ms, .. } = record;
    let Some(content) = content else { return Err(EngineError::TextNotKept { id }) };
    let metadata = match &change.metadata {
        Some(patch) => patch.as_ref().map(|patch| patched(metadata.as_ref(), patch)),
        None => metadata,
    };
    let expires_at_ms = change.expires_at_ms.unwrap_or(expires_at_ms);
    Ok((ordinal, Document { id, content, metadata, expires_at_ms }))
}

fn patched(metadata: Option<&Metadata>, patch: &Metadata) -> Metadata {
    let value = |of: &Metadata| of.value().unwrap_or_else(|_| Value::Object(Map::new()));
    let mut patched = metadata.map(value).unwrap_or_default();
    merge(&mut patched, &value(patch));
    Metadata::from_json(&patched.to_string()).expect("what an object patches is an object")
}

/// Applies a merge patch as RFC 7396, section 2, defines it.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { unreachable!("it was made one") };
    for (name, patch) in patch {
        if patch.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), patch);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::tempdir;

    use super::*;
    use crate::document::Content;
    use crate::engine::{CollectionSettings, open_local};

    #[tokio::test]
    async fn a_change_does_not_restore_a_removed_document() {
        let dir = tempdir().unwrap();
        let settings = CollectionSettings::default();
        let engine = open_local(dir.path(), settings).unwrap();
        let document = Document {
            id: DocumentId::new("a").unwrap(),
            content: Content::Text("one two three four".to_owned()),
            metadata: None,
            expires_at_ms: None,
        };
        engine.add(document.clone(), AddOptions::default()).await.unwrap();
        let ordinal = engine.get(&document.id).await.unwrap().ordinal;
        engine.remove(&document.id).await.unwrap();
        let prepared = engine.prepare(document).unwrap().over(ordinal);
        let outcome = engine.add_prepared(prepared, AddOptions::default()).await;
        assert!(matches!(outcome, Err(EngineError::Backend(BackendError::Changed))), "{outcome:?}");
    }

    #[test]
    fn a_patch_merges_as_in_the_appendix_of_rfc_7396() {
        for (target, patch, merged) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut value = target.clone();
            merge(&mut value, &patch);
            assert_eq!(value, merged, "{target} and {patch}");
        }
    }
}
