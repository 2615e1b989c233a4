//! JSON as a page shows it: on several lines, decimals to four places, what matters first.
//!
//! A line `...` ends an object whose other members, an array whose other elements, or a block whose
//! other values are left out.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The longest line.
const WIDTH: usize = 112;

/// Where something is left out: as an element, as a value, or as the name of a member.
const LEFT_OUT: &str = "...";

/// Differs at every run, by member.
const VOLATILE: [&str; 7] =
    ["request_id", "uptime_s", "stored_at", "created_at", "started_at", "seconds", "position"];
const VOLATILE_ENDINGS: [&str; 4] = ["took_us", "took_ms", "bytes", "measured_bytes_per_document"];

/// A value whose members stay in order.
#[derive(Clone, Debug)]
enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    /// Anything else.
    Leaf(Value),
}

use Json::{Array, Leaf, Object};

/// # Errors
/// One of them is not JSON.
pub fn same(shown: &str, came: &str) -> Result<bool, String> {
    let shown = read(&with_marks(shown)).map_err(|error| format!("shown is no JSON: {error}"))?;
    let came = read(came).map_err(|error| format!("what came is no JSON: {error}\n{came}"))?;
    Ok(agree(&Array(shown), &Array(came), ""))
}

pub fn show(shown_before: &str, came: &str) -> String {
    let Ok(came) = read(came) else { return came.trim_end().to_owned() };
    let before = read(&with_marks(shown_before)).unwrap_or_default();
    let Array(picked) = pick(&Array(before), Array(came)) else { unreachable!("it was one") };
    let texts: Vec<String> = picked.iter().map(|value| value.pretty(0)).collect();
    texts.join("\n").replace("\"...\": \"...\"", LEFT_OUT).replace("\"...\"", LEFT_OUT)
}

fn read(text: &str) -> serde_json::Result<Vec<Json>> {
    serde_json::Deserializer::from_str(text).into_iter().collect()
}

/// Makes JSON of what has `...` in it.
fn with_marks(shown: &str) -> String {
    let lines: Vec<&str> = shown.lines().collect();
    let marked = lines.iter().enumerate().map(|(at, line)| {
        let closing = lines.get(at + 1).map_or("", |next| next.trim_start());
        match (line.trim(), closing.starts_with('}')) {
            (LEFT_OUT, true) => "\"...\": \"...\"",
            (LEFT_OUT, false) => "\"...\"",
            _ => line,
        }
    });
    marked.collect::<Vec<_>>().join("\n")
}

fn is_left_out(value: &Json) -> bool {
    matches!(value, Leaf(Value::String(text)) if text == LEFT_OUT)
}

/// Whether what came is what is shown, and more only where something is left out.
fn agree(shown: &Json, came: &Json, name: &str) -> bool {
    match (shown, came) {
        (Object(shown), Object(came)) => {
            let left_out = shown.last().is_some_and(|(name, _)| name == LEFT_OUT);
            let named = &shown[..shown.len() - usize::from(left_out)];
            (left_out || named.len() == came.len())
                && named.iter().all(|(name, value)| {
                    member(came, name).is_some_and(|came| agree(value, came, name))
                })
        }
        (Array(shown), Array(came)) => {
            let left_out = shown.last().is_some_and(is_left_out);
            let first = &shown[..shown.len() - usize::from(left_out)];
            (if left_out { first.len() <= came.len() } else { first.len() == came.len() })
                && first.iter().zip(came).all(|(shown, came)| agree(shown, came, name))
        }
        (Leaf(shown), Leaf(came)) if is_volatile(name) => {
            shown.is_string() == came.is_string() && shown.is_number() == came.is_number()
        }
        (Leaf(shown), Leaf(came)) => rounded(shown) == rounded(came) || both_uuids(shown, came),
        _ => false,
    }
}

fn member<'a>(members: &'a [(String, Json)], name: &str) -> Option<&'a Json> {
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn is_volatile(name: &str) -> bool {
    VOLATILE.contains(&name) || VOLATILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn both_uuids(a: &Value, b: &Value) -> bool {
    let is_uuid = |value: &Value| value.as_str().is_some_and(|t| uuid::Uuid::try_parse(t).is_ok());
    is_uuid(a) && is_uuid(b)
}

/// Decimals to four places, anything else as it is.
fn rounded(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => {
            let text = format!("{number:.4}");
            let short = text.trim_end_matches('0');
            if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
        }
        _ => value.to_string(),
    }
}

/// Of what came, what was shown before: the same members, as many elements.
fn pick(before: &Json, came: Json) -> Json {
    match (before, came) {
        (Object(before), Object(mut came)) => {
            if before.last().is_some_and(|(name, _)| name == LEFT_OUT) {
                came.retain(|(name, _)| member(before, name).is_some());
                came.push((LEFT_OUT.into(), Leaf(LEFT_OUT.into())));
            }
            let picked = came.into_iter().map(|(name, value)| match member(before, &name) {
                Some(before) => (name, pick(before, value)),
                None => (name, value),
            });
            Object(picked.collect())
        }
        (Array(before), Array(mut came)) => {
            let left_out = before.last().is_some_and(is_left_out);
            if left_out {
                came.truncate(before.len() - 1);
            }
            let mut picked: Vec<Json> = Vec::new();
            for (at, value) in came.into_iter().enumerate() {
                picked.push(match before.get(at) {
                    Some(before) => pick(before, value),
                    None => value,
                });
            }
            picked.extend(left_out.then(|| Leaf(LEFT_OUT.into())));
            Array(picked)
        }
        (_, came) => came,
    }
}

impl Json {
    fn line(&self) -> String {
        match self {
            Object(members) => {
                let member = |(name, value): &(String, Json)| format!("{name:?}: {}", value.line());
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
            }
            Array(elements) => {
                format!("[{}]", elements.iter().map(Self::line).collect::<Vec<_>>().join(", "))
            }
            Leaf(value) => rounded(value),
        }
    }

    /// On one line if it fits and leaves nothing out, else on one for each member or element.
    fn pretty(&self, indent: usize) -> String {
        let line = self.line();
        if indent + line.chars().count() <= WIDTH
            && (!line.contains("\"...\"") || is_left_out(self))
        {
            return line;
        }
        let (open, close, parts) = match self {
            Object(members) => {
                let part = |(name, value): &(String, Json)| {
                    format!("{name:?}: {}", value.pretty(indent + 2))
                };
                ('{', '}', members.iter().map(part).collect::<Vec<_>>())
            }
            Array(elements) => ('[', ']', elements.iter().map(|e| e.pretty(indent + 2)).collect()),
            Leaf(_) => return line,
        };
        let inner = " ".repeat(indent + 2);
        let outer = " ".repeat(indent);
        format!("{open}\n{inner}{}\n{outer}{close}", parts.join(&format!(",\n{inner}")))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        Ok(Array(elements))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Leaf(text.into()))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Json, E> {
        Ok(Leaf(truth.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        Ok(Leaf(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        Ok(Leaf(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
        Ok(Leaf(number.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Leaf(Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_but_for_what_differs_at_every_run() {
        let came = r#"{"b": 0.123456, "took_us": 7, "a": [1, {"c": null}]}"#;
        assert!(same(r#"{"a": [1, {"c": null}], "b": 0.1235, "took_us": 9}"#, came).unwrap());
        assert!(!same(r#"{"a": [1, {"c": null}], "b": 0.1234, "took_us": 9}"#, came).unwrap());
        assert!(!same(r#"{"a": [1, {"c": null}], "b": 0.1235, "took_us": "9"}"#, came).unwrap());
        assert!(!same(r#"{"a": [1, {"c": 1}], "b": 0.1235, "took_us": 9}"#, came).unwrap());
        assert!(!same(r#"{"a": [1], "b": 0.1235, "took_us": 9}"#, came).unwrap());
        assert!(!same(r#"{"b": 0.1235, "took_us": 9}"#, came).unwrap());
        assert!(!same(came, "").unwrap());
        assert!(same(came, "nonsense").is_err());
    }

    #[test]
    fn what_is_left_out_stays_out() {
        let shown = "{\n  \"a\": [\n    1,\n    ...\n  ],\n  ...\n}";
        let came = r#"{"z": 1, "a": [2, 3, 4], "b": 5}"#;
        assert!(same(shown, &came.replace('2', "1")).unwrap());
        assert!(!same(shown, came).unwrap());
        assert_eq!(show(shown, came), shown.replace('1', "2"));
    }

    #[test]
    fn long_values_are_broken_into_lines() {
        let long = "x".repeat(WIDTH);
        let came = format!("{{\"b\": \"{long}\", \"a\": [1.0, 2.55555]}}\n7");
        let shown = format!("{{\n  \"b\": \"{long}\",\n  \"a\": [1.0, 2.5556]\n}}\n7");
        assert_eq!(show("", &came), shown);
    }
}
