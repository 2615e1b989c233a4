//! The query parameters of each call.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::document::DocumentId;
use crate::engine::{
    AddOptions, CompareOptions, Conditions, Lookup, Measures, Mode, OnDuplicate, Order,
};
use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::request::conditions::ConditionParameters;
use crate::http::request::query::{Parameter, Parameters, ReadParameters};
use crate::scheme::Threshold;

/// The id in a path: all of the path after `/documents/`, percent-decoded.
pub struct PathId(pub DocumentId);

/// What else is in the path is not this parameter's business.
#[derive(Deserialize)]
struct IdInPath {
    id: String,
}

impl FromRequestParts<AppState> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let invalid = |detail| Problem::new(Code::InvalidParameter, detail);
        let Path(IdInPath { id }) = Path::<IdInPath>::from_request_parts(parts, state)
            .await
            .map_err(|_| invalid("the id in the path is not percent-encoded UTF-8".to_owned()))?;
        let id = DocumentId::new(id).map_err(|error| invalid(error.to_string()))?;
        Ok(Self(id))
    }
}

/// Points that records are to have.
#[derive(Clone, Copy, Debug)]
pub struct Points(pub u32);

impl Parameter for Points {
    fn parse(text: &str) -> Result<Self, String> {
        let points = text.parse().ok().filter(|points| *points > 0);
        points.map(Self).ok_or_else(|| "a whole number above 0".to_owned())
    }
}

/// How documents are added.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AddParameters {
    /// With `text/plain` only: the document's id.
    pub id: Option<DocumentId>,
    /// Look for near-duplicates of each document.
    #[param(default = true)]
    pub check: Option<bool>,
    /// `skip`: a document that has a near-duplicate already is not stored.
    pub on_duplicate: Option<OnDuplicate>,
    /// For these checks only; the collection's own by default.
    #[param(value_type = Option<f64>, exclusive_minimum = 0.0, maximum = 1.0, example = 0.9)]
    pub threshold: Option<Threshold>,
    /// For these checks of records only; the collection's own by default. Other documents have a
    /// `threshold` instead.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 3_200, example = 250)]
    pub points: Option<Points>,
}

impl ReadParameters for AddParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            id: parameters.optional("id")?,
            check: parameters.optional("check")?,
            on_duplicate: parameters.optional("on_duplicate")?,
            threshold: parameters.optional("threshold")?,
            points: parameters.optional("points")?,
        })
    }
}

impl AddParameters {
    /// # Errors
    /// `skip` without a check: whether there is a near-duplicate would not be known.
    pub fn options(&self) -> Result<AddOptions, Problem> {
        let options = AddOptions {
            check: self.check.unwrap_or(true),
            on_duplicate: self.on_duplicate.unwrap_or_default(),
            threshold: self.threshold,
            points: self.points.map(|points| points.0),
        };
        if options.on_duplicate == OnDuplicate::Skip && !options.check {
            let detail = "the parameter 'on_duplicate' must be keep where 'check' is false";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        Ok(options)
    }
}

/// What else is given of a document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct GetParameters {
    /// `sketch`, `shingles`, or both with a comma between.
    #[param(value_type = Option<String>, pattern = "^(sketch|shingles)(,(sketch|shingles))*$",
        example = "sketch,shingles")]
    pub include: Option<Include>,
}

impl ReadParameters for GetParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self { include: parameters.optional("include")? })
    }
}

/// What is given of a document besides what is always given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    pub sketch: bool,
    pub shingles: bool,
}

impl Parameter for Include {
    fn parse(text: &str) -> Result<Self, String> {
        let mut include = Self::default();
        for name in text.split(',') {
            match name {
                "sketch" => include.sketch = true,
                "shingles" => include.shingles = true,
                _ => return Err("sketch, shingles or both with a comma between".to_owned()),
            }
        }
        Ok(include)
    }
}

/// A page of ids.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListParameters {
    /// The last id of the page before: the `next` of its answer.
    pub after: Option<DocumentId>,
    /// How many, at most.
    #[param(minimum = 1, maximum = 10_000, default = 20, required = false)]
    pub limit: usize,
}

impl ReadParameters for ListParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self { after: parameters.optional("after")?, limit: parameters.limit()? })
    }
}

/// How documents are exported.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportParameters {
    /// `stored` (default): in the order in which they were stored, the fastest; `id`: by the bytes
    /// of their ids, so that equal collections are exported alike.
    pub order: Option<Order>,
}

impl ReadParameters for ExportParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self { order: parameters.optional("order")? })
    }
}

/// How a lookup goes.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LookupParameters {
    /// The least resemblance of a match; the collection's own by default.
    #[param(value_type = Option<f64>, exclusive_minimum = 0.0, maximum = 1.0, example = 0.8)]
    pub threshold: Option<Threshold>,
    /// Of records, the least points of a match; the collection's own by default. Other documents
    /// have a `threshold` instead.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 3_200, example = 250)]
    pub points: Option<Points>,
    /// Matches, at most.
    #[param(minimum = 1, maximum = 10_000, default = 20, required = false)]
    pub limit: usize,
    /// `verified`: each candidate is checked exactly; `estimated`: scored by its sketch; `exact`:
    /// checked, and none is missed. By default `verified`, and `exact` where the kind is `prefix`.
    pub mode: Option<Mode>,
}

impl ReadParameters for LookupParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            threshold: parameters.optional("threshold")?,
            points: parameters.optional("points")?,
            limit: parameters.limit()?,
            mode: parameters.optional("mode")?,
        })
    }
}

impl LookupParameters {
    pub fn lookup(&self) -> Lookup {
        let points = self.points.map(|points| points.0);
        Lookup { threshold: self.threshold, points, limit: self.limit, mode: self.mode }
    }
}

/// A lookup of a stored document.
pub struct StoredLookupParameters {
    pub id: DocumentId,
    pub lookup: Lookup,
    pub conditions: Conditions,
}

impl ReadParameters for StoredLookupParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        let id = parameters.required("id")?;
        let PostedLookupParameters { lookup, conditions } =
            PostedLookupParameters::read(parameters)?;
        Ok(Self { id, lookup, conditions })
    }
}

/// A lookup of what is posted.
pub struct PostedLookupParameters {
    pub lookup: Lookup,
    pub conditions: Conditions,
}

impl ReadParameters for PostedLookupParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        let lookup = LookupParameters::read(parameters)?.lookup();
        Ok(Self { lookup, conditions: ConditionParameters::read(parameters)?.conditions() })
    }
}

/// What a comparison has besides what it always has.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CompareParameters {
    /// Add the shared and differing passages and the bands whose keys both have.
    #[param(default = false)]
    pub explain: Option<bool>,
    /// Add further measures: `edit`, `lcs`, `hamming`, `cosine`, `euclidean`, or several with
    /// commas between.
    #[param(value_type = Option<String>, example = "edit,cosine",
        pattern = "^(edit|lcs|hamming|cosine|euclidean)(,(edit|lcs|hamming|cosine|euclidean))*$")]
    pub measures: Option<Measures>,
}

impl ReadParameters for CompareParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            explain: parameters.optional("explain")?,
            measures: parameters.optional("measures")?,
        })
    }
}

impl CompareParameters {
    pub fn options(&self) -> CompareOptions {
        CompareOptions {
            explain: self.explain.unwrap_or(false),
            measures: self.measures.unwrap_or_default(),
        }
    }
}

/// A comparison of two stored documents.
pub struct StoredPairParameters {
    pub a: DocumentId,
    pub b: DocumentId,
    pub compare: CompareParameters,
}

impl ReadParameters for StoredPairParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        let (a, b) = (parameters.required("a")?, parameters.required("b")?);
        Ok(Self { a, b, compare: CompareParameters::read(parameters)? })
    }
}
