use crate::document::Content;
use crate::engine::{CollectionSettings, EngineError, Policy};
use crate::scheme::Bands;
use crate::sketch::{Estimator, Sketch, Sketcher};
use crate::text::{ShingleSet, Shingler};

/// Everything about a content that lookups and comparisons need.
#[derive(Clone, Debug)]
pub struct Analysis {
    pub set: ShingleSet,
    pub sketch: Sketch,
    pub policy: Vec<Policy>,
}

/// The pure half of a collection: from a content to its set, sketch and keys. Needs no store.
#[derive(Clone, Debug)]
pub struct Analyser {
    shingler: Shingler,
    sketcher: Sketcher,
    pub(super) estimator: Estimator,
    pub(super) bands: Bands,
    shingles_max: usize,
}

impl Analyser {
    pub fn new(settings: &CollectionSettings) -> Self {
        Self {
            shingler: Shingler::new(settings.shingles.clone(), settings.sketch.seed),
            sketcher: Sketcher::new(settings.sketch.clone()),
            estimator: Estimator::new(&settings.sketch),
            bands: Bands::new(&settings.scheme, &settings.sketch),
            shingles_max: settings.limits.shingles_max,
        }
    }

    /// # Errors
    /// `EmptyDocument`, `TooManyShingles`.
    pub fn analyse(&self, content: &Content) -> Result<Analysis, EngineError> {
        let shingled = self.shingler.shingle(content).map_err(|_| EngineError::EmptyDocument)?;
        let found = shingled.set.count();
        if found > self.shingles_max {
            return Err(EngineError::TooManyShingles { found, max: self.shingles_max });
        }
        let sketch = self.sketcher.sketch(&shingled.set);
        let policy = if shingled.whole_document { vec![Policy::WholeDocument] } else { vec![] };
        Ok(Analysis { set: shingled.set, sketch, policy })
    }
}
