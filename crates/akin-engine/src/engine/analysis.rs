//! Analyses contents: makes sets, sketches and keys, and interprets their overlap. Does no I/O.

use crate::document::Content;
use crate::engine::{CollectionSettings, EngineError};
use akin_core::measure::Overlap;
use akin_core::scheme::{NearestPlan, Scheme, Threshold};
use akin_core::sketch::{Estimator, Method, Sketch, Sketcher};
use akin_core::text::{ShingleError, ShingleSet, Shingled, Shingler};

/// Larger contents are shingled off the runtime's thread: it takes about a quarter of a
/// millisecond.
pub(super) const CONTENT_INLINE_BYTES_MAX: usize = 65_536;

/// The data that lookups and comparisons need of a content.
#[derive(Clone, Debug)]
pub struct Analysis {
    pub set: ShingleSet,
    /// The fingerprint of the set.
    pub fingerprint: u64,
    pub sketch: Sketch,
    /// The whole text is its only shingle.
    pub whole_document: bool,
}

/// The similarity of two documents, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Similarity {
    /// The exact value where it is known, else the estimate.
    pub resemblance: f64,
    /// `None` for records, which are compared exactly.
    pub estimated: Option<f64>,
    /// The interval of the estimate, if there is no exact value.
    pub interval: Option<(f64, f64)>,
    pub exact: Option<Overlap>,
}

/// Makes the set, the sketch and the keys of a content. Needs no store.
#[derive(Clone, Debug)]
pub struct Analyser {
    pub(super) shingler: Shingler,
    sketcher: Sketcher,
    pub(super) estimator: Estimator,
    pub(super) scheme: Scheme,
    /// The scheme of joins, which make keys of sketches without the index.
    pub(super) joining: Scheme,
    /// `None` for records.
    pub(super) nearest: Option<NearestPlan>,
    pub(super) threshold: Threshold,
    /// The minimum points of near-duplicate records.
    pub(super) points_min: u32,
    /// The points that an edit in a field of a record costs.
    pub(super) edit_penalty: u32,
    field_bytes_max: usize,
    /// The number of values of a signature; `None` if documents are not signatures.
    signature_values: Option<usize>,
    /// Sets have an element for each occurrence of a shingle.
    pub(super) multiset: bool,
    /// The highest product of two texts' lengths for comparison by characters.
    pub(super) edit_product_max: u64,
}

impl Analyser {
    pub fn new(settings: &CollectionSettings) -> Self {
        let (seed, shingles_max) = (settings.sketch.seed(), settings.limits.shingles_max);
        let scheme = Scheme::new(&settings.scheme, &settings.sketch);
        Self {
            shingler: Shingler::new(settings.shingles.clone(), seed, shingles_max),
            sketcher: Sketcher::new(settings.sketch.clone()),
            estimator: scheme.estimator(&settings.sketch),
            joining: scheme.unindexed(),
            nearest: NearestPlan::new(&scheme, &settings.sketch),
            scheme,
            threshold: settings.scheme.threshold,
            points_min: settings.scheme.points_min(),
            edit_penalty: settings.scheme.edit_penalty(),
            field_bytes_max: settings.limits.field_bytes_max,
            signature_values: (settings.sketch.method == Method::Foreign)
                .then_some(settings.sketch.slots as usize),
            multiset: settings.shingles.multiset,
            edit_product_max: settings.limits.edit_product_max,
        }
    }

    /// The similarity of two contents by the overlap of their sets.
    pub(super) fn verified(&self, overlap: Overlap, agreeing: u32) -> Similarity {
        Similarity {
            resemblance: overlap.resemblance(),
            estimated: Some(self.estimator.estimate(agreeing).value),
            interval: None,
            exact: Some(overlap),
        }
    }

    /// The similarity of two sets, estimated from their sketches.
    pub(super) fn estimated(&self, agreeing: u32) -> Similarity {
        let estimate = self.estimator.estimate(agreeing);
        Similarity {
            resemblance: estimate.value,
            estimated: Some(estimate.value),
            interval: Some(estimate.interval),
            exact: None,
        }
    }

    /// [`estimated`](Self::estimated), if the estimate reaches the threshold.
    pub(super) fn estimated_reaching(
        &self,
        agreeing: u32,
        threshold: Threshold,
    ) -> Option<Similarity> {
        let estimated = self.estimated(agreeing);
        (estimated.resemblance >= threshold.get()).then_some(estimated)
    }

    pub(super) fn slots(&self) -> u32 {
        self.estimator.estimate(0).slots
    }

    pub fn sketch_bytes(&self) -> usize {
        self.sketcher.sketch_bytes()
    }

    /// # Errors
    /// `EmptyDocument`, `TooManyShingles`, `WrongContent`; of a record `UnknownField`,
    /// `FieldTooLarge`.
    pub fn analyse(&self, content: &Content) -> Result<Analysis, EngineError> {
        self.check_fields(content)?;
        self.check_signature(content)?;
        let Shingled { set, whole_document } = self.shingler.shingle(content)?;
        let sketch = match (content, self.scheme.fields()) {
            (Content::Signature(values), _) => self.sketcher.sketch_minima(values),
            (_, Some(records)) => records.sketch(&self.shingler.fields(content)?),
            (_, None) => self.sketcher.sketch(&set),
        };
        let fingerprint = set.fingerprint();
        Ok(Analysis { set, fingerprint, sketch, whole_document })
    }

    /// Whether documents are signatures, which have no sets: all that is known is an estimate.
    pub(super) fn takes_signatures(&self) -> bool {
        self.signature_values.is_some()
    }

    /// Checks that documents are signatures of the right length where these are taken, and none
    /// elsewhere.
    ///
    /// # Errors
    /// `WrongContent`
    fn check_signature(&self, content: &Content) -> Result<(), EngineError> {
        let wanted = match (self.signature_values, content) {
            (None, Content::Signature(_)) => {
                "the collection takes no signatures: those are for sketch.method = foreign"
                    .to_owned()
            }
            (Some(wanted), Content::Signature(values)) if values.len() != wanted => {
                let found = values.len();
                format!("a signature has {wanted} values here (sketch.slots), not {found}")
            }
            (None, _) | (Some(_), Content::Signature(_)) => return Ok(()),
            (Some(_), _) => "the collection takes signatures: a document there has a signature, \
                             not text, tokens or fields"
                .to_owned(),
        };
        Err(EngineError::WrongContent { wanted })
    }

    /// Checks that a record has only declared fields and none of them is too large.
    ///
    /// # Errors
    /// `UnknownField`, `FieldTooLarge`.
    pub(super) fn check_fields(&self, content: &Content) -> Result<(), EngineError> {
        let (Some(records), Content::Fields(fields)) = (self.scheme.fields(), content) else {
            return Ok(());
        };
        let max = self.field_bytes_max;
        for (name, text) in fields {
            if !records.names().contains(name) {
                let declared = records.names().join(", ");
                return Err(EngineError::UnknownField { field: name.clone(), declared });
            }
            if text.len() > max {
                let (field, found) = (name.clone(), text.len());
                return Err(EngineError::FieldTooLarge { field, found, max });
            }
        }
        Ok(())
    }
}

impl From<ShingleError> for EngineError {
    fn from(error: ShingleError) -> Self {
        match error {
            ShingleError::Empty => Self::EmptyDocument,
            ShingleError::TooMany { found, max } => Self::TooManyShingles { found, max },
            ShingleError::TooLong { .. } => Self::DocumentTooLong { reason: error },
            ShingleError::FieldsWanted | ShingleError::NoFieldsWanted => {
                Self::WrongContent { wanted: error.to_string() }
            }
        }
    }
}

impl Analysis {
    /// The analysis of a stored document. `whole_document` is not known here; it was reported when
    /// the document was added.
    pub(super) fn stored(set: ShingleSet, fingerprint: u64, sketch: Sketch) -> Self {
        Self { set, fingerprint, sketch, whole_document: false }
    }
}
