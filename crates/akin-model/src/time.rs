//! Times as clients read and write them: RFC 3339 in UTC.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A time as RFC 3339 has it, to the millisecond. Finer parts of a client's time are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, format = DateTime, example = "2026-11-21T12:00:00.000Z")]
pub struct Time(pub i64);

impl TryFrom<String> for Time {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let expected = "must be a time in RFC 3339, such as 2026-11-21T12:00:00Z";
        let time = text.parse::<Timestamp>().map_err(|_| expected)?;
        Ok(Self(time.as_millisecond()))
    }
}

impl From<Time> for String {
    fn from(Time(ms): Time) -> Self {
        // A time to live may end after the last time that can be written.
        let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        format!("{time:.3}")
    }
}
