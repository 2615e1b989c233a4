//! Which documents a call means: the parameters `filter`, `stored_after` and `stored_before`.

use std::sync::Arc;

use jiff::Timestamp;
use utoipa::IntoParams;

use crate::engine::{Conditions, Filter};
use crate::http::problem::Problem;
use crate::http::request::query::{Parameter, Parameters, ReadParameters};

/// What a time looks like, to follow "must be".
pub const TIME_EXPECTED: &str = "a time in RFC 3339, such as 2026-11-21T12:00:00Z";

/// A moment in milliseconds since the epoch; what is finer is cut off.
#[derive(Clone, Copy)]
pub struct Time(pub i64);

impl Parameter for Time {
    fn parse(text: &str) -> Result<Self, String> {
        let time = text.parse::<Timestamp>().map_err(|_| TIME_EXPECTED.to_owned())?;
        Ok(Self(time.as_millisecond()))
    }
}

/// Which documents are meant: those that meet all of these.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ConditionParameters {
    /// A condition on the metadata, as the filter expressions of JSONPath have it (RFC 9535,
    /// section 2.3.5), in which `@` is the metadata: comparisons (`==`, `!=`, `<`, `<=`, `>`,
    /// `>=`) of strings, numbers, `true`, `false`, `null` and paths like `@.author.name` and
    /// `@.tags[0]`; tests whether there is a value, as `@.lang`, `@.tags[*]` and
    /// `@.tags[?@ == "news"]`; and `!`, `&&`, `||` and parentheses. Not there are `$`, `..`,
    /// functions, slices, lists of selectors, and filters within filters. What is absent equals
    /// nothing, and is not less or greater; a document without metadata counts as one with `{}`.
    #[param(value_type = Option<String>, max_length = 2048,
        example = "@.lang == \"en\" && @.year >= 2020")]
    pub filter: Option<Arc<Filter>>,
    /// Stored later than this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub stored_after: Option<Time>,
    /// Stored earlier than this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub stored_before: Option<Time>,
}

impl ReadParameters for ConditionParameters {
    fn read(parameters: &mut Parameters) -> Result<Self, Problem> {
        Ok(Self {
            filter: parameters.filter()?.map(Arc::new),
            stored_after: parameters.optional("stored_after")?,
            stored_before: parameters.optional("stored_before")?,
        })
    }
}

impl ConditionParameters {
    pub fn conditions(self) -> Conditions {
        Conditions {
            filter: self.filter,
            stored_after_ms: self.stored_after.map(|time| time.0),
            stored_before_ms: self.stored_before.map(|time| time.0),
        }
    }
}
