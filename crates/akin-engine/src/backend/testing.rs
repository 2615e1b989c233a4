//! Prepared documents for the tests of this layer.

use std::sync::Arc;

use super::{Addition, Backend, BackendError, PreparedDocument, Stored, Unchecked};
use crate::document::{Content, Document, DocumentId};
use akin_core::scheme::{Scheme, SchemeSettings};
use akin_core::sketch::{SketchSettings, Sketcher};
use akin_core::text::{ShingleSettings, Shingler};

/// Prepares a text with the default settings.
pub(crate) fn prepared(id: &str, text: &str) -> PreparedDocument {
    let content = Content::Text(text.to_owned());
    let shingled = Shingler::new(ShingleSettings::default(), 0, 1_000).shingle(&content).unwrap();
    let sketch = Sketcher::new(SketchSettings::default()).sketch(&shingled.set);
    let scheme = Scheme::new(&SchemeSettings::default(), &SketchSettings::default());
    PreparedDocument {
        document: Document {
            id: DocumentId::new(id).unwrap(),
            content,
            metadata: None,
            expires_at_ms: None,
        },
        fingerprint: shingled.set.fingerprint(),
        set: shingled.set,
        keys: scheme.all_keys(sketch.as_bytes()).collect(),
        sketch,
        whole_document: shingled.whole_document,
        only_over: None,
        blocks: None,
        arriving: None,
    }
}

/// Adds a document without a check.
pub(crate) async fn add(
    backend: Arc<dyn Backend>,
    document: PreparedDocument,
) -> Result<Stored, BackendError> {
    let addition = Addition::new(document, None, false, false);
    let mut stored = backend.add(vec![addition], Arc::new(Unchecked)).await;
    Ok(stored.remove(0)?.expect("every document is stored"))
}
