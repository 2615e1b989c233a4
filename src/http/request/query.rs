//! Query parameters. An unknown name, a name given twice and a value that is not allowed are each
//! refused by name.

use std::borrow::Cow;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use serde_json::Error;
use serde_path_to_error::Path;

use crate::http::AppState;
use crate::http::problem::{Code, Problem};
use crate::http::request::hint;
use crate::http::request::named::Named;

/// The longest name or value that a problem repeats, in characters.
const SHOWN_CHARS_MAX: usize = 64;

/// The extractor of a call's parameters: a struct that derives `Deserialize`, or a tuple of
/// structs.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        read(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

/// A number from `MIN` to `MAX`.
#[derive(Clone, Copy, Serialize)]
pub struct Within<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> Default for Within<MIN, MAX> {
    fn default() -> Self {
        Self(MIN)
    }
}

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        if (MIN..=MAX).contains(&number) {
            return Ok(Self(number));
        }
        Err(de::Error::custom(format_args!("must be {MIN}..={MAX}, not {number}")))
    }
}

/// Of a call without parameters.
#[derive(Deserialize)]
pub struct NoParameters {}

pub fn read<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let mut named = Named::new(pairs.map(|(name, value)| (name, Text(value))));
    let invalid = |detail| Problem::new(Code::InvalidParameter, detail);
    let has_text = || pairs.map(|(name, _)| name).any(|name| name == "text");
    let read = named.read().map_err(|(path, error)| invalid(fault(path, &error, has_text)))?;
    match named.left() {
        Some(name) => Err(invalid(unknown(name, &named.known()))),
        None => Ok(read),
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    let allowed = match known {
        [] => "no parameters".to_owned(),
        known => format!("only {}", known.join(", ")),
    };
    let meant = hint::nearest(name, known.iter().copied());
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"));
    format!("there is no parameter '{}': this call takes {allowed}{meant}", shown(name))
}

/// A client's own words, shortened.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// The fault with the parameter's name. The error itself names missing and repeated parameters.
/// Calls that need an id take a text, too, but in the body of a POST.
fn fault(path: Option<Path>, error: &Error, has_text: impl Fn() -> bool) -> String {
    let path = path.map(|path| path.to_string()).unwrap_or_default();
    let message = hint::explained(&error.to_string());
    let named = |start: &str| message.strip_prefix(start)?.strip_suffix('`');
    if let Some(name) = named("missing field `") {
        let posted = if has_text() { "; a text goes in the body of a POST" } else { "" };
        format!("the parameter '{name}' is missing{posted}")
    } else if let Some(name) = named("duplicate field `") {
        format!("the parameter '{name}' is given more than once")
    } else if message.starts_with("must be ") {
        format!("the parameter '{path}' {message}")
    } else {
        format!("the parameter '{path}' is wrong: {message}")
    }
}

/// A parameter's value.
struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    fn parse<T: FromStr>(&self, expected: &str) -> Result<T, Error> {
        let unexpected = || de::Error::invalid_value(Unexpected::Str(&shown(&self.0)), &expected);
        self.0.parse().map_err(|_| unexpected())
    }
}

impl IntoDeserializer<'_, Error> for Text<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0.into_owned())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.parse("true or false")?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(self.parse("a whole number")?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(self.parse("a number")?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.into_deserializer().deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 u8 u16 f32 char str string bytes byte_buf unit unit_struct newtype_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::OnDuplicate;
    use crate::http::request::lookup::{ConditionParameters, LookupParameters};
    use crate::http::request::options::{AddParameters, CompareParameters};
    use crate::http::request::parameters::{GetParameters, StoredId, TextParameters};

    type Lookup = (LookupParameters, ConditionParameters);

    #[test]
    fn values_are_percent_decoded() {
        let query = "id=https%3A%2F%2Fa.b%2F%3Fc%26d&check=false";
        let (text, add): (TextParameters, AddParameters) = read(query).unwrap();
        let add = add.options().ok().unwrap();
        assert_eq!(text.id.unwrap().as_str(), "https://a.b/?c&d");
        assert_eq!((add.check, add.on_duplicate), (false, OnDuplicate::Keep));
    }

    #[track_caller]
    fn refused<T: DeserializeOwned>(query: &str, expected: &str) {
        let problem = read::<T>(query).err().unwrap();
        assert_eq!(problem.code, Code::InvalidParameter);
        assert!(problem.detail.contains(expected), "{query}: {}", problem.detail);
    }

    #[test]
    fn a_wrong_parameter_is_named_with_what_is_allowed() {
        refused::<Lookup>(
            "mode=exakt",
            "'mode' is wrong: unknown variant `exakt`, expected one of `verified`, `estimated`, \
             `exact`; did you mean `exact`?",
        );
        refused::<Lookup>("limit=-1", "'limit' is wrong: invalid value: string \"-1\"");
        refused::<Lookup>("limit=0", "'limit' is wrong: invalid value: integer `0`");
        for threshold in ["0", "1.01", "NaN"] {
            refused::<Lookup>(
                &format!("threshold={threshold}"),
                "'threshold' is wrong: a threshold must be above 0 and at most 1, not ",
            );
        }
        refused::<Lookup>("points=0", "'points' is wrong: invalid value: integer `0`");
        refused::<Lookup>("points=1.5", "expected a whole number");
        refused::<Lookup>("stored_after=now", "'stored_after' must be a time in RFC 3339");
        refused::<AddParameters>("on_duplicate=merge", "expected `keep` or `skip`");
        refused::<AddParameters>("check=no", "expected true or false");
        refused::<GetParameters>("include=texts", "'include' must be sketch, shingles");
        refused::<CompareParameters>("measures=edit,x", "'measures' must be edit, lcs");
        refused::<Lookup>("include=sketch", "'include' must be text, metadata");
    }

    #[test]
    fn unknown_repeated_and_missing_parameters_are_named() {
        refused::<Lookup>("limit=1&limit=2", "'limit' is given more than once");
        refused::<Lookup>(
            "sort=id",
            "'sort': this call takes only k, measure, of, threshold, points, limit, offset",
        );
        refused::<Lookup>("limti=1", "did you mean 'limit'?");
        refused::<NoParameters>("a=b", "this call takes no parameters");
        refused::<StoredId>("", "'id' is missing");
        refused::<StoredId>("k=3&text=a", "'id' is missing; a text goes in the body of a POST");
        let long = "x".repeat(1_000);
        assert!(read::<NoParameters>(&long).err().unwrap().detail.len() < 200);
    }
}
