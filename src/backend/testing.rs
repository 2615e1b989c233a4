//! Filings for the tests of this layer.

use super::Filing;
use crate::document::{Content, Document, DocumentId};
use crate::scheme::{Scheme, SchemeSettings};
use crate::sketch::{SketchSettings, Sketcher};
use crate::text::{ShingleSettings, Shingler};

/// A text on its way in under an id.
pub(crate) fn filing(id: &str, text: &str) -> Filing {
    let content = Content::Text(text.to_owned());
    let shingled = Shingler::new(ShingleSettings::default(), 0, 1_000).shingle(&content).unwrap();
    let sketch = Sketcher::new(SketchSettings::default()).sketch(&shingled.set);
    let scheme = Scheme::new(&SchemeSettings::default(), &SketchSettings::default());
    Filing {
        document: Document { id: DocumentId::new(id).unwrap(), content, metadata: None },
        fingerprint: shingled.set.fingerprint(),
        set: shingled.set,
        keys: scheme.all_keys(sketch.as_bytes()).collect(),
        sketch,
        whole_document: shingled.whole_document,
        sampled_to_one: shingled.sampled_to_one,
    }
}
