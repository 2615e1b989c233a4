//! Options of calls that post documents. They stand in the query, in the body, or in both with the
//! same value.

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{ObjectBuilder, RefOr, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::engine::{
    AddOptions, CompareOptions, ContainedOf, ContainmentCheck, MeasureSelection, OnDuplicate,
};
use crate::http::request::{Chosen, OptionStruct, WrongOption};
use akin_core::measure::MEASURES;
use akin_core::scheme::Threshold;

/// How documents are added.
#[derive(Clone, Copy, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct AddParameters {
    /// Look for near-duplicates of each document.
    #[param(default = true)]
    pub check: Option<bool>,
    /// `skip`: do not store a new document that has a near-duplicate. A document whose id is stored
    /// is replaced. By default `keep`.
    pub on_duplicate: Option<OnDuplicate>,
    /// The lowest Jaccard similarity of a near-duplicate; by default the collection's threshold.
    pub threshold: Option<Threshold>,
    /// Of records, the fewest points of a near-duplicate; by default the collection's. Other
    /// documents have a `threshold` instead.
    #[param(minimum = 1, maximum = 3_200, example = 250)]
    #[schema(minimum = 1, maximum = 3_200)]
    pub points: Option<u32>,
    /// Look for stored documents that share passages with each document, in a collection with
    /// `passages.words`.
    #[param(default = false)]
    pub passages: Option<bool>,
    /// `skip`: do not store a new document that shares passages as `containment_min` says. By
    /// default `keep`.
    pub on_contained: Option<OnDuplicate>,
    /// The least share of words in passages: of the document's words, or of the stored document's
    /// (`of`).
    pub containment_min: Option<Threshold>,
    /// Whose words `containment_min` is a share of; by default `probe`, the document that is added.
    pub of: Option<ContainedOf>,
}

impl OptionStruct for AddParameters {}

impl OptionStruct for CompareParameters {}

impl AddParameters {
    /// # Errors
    /// `skip` without a check, and options without effect.
    pub fn options(self) -> Result<AddOptions, WrongOption> {
        let passages = self.containment()?;
        let Self { check, on_duplicate, threshold, points, .. } = self;
        let (check, on_duplicate) = (check.unwrap_or(true), on_duplicate.unwrap_or_default());
        if on_duplicate == OnDuplicate::Skip && !check {
            return Err(WrongOption::new("on_duplicate", "must be keep where 'check' is false"));
        }
        Ok(AddOptions { check, on_duplicate, threshold, points, passages, memory: None })
    }

    /// The search for passages, which `skip` asks for, too.
    fn containment(&self) -> Result<Option<ContainmentCheck>, WrongOption> {
        let wrong = |name: &'static str, detail: &str| Err(WrongOption::new(name, detail));
        let on_contained = self.on_contained.unwrap_or_default();
        let skips = on_contained == OnDuplicate::Skip;
        let is_wanted = self.passages.unwrap_or(skips);
        if skips && !is_wanted {
            return wrong("on_contained", "must be keep where 'passages' is false");
        }
        if skips && self.containment_min.is_none() {
            return wrong("on_contained", "may be skip only with a 'containment_min'");
        }
        if self.containment_min.is_some() && !is_wanted {
            return wrong("containment_min", "is only for 'passages' or 'on_contained'");
        }
        if self.of.is_some() && self.containment_min.is_none() {
            return wrong("of", "is only for 'containment_min'");
        }
        Ok(is_wanted.then(|| ContainmentCheck {
            on_contained,
            containment_min: self.containment_min.map_or(0.0, Threshold::get),
            of: self.of.unwrap_or_default(),
        }))
    }
}

/// The parts of a comparison that are returned on request.
#[derive(Clone, Copy, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct CompareParameters {
    /// Add the shared and differing passages, and the bands with keys that both documents have.
    #[param(default = false)]
    pub explain: Option<bool>,
    /// Add further measures: one of the names of `Measures`, or several with commas between.
    #[param(inline, value_type = Option<MeasureText>, example = "edit,cosine")]
    #[schema(value_type = Option<Vec<String>>, example = json!(["edit", "cosine"]))]
    pub measures: Option<Chosen<MeasureSelection>>,
}

/// Names of measures with commas between.
enum MeasureText {}

impl ToSchema for MeasureText {}

impl PartialSchema for MeasureText {
    fn schema() -> RefOr<Schema> {
        let names = MEASURES.map(|measure| measure.name).join("|");
        let pattern = format!("^({names})(,({names}))*$");
        ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).into()
    }
}

impl CompareParameters {
    pub fn options(self) -> CompareOptions {
        CompareOptions {
            explain: self.explain.unwrap_or_default(),
            measures: self.measures.unwrap_or_default().0,
        }
    }
}
