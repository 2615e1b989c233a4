//! The pure half of a collection.

use crate::document::Content;
use crate::engine::{CollectionSettings, EngineError, Policy};
use crate::scheme::{Bands, Threshold};
use crate::sketch::{Estimator, Sketch, Sketcher};
use crate::text::{ShingleSet, Shingler};

/// Everything about a content that lookups and comparisons need.
#[derive(Clone, Debug)]
pub struct Analysis {
    pub set: ShingleSet,
    pub sketch: Sketch,
    /// The text was shorter than one shingle.
    pub whole_document: bool,
}

/// From a content to its set, sketch and keys. Needs no store.
#[derive(Clone, Debug)]
pub struct Analyser {
    pub(super) shingler: Shingler,
    sketcher: Sketcher,
    pub(super) estimator: Estimator,
    pub(super) bands: Bands,
    pub(super) threshold: Threshold,
    shingles_max: usize,
}

impl Analyser {
    #[must_use]
    pub fn new(settings: &CollectionSettings) -> Self {
        Self {
            shingler: Shingler::new(settings.shingles.clone(), settings.sketch.seed),
            sketcher: Sketcher::new(settings.sketch.clone()),
            estimator: Estimator::new(&settings.sketch),
            bands: Bands::new(&settings.scheme, &settings.sketch),
            threshold: settings.scheme.threshold,
            shingles_max: settings.limits.shingles_max,
        }
    }

    /// # Errors
    /// `EmptyDocument`, `TooManyShingles`.
    pub fn analyse(&self, content: &Content) -> Result<Analysis, EngineError> {
        let shingled =
            self.shingler.shingle(content).map_err(|_empty| EngineError::EmptyDocument)?;
        let found = shingled.set.count();
        if found > self.shingles_max {
            return Err(EngineError::TooManyShingles { found, max: self.shingles_max });
        }
        let sketch = self.sketcher.sketch(&shingled.set);
        Ok(Analysis { set: shingled.set, sketch, whole_document: shingled.whole_document })
    }
}

impl Analysis {
    /// What was done that the sender of the content may not expect.
    #[must_use]
    pub fn policy(&self) -> Vec<Policy> {
        policy(self.whole_document)
    }
}

pub(super) fn policy(whole_document: bool) -> Vec<Policy> {
    if whole_document { vec![Policy::WholeDocument] } else { vec![] }
}
