//! Query parameters. Lookups have theirs in `lookup`, calls that post documents in `options`; the
//! handlers `collapse` and `changes` have parameters that no other handler has.

use std::num::{NonZeroU32, NonZeroUsize};

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::document::DocumentId;
use crate::engine::{ClusterQuery, CurveOf, Linkage, Order, Sample};
use crate::http::problem::{Code, Problem};
use crate::http::request::{Chosen, Include, OptionStruct, Within};
use akin_core::scheme::Threshold;

/// Which stored document.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StoredId {
    /// The id of a stored document.
    pub id: DocumentId,
}

/// Which stored documents are compared.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StoredPair {
    /// The id of a stored document.
    pub a: DocumentId,
    /// The id of another.
    pub b: DocumentId,
}

/// The id of a text or a page in `POST /documents`.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TextParameters {
    /// With `text/plain` and `text/html` only: the document's id.
    pub id: Option<DocumentId>,
}

/// The optional parts of a document.
#[derive(Clone, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct GetParameters {
    /// `sketch` (needs the action `admin`), `shingles`, or both with a comma between.
    #[param(value_type = Option<String>, pattern = "^(sketch|shingles)(,(sketch|shingles))*$",
        example = "sketch,shingles")]
    #[schema(value_type = Option<Vec<String>>, example = json!(["sketch"]))]
    pub include: Option<Chosen<Include>>,
}

impl OptionStruct for GetParameters {}

/// A page of ids.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListParameters {
    /// The last id of the previous page: the `next` of its answer.
    pub after: Option<DocumentId>,
    /// The most ids of a page.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 10_000, default = 20)]
    pub limit: Option<NonZeroUsize>,
    /// Whether the documents are counted, too, which examines all of them if there are conditions.
    #[serde(default)]
    #[param(default = false)]
    pub count: bool,
}

/// How documents are exported.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportParameters {
    /// By default `stored`.
    pub order: Option<Order>,
    /// By default `fail`.
    pub on_damaged: Option<OnDamaged>,
}

/// How an export with damaged documents ends. `fail`: the connection is closed without the end of
/// the body. `report`: as any other, so that only the lines with a `problem` say what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDamaged {
    Fail,
    Report,
}

/// Which clusters are returned.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ClusterParameters {
    /// The id of a stored document, for the cluster of this document alone.
    id: Option<DocumentId>,
    /// By default `single`.
    // No `default` in the schema here and below: generated clients would always send it, and
    // `min_size` is not for the cluster of one document.
    linkage: Option<Linkage>,
    /// Without `id`: the fewest documents of a cluster, by default 2.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295_u64)]
    min_size: Option<NonZeroU32>,
}

impl ClusterParameters {
    /// # Errors
    /// A document's id and a size.
    pub fn query(self) -> Result<ClusterQuery, Problem> {
        if self.id.is_some() && self.min_size.is_some() {
            let detail = "the parameter 'min_size' is for all clusters: leave it or 'id' out";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        Ok(ClusterQuery {
            linkage: self.linkage.unwrap_or_default(),
            min_size: self.min_size.map_or(2, |size| size.get() as usize),
            id: self.id,
        })
    }
}

/// How recall is measured.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RecallParameters {
    /// How many documents are drawn at random; by default 200, or as many as the cost of a request
    /// allows.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1_000)]
    sample: Option<Within<1, SAMPLE_MAX>>,
    /// By default the collection's threshold.
    pub threshold: Option<Threshold>,
}

/// More documents make the figures no better: with 1,000 the recall is known to a percent.
const SAMPLE_MAX: u32 = 1_000;

const SAMPLE_DEFAULT: usize = 200;

impl RecallParameters {
    pub fn sample(&self) -> Sample {
        match self.sample {
            None => Sample::AtMost(SAMPLE_DEFAULT),
            Some(Within(sample)) => Sample::Exactly(sample as usize),
        }
    }
}

/// The scheme of the curve: without parameters the collection's own.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CurveParameters {
    /// By default the collection's threshold.
    threshold: Option<Threshold>,
    /// The wanted chance to find a document with a similarity of exactly the threshold: draws the
    /// curve of the scheme that akin would choose for it.
    #[param(exclusive_minimum = 0.0, exclusive_maximum = 1.0, example = 0.99)]
    recall: Option<f64>,
    /// The number of keys, all of which are looked up; with `rows`.
    #[param(minimum = 1, maximum = 1024)]
    bands: Option<u32>,
    /// Slots of a key; with `bands`.
    #[param(minimum = 1, maximum = 32)]
    rows: Option<u32>,
}

impl CurveParameters {
    /// # Errors
    /// Parameters that do not go together.
    pub fn of(&self) -> Result<CurveOf, Problem> {
        let threshold = self.threshold;
        let wrong = |detail| Err(Problem::new(Code::InvalidParameter, detail));
        match (self.recall, self.bands, self.rows) {
            (None, None, None) => Ok(CurveOf::Collection { threshold }),
            (Some(recall), None, None) => Ok(CurveOf::Wanted { threshold, recall }),
            (None, Some(bands), Some(rows)) => Ok(CurveOf::Keys { bands, rows, threshold }),
            (Some(_), ..) => wrong("the parameter 'recall' must stand without 'bands' and 'rows'"),
            (None, Some(_), None) => wrong("the parameter 'rows' is missing beside 'bands'"),
            (None, None, Some(_)) => wrong("the parameter 'bands' is missing beside 'rows'"),
        }
    }
}
