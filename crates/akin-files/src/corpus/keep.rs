//! Which document of a cluster is kept.

use std::convert::Infallible;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::input::{Record, Value};
use akin_model::document::Content;

/// Which document of a cluster is kept; of equal documents, the document with the lowest id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    LowestId,
    /// None: all documents of a cluster are removed.
    None,
    /// In the order of the input.
    First,
    Longest,
    Newest,
    /// The highest number or date.
    Highest(String),
}

/// The members with the time of a document, by precedence.
const TIMES: [&str; 6] = ["date", "timestamp", "updated_at", "created_at", "published", "time"];
/// The rank of a document without a value.
pub const NO_RANK: u64 = u64::MAX;

impl FromStr for Keep {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "id" => Self::LowestId,
            "none" => Self::None,
            "first" => Self::First,
            "longest" => Self::Longest,
            "newest" => Self::Newest,
            field => Self::Highest(field.to_owned()),
        })
    }
}

impl Keep {
    /// As `--keep` has it.
    pub fn name(&self) -> &str {
        match self {
            Self::LowestId => "id",
            Self::None => "none",
            Self::First => "first",
            Self::Longest => "longest",
            Self::Newest => "newest",
            Self::Highest(field) => field,
        }
    }

    /// Whether the choice depends on members other than the text.
    pub fn needs_members(&self) -> bool {
        self.members().is_some()
    }

    /// The names of the members that decide.
    pub fn members(&self) -> Option<String> {
        match self {
            Self::Newest => Some(TIMES.join(", ")),
            Self::Highest(member) => Some(member.clone()),
            _ => None,
        }
    }

    /// The document with the lowest rank is kept. For `First` the caller takes the order of the
    /// input.
    /// `bytes`: of the whole record.
    pub fn rank(&self, record: &Record<'_>, bytes: usize) -> u64 {
        match self {
            Self::LowestId | Self::None | Self::First => 0,
            Self::Longest => match &record.content {
                Content::Text(text) => !(text.len() as u64),
                _ => !(bytes as u64),
            },
            Self::Newest => of_member(record, &TIMES),
            Self::Highest(field) => of_member(record, &[field.as_str()]),
        }
    }
}

/// By the first of these members, also within the metadata.
fn of_member(record: &Record<'_>, names: &[&str]) -> u64 {
    let value = names.iter().find_map(|name| record.value(name));
    value.and_then(|value| number(&value)).map_or(NO_RANK, |number| !ascending(number))
}

/// A number, or the seconds since 1970 of a date.
fn number(value: &Value<'_>) -> Option<f64> {
    let Some(text) = value.text().ok()? else { return value.json().get().parse().ok() };
    let text = text.trim();
    let date = || text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from));
    let time = || match text.parse::<Timestamp>() {
        Ok(time) => Some(time),
        Err(_) => date().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp()),
    };
    // A missing value is often written as nan.
    let number = text.parse::<f64>().ok().filter(|number| !number.is_nan());
    number.or_else(|| time().map(|time| time.as_nanosecond() as f64 / 1e9))
}

/// Maps a number to bits, so that their order is the order of the numbers.
fn ascending(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use super::*;
    use crate::input::{Item, Origin, Source};

    fn rank(keep: &str, document: &Json) -> u64 {
        let mut document = document.clone();
        document.as_object_mut().unwrap().entry("text").or_insert(json!("words"));
        let item = Item {
            source: Source::Line(document.to_string().into_bytes().into()),
            origin: Origin { file: "f".into(), line: None },
            columns: Arc::default(),
            is_named_by_place: true,
        };
        keep.parse::<Keep>().unwrap().rank(&item.record().unwrap(), item.bytes())
    }

    #[test]
    fn the_longest_newest_and_highest_come_first() {
        let before = |keep: &str, a: Json, b: Json| {
            assert_eq!(rank(keep, &a).cmp(&rank(keep, &b)), Ordering::Less, "{keep} {a} {b}");
        };
        before("longest", json!({"text": "longer"}), json!({"text": "long"}));
        before("newest", json!({"date": "2024-01-02"}), json!({"date": "2024-01-01T23:59:59Z"}));
        before(
            "newest",
            json!({"metadata": {"timestamp": 2}, "text": ""}),
            json!({"timestamp": 1.5, "text": ""}),
        );
        before("text", json!({"text": "2"}), json!({"text": "1"}));
        before("score", json!({"score": -1}), json!({"score": -2.5}));
        before("score", json!({"score": "0.5"}), json!({"score": -0.5}));
        before("m.score", json!({"m": {"score": 2}}), json!({"m.score": 1}));
        before("score", json!({"score": -1e300}), json!({"score": "none", "x": 1}));
        before("score", json!({"score": 0}), json!({"score": "NaN"}));
    }
}
