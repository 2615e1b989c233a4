//! The members of a record with their values, and nested members, by names with dots.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::error::Category;
use serde_json::value::{RawValue, to_raw_value};

use super::detect::NOT_UTF_8;

/// A member of a record: its name and its value.
pub type Member<'a> = (Cow<'a, str>, Value<'a>);

/// A value of a record, as the format has it.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Text(Cow<'a, str>),
    Json(Cow<'a, RawValue>),
}

impl Value<'_> {
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Json(json) if json.get() == "null")
    }

    pub fn is_text(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Json(json) => json.get().starts_with('"'),
        }
    }

    pub fn is_list(&self) -> bool {
        matches!(self, Self::Json(json) if json.get().starts_with('['))
    }

    /// The text; `None` if the value is no text.
    ///
    /// # Errors
    /// The JSON of the text is not Unicode.
    pub fn text(&self) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
        match self {
            Self::Text(text) => Ok(Some(Cow::Borrowed(text))),
            Self::Json(json) if self.is_text() => {
                serde_json::from_str::<Name<'_>>(json.get()).map(|text| Some(text.0))
            }
            Self::Json(_) => Ok(None),
        }
    }

    /// The value as JSON.
    pub fn json(&self) -> Cow<'_, RawValue> {
        match self {
            Self::Text(text) => Cow::Owned(to_raw_value(text).expect("a text always makes JSON")),
            Self::Json(json) => Cow::Borrowed(json),
        }
    }

    /// The size in memory, nearly.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Json(json) => json.get().len(),
        }
    }

    pub fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::Json(json) => Value::Json(Cow::Borrowed(json)),
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Json(json) => json.serialize(serializer),
        }
    }
}

/// The values of a record, by the names of its columns.
pub type Values = Vec<(Arc<str>, Value<'static>)>;

/// A text by the name of its column.
pub fn text_value(name: &str, text: &str) -> (Arc<str>, Value<'static>) {
    (name.into(), Value::Text(text.to_owned().into()))
}

/// The members of a JSON object, in their order.
///
/// # Errors
/// The JSON is malformed, or not an object.
pub fn members(json: &[u8]) -> Result<Vec<Member<'_>>, String> {
    struct Members;
    impl<'a> Visitor<'a> for Members {
        type Value = Vec<Member<'a>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(name) = map.next_key::<Name<'a>>()? {
                let json = map.next_value::<&RawValue>()?;
                members.push((name.0, Value::Json(Cow::Borrowed(json))));
            }
            Ok(members)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let members = deserializer.deserialize_map(Members);
    let members = members.and_then(|members| deserializer.end().map(|()| members));
    members.map_err(|error| match std::str::from_utf8(json) {
        Ok(_) => fault(&error),
        Err(_) => NOT_UTF_8.to_owned(),
    })
}

/// Why JSON cannot be read.
pub fn fault(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match error.classify() {
        // Where it is says the path of the member better.
        Category::Data => {
            message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message).to_owned()
        }
        _ => format!("malformed JSON: {message}"),
    }
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The rest of a path after a member's name and a dot.
pub fn below<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    path.strip_prefix(name)?.strip_prefix('.')
}

/// Each way to split a path into a name and the path below it.
fn partings(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]))
}

pub fn find_exact<'m>(members: &'m [Member<'_>], name: &str) -> Option<Value<'m>> {
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value.borrowed())
}

/// The value of the member of this name; or, by a name with dots, of a nested member.
pub fn find<'m>(members: &'m [Member<'_>], name: &str) -> Option<Value<'m>> {
    let within = |(outer, path)| find_within(&find_exact(members, outer)?, path);
    find_exact(members, name).or_else(|| partings(name).find_map(within))
}

fn find_within<'j>(object: &Value<'j>, path: &str) -> Option<Value<'j>> {
    let Value::Json(Cow::Borrowed(object)) = object else { return None };
    let members = members(object.get().as_bytes()).ok()?;
    let exact = |name: &str| {
        let (_, value) = members.iter().find(|(known, _)| known == name)?;
        Some(value.clone())
    };
    exact(path)
        .or_else(|| partings(path).find_map(|(outer, path)| find_within(&exact(outer)?, path)))
}

/// An object without the member at a path; `None` if it does not have the member.
pub fn without(object: &RawValue, path: &str) -> Option<Box<RawValue>> {
    let mut members = members(object.get().as_bytes()).ok()?;
    if let Some(at) = members.iter().position(|(name, _)| name == path) {
        members.remove(at);
        return Some(self::object(&members));
    }
    let inner = members
        .iter()
        .enumerate()
        .find_map(|(at, (name, value))| Some((at, without(&value.json(), below(path, name)?)?)));
    let (at, rest) = inner?;
    members[at].1 = Value::Json(Cow::Owned(rest));
    Some(self::object(&members))
}

/// An object with another text as the value of the member at a path; `None` if the member is absent
/// or no text.
pub fn replaced(object: &[u8], path: &str, text: &str) -> Option<Box<RawValue>> {
    let mut members = members(object).ok()?;
    if let Some((_, old)) = members.iter_mut().find(|(name, _)| name == path) {
        old.is_text().then_some(())?;
        *old = Value::Text(Cow::Borrowed(text));
        return Some(self::object(&members));
    }
    let (at, inner) = partings(path).find_map(|(outer, path)| {
        let at = members.iter().position(|(name, _)| name == outer)?;
        Some((at, replaced(members[at].1.json().get().as_bytes(), path, text)?))
    })?;
    members[at].1 = Value::Json(Cow::Owned(inner));
    Some(self::object(&members))
}

/// Members as a JSON object.
pub fn object(members: &[Member<'_>]) -> Box<RawValue> {
    let mut json = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut json);
    let members = members.iter().map(|(name, value)| (name, value));
    serializer.collect_map(members).expect("members always make JSON");
    let json = String::from_utf8(json).expect("JSON is UTF-8");
    RawValue::from_string(json).expect("it was just written")
}
