//! Analyses contents: makes sets, sketches and keys, and interprets their overlap. Does no I/O.

mod join;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::Content;
use crate::settings::CollectionSettings;
use crate::similarity::{MatchContainment, Similarity};
use akin_core::measure::Overlap;
use akin_core::scheme::{Key, NearestPlan, ProbePlan, Scheme, Threshold};
use akin_core::sketch::{Estimator, Method, Sketch, Sketcher};
use akin_core::text::{NormalisedFields, ShingleError, ShingleSet, Shingled, Shingler};

/// How candidates are found and scored.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By MinHash LSH, with the exact Jaccard similarity of each pair: a few may be missed
    #[default]
    Verified,
    /// By MinHash LSH, with the Jaccard similarity estimated from the sketches
    Estimated,
    /// By their rarest shingles, with the exact Jaccard similarity: none is missed
    Exact,
}

/// Why a content has no sets in a collection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    #[error("the document is empty: it has nothing to make a shingle of")]
    Empty,
    #[error("{reason}")]
    TooLong { reason: ShingleError },
    #[error("the document has {found} shingles, more than the {max} of limits.shingles_max")]
    TooManyShingles { found: usize, max: usize },
    /// The collection takes another kind of content.
    #[error("{wanted}")]
    Wrong { wanted: String },
    #[error("the collection has no such field, only {declared}")]
    UnknownField { field: String, declared: String },
    #[error("the field has {found} bytes, more than the {max} of limits.field_bytes_max")]
    FieldTooLarge { field: String, found: usize, max: usize },
}

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

/// Makes the set, the sketch and the keys of a content. Needs no store.
#[derive(Clone, Debug)]
pub struct Analyser {
    pub shingler: Shingler,
    sketcher: Sketcher,
    pub estimator: Estimator,
    pub scheme: Scheme,
    /// The scheme of joins, which make keys of sketches without the index.
    pub joining: Scheme,
    /// `None` for records.
    pub nearest: Option<NearestPlan>,
    pub threshold: Threshold,
    /// The minimum points of near-duplicate records.
    pub points_min: u32,
    /// The points that an edit in a field of a record costs.
    pub edit_penalty: u32,
    field_bytes_max: usize,
    /// The number of values of a signature; `None` if documents are not signatures.
    signature_values: Option<usize>,
    /// Sets have an element for each occurrence of a shingle.
    pub multiset: bool,
    /// The highest product of two texts' lengths for comparison by characters.
    pub edit_product_max: u64,
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
    pub fn verified<C: From<Overlap>>(&self, overlap: Overlap, agreeing: u32) -> Similarity<C> {
        Similarity::verified(overlap, self.estimator.estimate(agreeing).value)
    }

    /// The similarity of two sets, estimated from their sketches.
    pub fn estimated<C>(&self, agreeing: u32) -> Similarity<C> {
        Similarity::estimated(&self.estimator.estimate(agreeing))
    }

    /// [`estimated`](Self::estimated), if the estimate reaches the threshold.
    pub fn estimated_reaching(
        &self,
        agreeing: u32,
        threshold: Threshold,
    ) -> Option<Similarity<MatchContainment>> {
        let estimated = self.estimated(agreeing);
        (estimated.resemblance() >= threshold.get()).then_some(estimated)
    }

    pub fn slots(&self) -> u32 {
        self.estimator.estimate(0).slots
    }

    /// The normalised fields of an analysed record; `None` if documents are not records.
    pub fn record(&self, content: &Content) -> Option<NormalisedFields> {
        self.scheme.fields()?;
        self.shingler.fields(content).ok()
    }

    /// The probe plan of a lookup at the threshold; `None` if keys are not made of slots.
    pub fn band_plan(&self, threshold: Threshold) -> Option<ProbePlan> {
        self.joining.bands().map(|bands| bands.plan(threshold))
    }

    /// The keys that a lookup with this plan probes, one key for each band.
    pub fn band_keys<'a>(
        &'a self,
        analysis: &'a Analysis,
        plan: &ProbePlan,
    ) -> impl Iterator<Item = Key> + 'a {
        self.joining.keys(analysis.sketch.as_bytes(), plan.bands)
    }

    pub fn sketch_bytes(&self) -> usize {
        self.sketcher.sketch_bytes()
    }

    /// # Errors
    /// `Empty`, `TooManyShingles`, `Wrong`; of a record `UnknownField`,
    /// `FieldTooLarge`.
    pub fn analyse(&self, content: &Content) -> Result<Analysis, ContentError> {
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
    pub fn takes_signatures(&self) -> bool {
        self.signature_values.is_some()
    }

    /// Checks that documents are signatures of the right length where these are taken, and none
    /// elsewhere.
    ///
    /// # Errors
    /// `Wrong`
    fn check_signature(&self, content: &Content) -> Result<(), ContentError> {
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
        Err(ContentError::Wrong { wanted })
    }

    /// Checks that a record has only declared fields and none of them is too large.
    ///
    /// # Errors
    /// `UnknownField`, `FieldTooLarge`.
    pub fn check_fields(&self, content: &Content) -> Result<(), ContentError> {
        let (Some(records), Content::Fields(fields)) = (self.scheme.fields(), content) else {
            return Ok(());
        };
        let max = self.field_bytes_max;
        for (name, text) in fields {
            if !records.names().contains(name) {
                let declared = records.names().join(", ");
                return Err(ContentError::UnknownField { field: name.clone(), declared });
            }
            if text.len() > max {
                let (field, found) = (name.clone(), text.len());
                return Err(ContentError::FieldTooLarge { field, found, max });
            }
        }
        Ok(())
    }
}

impl From<ShingleError> for ContentError {
    fn from(error: ShingleError) -> Self {
        match error {
            ShingleError::Empty => Self::Empty,
            ShingleError::TooMany { found, max } => Self::TooManyShingles { found, max },
            ShingleError::TooLong { .. } => Self::TooLong { reason: error },
            ShingleError::FieldsWanted | ShingleError::NoFieldsWanted => {
                Self::Wrong { wanted: error.to_string() }
            }
        }
    }
}

impl Analysis {
    /// The analysis of a stored document. `whole_document` is not known here; it was reported when
    /// the document was added.
    pub fn stored(set: ShingleSet, fingerprint: u64, sketch: Sketch) -> Self {
        Self { set, fingerprint, sketch, whole_document: false }
    }
}
