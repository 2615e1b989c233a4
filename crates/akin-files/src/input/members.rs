//! The members of a record, and nested members, by names with dots.

use std::borrow::Cow;
use std::fmt;

use serde::Serializer;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};

/// A member of a record: its name, and its value as JSON.
pub type Member<'a> = (Cow<'a, str>, Cow<'a, RawValue>);

/// A member with a text as its value.
pub fn text_member<'a>(name: impl Into<Cow<'a, str>>, text: &str) -> Member<'a> {
    let json = to_raw_value(text).expect("a text always makes JSON");
    (name.into(), Cow::Owned(json))
}

/// The members of a JSON object, in their order; `None` if the JSON is not an object.
pub fn members(json: &[u8]) -> Option<Vec<Member<'_>>> {
    struct Members;
    impl<'a> Visitor<'a> for Members {
        type Value = Vec<Member<'a>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(name) = map.next_key::<Name<'a>>()? {
                members.push((name.0, Cow::Borrowed(map.next_value::<&RawValue>()?)));
            }
            Ok(members)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let members = deserializer.deserialize_map(Members).ok()?;
    deserializer.end().ok().map(|()| members)
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

pub fn find_exact<'m>(members: &'m [Member<'_>], name: &str) -> Option<&'m RawValue> {
    members.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
}

/// The value of the member of this name; or, by a name with dots, of a nested member.
pub fn find<'m>(members: &'m [Member<'_>], name: &str) -> Option<&'m RawValue> {
    let within = |(outer, path)| find_within(find_exact(members, outer)?, path);
    find_exact(members, name).or_else(|| partings(name).find_map(within))
}

fn find_within<'j>(object: &'j RawValue, path: &str) -> Option<&'j RawValue> {
    let members = members(object.get().as_bytes())?;
    let exact = |name: &str| {
        members.iter().find(|(known, _)| known == name).and_then(|(_, value)| match value {
            Cow::Borrowed(value) => Some(*value),
            Cow::Owned(_) => None,
        })
    };
    exact(path)
        .or_else(|| partings(path).find_map(|(outer, path)| find_within(exact(outer)?, path)))
}

/// An object without the member at a path; `None` if it does not have the member.
pub fn without(object: &RawValue, path: &str) -> Option<Box<RawValue>> {
    let mut members = members(object.get().as_bytes())?;
    if let Some(at) = members.iter().position(|(name, _)| name == path) {
        members.remove(at);
        return Some(self::object(&members));
    }
    let inner = members
        .iter()
        .enumerate()
        .find_map(|(at, (name, value))| Some((at, without(value, below(path, name)?)?)));
    let (at, rest) = inner?;
    members[at].1 = Cow::Owned(rest);
    Some(self::object(&members))
}

/// An object with another value of the member at a path; `None` if it does not have the member.
pub fn replaced(object: &[u8], path: &str, value: &RawValue) -> Option<Box<RawValue>> {
    let mut members = members(object)?;
    if let Some((_, old)) = members.iter_mut().find(|(name, _)| name == path) {
        *old = Cow::Borrowed(value);
        return Some(self::object(&members));
    }
    let (at, inner) = partings(path).find_map(|(outer, path)| {
        let at = members.iter().position(|(name, _)| name == outer)?;
        Some((at, replaced(members[at].1.get().as_bytes(), path, value)?))
    })?;
    members[at].1 = Cow::Owned(inner);
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
