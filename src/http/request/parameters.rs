//! The query parameters of each call, but for those of lookups.

use std::num::{NonZeroU32, NonZeroUsize};

use serde::{Deserialize, Deserializer, de};
use utoipa::IntoParams;

use crate::document::{DocumentId, Ordinal};
use crate::engine::{CurveOf, Discovery, Linkage, Lookup, Order};
use crate::http::ServerSettings;
use crate::http::problem::Problem;
use crate::http::problem::code::Code;
use crate::http::request::include::Include;
use crate::http::request::lookup;
use crate::scheme::Threshold;

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

/// What a `POST /documents` names of a text.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TextParameters {
    /// With `text/plain` only: the document's id.
    pub id: Option<DocumentId>,
}

/// What else is returned of a document.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct GetParameters {
    /// `sketch`, `shingles`, or both with a comma between.
    #[param(value_type = Option<String>, pattern = "^(sketch|shingles)(,(sketch|shingles))*$",
        example = "sketch,shingles")]
    pub include: Option<Include>,
}

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
}

/// Where a page of clusters or members begins.
#[derive(Clone, Copy)]
pub struct Cursor(pub Ordinal);

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let ordinal = text.parse::<u64>().ok().and_then(|of| Ordinal::try_from(of).ok());
        ordinal.map(Self).ok_or_else(|| de::Error::custom("must be the `next` of an answer"))
    }
}

/// A page of the clusters that a collection keeps.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StoredClusterParameters {
    /// The `next` of the previous page.
    #[param(value_type = Option<String>, example = "42")]
    pub after: Option<Cursor>,
    /// The most clusters of a page.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 10_000, default = 20)]
    pub limit: Option<NonZeroUsize>,
    /// The fewest documents of a cluster.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295_u64, default = 2)]
    min_size: Option<NonZeroU32>,
}

impl StoredClusterParameters {
    pub fn min_size(&self) -> usize {
        self.min_size.map_or(2, |size| size.get() as usize)
    }
}

/// What counts as a cluster.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ClusterParameters {
    /// The id of a stored document, for the cluster of this document alone.
    pub id: Option<DocumentId>,
    /// With `id`: the most members that are returned.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 10_000, default = 20)]
    limit: Option<NonZeroUsize>,
    /// With `id`, of a collection that keeps clusters: the `next` of the previous page of members.
    #[param(value_type = Option<String>, example = "42")]
    after: Option<Cursor>,
    /// By default `single`.
    pub linkage: Option<Linkage>,
    /// The fewest documents of a cluster.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295_u64, default = 2)]
    min_size: Option<NonZeroU32>,
}

impl ClusterParameters {
    /// The lookups that find the cluster of one document.
    ///
    /// # Errors
    /// Parameters that are of all clusters.
    pub fn of_document(
        &self,
        discovery: Discovery,
        settings: &ServerSettings,
    ) -> Result<Lookup, Problem> {
        if self.min_size.is_some() || self.linkage.is_some_and(|linkage| linkage != Linkage::Single)
        {
            let detail = "the parameter 'id' is for the single linkage, and has no 'min_size'";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let limit = lookup::limit(self.limit, settings)?;
        let Discovery { threshold, mode } = discovery;
        Ok(Lookup { threshold, limit, mode, ..Lookup::default() })
    }

    /// Where the page of members begins, if the cluster of one document is `stored`.
    ///
    /// # Errors
    /// A page of one that is looked up.
    pub fn after(&self, stored: bool) -> Result<Option<Ordinal>, Problem> {
        if self.after.is_none() || stored {
            return Ok(self.after.map(|of| of.0));
        }
        let detail = "the parameter 'after' is for clusters that the collection keeps, with their \
                      threshold and without a mode";
        Err(Problem::new(Code::InvalidParameter, detail))
    }

    /// # Errors
    /// A limit or a page without an id.
    pub fn check_limit(&self) -> Result<(), Problem> {
        let named = [("limit", self.limit.is_some()), ("after", self.after.is_some())];
        let Some((name, _)) = named.into_iter().find(|(_, is_given)| *is_given) else {
            return Ok(());
        };
        let detail =
            format!("the parameter '{name}' is for the cluster of one document: give its 'id'");
        Err(Problem::new(Code::InvalidParameter, detail))
    }

    pub fn min_size(&self) -> usize {
        self.min_size.map_or(2, |size| size.get() as usize)
    }
}

/// How recall is measured.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RecallParameters {
    /// How many documents are drawn at random.
    #[param(minimum = 1, maximum = 1_000, default = 200)]
    sample: Option<u32>,
    /// By default the collection's threshold.
    pub threshold: Option<Threshold>,
}

/// Documents that are drawn where the call does not say how many.
const SAMPLE_DEFAULT: u32 = 200;

impl RecallParameters {
    /// # Errors
    /// A sample of none, or of more than `sample_max`.
    pub fn sample(&self, sample_max: usize) -> Result<usize, Problem> {
        let sample = self.sample.unwrap_or(SAMPLE_DEFAULT.min(sample_max as u32)) as usize;
        if (1..=sample_max).contains(&sample) {
            return Ok(sample);
        }
        let detail = format!("the parameter 'sample' must be 1..={sample_max}");
        Err(Problem::new(Code::InvalidParameter, detail))
    }
}

/// The scheme whose curve is drawn: without parameters the collection's own.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CurveParameters {
    /// By default the collection's threshold.
    threshold: Option<Threshold>,
    /// The wanted chance to find a document whose similarity is exactly the threshold: draws the
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
