//! The options of a lookup, in the query or in the probe itself.

use std::borrow::Cow;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::engine::{Conditions, ContainedOf, Filter, Lookup, MatchDetails, Mode};
use crate::http::ServerSettings;
use crate::http::problem::{Code, Problem};
use crate::http::request::{Chosen, OptionStruct};
use crate::http::settings::FILTER_BYTES_MAX;
use akin_core::scheme::Threshold;
use akin_model::time::Time;

/// Matches of a lookup, and ids of a page, where the call does not limit them.
const LIMIT_DEFAULT: usize = 20;

/// Which matches a lookup returns.
#[derive(Clone, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct LookupParameters {
    /// The number of matches: the most similar documents, however unlike they are, instead of the
    /// documents that reach a threshold. `threshold`, `points`, `limit` and `offset` must not be
    /// given with it, and `mode` must not be `exact`.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 10_000, example = 10)]
    #[schema(value_type = Option<usize>, minimum = 1, maximum = 10_000, example = 10)]
    pub k: Option<NonZeroUsize>,
    /// The score by which documents match: `resemblance`, or `containment`, the share of the
    /// shingles of `of` that both have. Lookups by containment need the setting `passages.words`,
    /// and find documents that share a run of so many words with the probe.
    #[param(default = "resemblance")]
    pub measure: Option<LookupMeasure>,
    /// With `measure=containment`: what is contained in the other, the `probe` or the `match`.
    #[param(default = "probe")]
    pub of: Option<ContainedOf>,
    /// The lowest Jaccard similarity (resemblance) of a match, or with `measure=containment` its
    /// lowest containment; by default the collection's threshold.
    pub threshold: Option<Threshold>,
    /// Of records, the fewest points of a match; by default the collection's. Other documents have
    /// a `threshold` instead.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 3_200, example = 250)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 3_200, example = 250)]
    pub points: Option<NonZeroU32>,
    /// The most matches that are returned.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 10_000, default = 20)]
    #[schema(value_type = Option<usize>, minimum = 1, maximum = 10_000)]
    pub limit: Option<NonZeroUsize>,
    /// Matches to leave out before the first that is returned. Pages of one lookup have every match
    /// once, unless documents are written between the calls.
    #[param(minimum = 0, maximum = 9_999, default = 0)]
    #[schema(minimum = 0, maximum = 9_999)]
    pub offset: Option<u32>,
    /// `verified`: candidates share a key of the MinHash sketch, and each is checked exactly;
    /// `estimated`: they are scored by their sketches alone; `exact`: checked exactly, and no
    /// match is missed. By default `verified`, and `exact` where the kind is `prefix`.
    pub mode: Option<Mode>,
    /// The optional parts of each match: `text` (its text, tokens or fields), `metadata`,
    /// `highlights` (the parts of its text that the probe shares), or several with commas between.
    /// By default none.
    #[param(value_type = Option<String>,
        pattern = "^(text|metadata|highlights)(,(text|metadata|highlights))*$",
        example = "text,metadata")]
    #[schema(value_type = Option<Vec<String>>, example = json!(["text", "metadata"]))]
    pub include: Option<Chosen<MatchDetails>>,
}

/// The score by which documents match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookupMeasure {
    Resemblance,
    Containment,
}

/// Conditions on documents, all of which must be met.
#[derive(Clone, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct ConditionParameters {
    /// A condition on the metadata: a filter expression of JSONPath (RFC 9535, section 2.3.5) in
    /// which `@` is the metadata. There are comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) of
    /// strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and `@.tags[0]`;
    /// tests whether there is a value, as `@.lang`, `@.tags[*]` and `@.tags[?@ == "news"]`; and
    /// `!`, `&&`, `||` and parentheses. There are no `$`, `..`, functions, slices, lists of
    /// selectors, or filters within filters. A value that is absent equals nothing, and is not less
    /// or greater than anything; a document without metadata counts as a document with `{}`.
    #[param(max_length = 2048, example = "@.lang == \"en\" && @.year >= 2020")]
    #[schema(max_length = 2048)]
    pub filter: Option<String>,
    /// Stored later than this time.
    pub stored_after: Option<Time>,
    /// Stored earlier than this time.
    pub stored_before: Option<Time>,
}

/// Why an option cannot be: the option's name, and its fault.
pub struct WrongOption {
    name: Cow<'static, str>,
    detail: String,
}

impl From<WrongOption> for Problem {
    fn from(WrongOption { name, detail }: WrongOption) -> Self {
        Self::new(Code::InvalidParameter, format!("the parameter '{name}' {detail}"))
    }
}

impl WrongOption {
    pub fn new(name: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), detail: detail.into() }
    }

    /// The option is in the body.
    pub fn in_body(self, code: Code) -> Problem {
        Problem::of_field(code, format!("/{}", self.name), self.detail)
    }
}

/// # Errors
/// A limit over `limit_max`.
pub fn limit(given: Option<NonZeroUsize>, settings: &ServerSettings) -> Result<usize, WrongOption> {
    let limit = given.map_or(LIMIT_DEFAULT.min(settings.limit_max), NonZeroUsize::get);
    if limit <= settings.limit_max {
        return Ok(limit);
    }
    let detail = format!("must be 1..={}, not {limit}", settings.limit_max);
    Err(WrongOption::new("limit", detail))
}

/// # Errors
/// An offset that together with `limit` is over `limit_max`.
pub fn offset(
    given: Option<u32>,
    limit: usize,
    settings: &ServerSettings,
) -> Result<usize, WrongOption> {
    let offset = given.unwrap_or(0) as usize;
    if offset + limit <= settings.limit_max {
        return Ok(offset);
    }
    let max = settings.limit_max;
    let detail = format!("must be at most {max} together with 'limit', not {offset} + {limit}");
    Err(WrongOption::new("offset", detail))
}

impl LookupParameters {
    /// # Errors
    /// A `k` over `limit_max`, or beside an option that contradicts it.
    fn k(&self, settings: &ServerSettings) -> Result<Option<NonZeroUsize>, WrongOption> {
        let Some(k) = self.k else { return Ok(None) };
        let others = [
            ("measure", self.measure == Some(LookupMeasure::Containment)),
            ("threshold", self.threshold.is_some()),
            ("points", self.points.is_some()),
            ("limit", self.limit.is_some()),
            ("offset", self.offset.is_some()),
        ];
        let wrong = |detail| Err(WrongOption::new("k", detail));
        if let Some((other, _)) = others.iter().find(|(_, is_given)| *is_given) {
            return wrong(format!(
                "is the number of most similar documents, however unlike they are: '{other}' must \
                 not be given with it"
            ));
        }
        if self.mode == Some(Mode::Exact) {
            return wrong("must not be given with the mode exact, which needs a threshold".into());
        }
        let max = settings.limit_max;
        if k.get() > max { wrong(format!("must be 1..={max}, not {k}")) } else { Ok(Some(k)) }
    }

    /// # Errors
    /// `of` without containment.
    fn contained(&self) -> Result<Option<ContainedOf>, WrongOption> {
        match (self.measure, self.of) {
            (Some(LookupMeasure::Containment), of) => Ok(Some(of.unwrap_or_default())),
            (_, None) => Ok(None),
            (_, Some(_)) => {
                Err(WrongOption::new("of", "must be given with measure=containment only"))
            }
        }
    }
}

impl ConditionParameters {
    /// Whether there is a condition.
    pub fn are_any(&self) -> bool {
        self.filter.is_some() || self.stored_after.is_some() || self.stored_before.is_some()
    }

    pub fn conditions(&self) -> Result<Conditions, WrongOption> {
        let filter = self.filter.as_deref();
        let filter = filter.map(|text| Filter::parse(text, FILTER_BYTES_MAX)).transpose();
        let filter = filter
            .map_err(|error| WrongOption::new("filter", format!("is not a filter: {error}")))?;
        Ok(Conditions {
            filter: filter.map(Arc::new),
            stored_after_ms: self.stored_after.map(|time| time.0),
            stored_before_ms: self.stored_before.map(|time| time.0),
        })
    }
}

/// All options of a lookup, as a client gave them.
pub type LookupOptions = (LookupParameters, ConditionParameters);

impl OptionStruct for LookupParameters {
    const SCHEMA_PREFIX: &'static str = "Lookup";
}

impl OptionStruct for ConditionParameters {}

/// The lookup, and the optional parts of each match.
pub fn read(
    (given, conditions): &LookupOptions,
    settings: &ServerSettings,
) -> Result<(Lookup, MatchDetails), WrongOption> {
    let limit = limit(given.limit, settings)?;
    let lookup = Lookup {
        k: given.k(settings)?,
        contained: given.contained()?,
        threshold: given.threshold,
        points: given.points.map(NonZeroU32::get),
        limit,
        offset: offset(given.offset, limit, settings)?,
        mode: given.mode,
        conditions: conditions.conditions()?,
    };
    Ok((lookup, given.include.unwrap_or_default().0))
}
