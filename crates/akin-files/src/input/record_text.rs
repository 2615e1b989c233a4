//! The text of a record: of a column, of several columns, or of a list of chat messages.

use std::mem::take;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::columns::{TextColumns, has_other_content};
use super::members::{Member, Value, fault, find, find_exact, members};

impl TextColumns {
    /// The text of a record, or null; `None` if it has none of the columns.
    ///
    /// # Errors
    /// A value is no text.
    pub fn text_in<'m>(&self, members: &'m [Member<'_>]) -> Result<Option<Value<'m>>, String> {
        let text = |name| Some(self.text_value(name, find(members, name)?));
        let mut texts = self.text_names().filter_map(text).collect::<Result<Vec<_>, _>>()?;
        if texts.len() < 2 {
            return Ok(texts.pop());
        }
        let mut joined = String::new();
        for text in &texts {
            push_part(
                &mut joined,
                &text.text().map_err(|error| fault(&error))?.unwrap_or_default(),
            );
        }
        Ok(Some(Value::Text(joined.into())))
    }

    /// Takes the text out of a record that has a text and no other content.
    pub fn take_text(&self, members: &mut [Member<'_>]) -> Option<String> {
        let own = |name: &&str| *name != self.id_name() && !has_other_content(members);
        let name = self.text_name().filter(own)?;
        match members.iter_mut().find(|(known, _)| known == name)? {
            (_, Value::Text(text)) => Some(take(text).into_owned()),
            _ => None,
        }
    }

    /// The value if it is a text or null, or the text of a list of messages.
    fn text_value<'v>(&self, name: &str, value: Value<'v>) -> Result<Value<'v>, String> {
        let Value::Json(json) = &value else { return Ok(value) };
        match json.get().as_bytes().first().copied() {
            Some(b'"' | b'n') => Ok(value),
            Some(b'[') => match messages_text(json, &self.roles) {
                Ok(text) => Ok(Value::Text(text.into())),
                Err(reason) => Err(format!("'{name}' is not a text{reason}")),
            },
            _ => Err(format!("'{name}' is not a text")),
        }
    }
}

/// The members of a message that may be its text: in the API of OpenAI, in ShareGPT, and in other
/// formats.
const TEXTS: [&str; 3] = ["content", "value", "text"];

/// A message with one of these members needs no text.
const CALLS: [&str; 2] = ["tool_calls", "function_call"];

/// The texts of the messages with these roles, or of all messages, with an empty line between two.
///
/// # Errors
/// The JSON is no list of texts or messages: the reason, or nothing if it is plain.
fn messages_text(json: &RawValue, roles: &[String]) -> Result<String, String> {
    let mut all = String::new();
    for message in read::<Vec<&RawValue>>(json)? {
        let (role, text) = role_and_text(message)?;
        let is = |wanted: &String| role.as_ref() == Some(wanted);
        if roles.is_empty() || roles.iter().any(is) {
            push_part(&mut all, &text);
        }
    }
    Ok(all)
}

/// The role and the text of a message. A message that is only a text has no role.
fn role_and_text(message: &RawValue) -> Result<(Option<String>, String), String> {
    if message.get().starts_with('"') {
        return Ok((None, read(message)?));
    }
    let members = members(message.get().as_bytes()).map_err(|_| String::new())?;
    let first = |names: &[&str]| {
        let mut values = names.iter().filter_map(|name| find_exact(&members, name));
        values.find(|value| !value.is_null())
    };
    let role = first(&["role", "from"]).map(|role| read(&role.json())).transpose()?;
    let has = |known: &&str| find_exact(&members, known).is_some();
    match first(&TEXTS) {
        Some(content) => Ok((role, content_text(&content.json())?)),
        None if TEXTS.iter().chain(&CALLS).any(has) => Ok((role, String::new())),
        None => Err(format!(
            ": an object there has no content, value or text, but {}",
            listed(members.iter().map(|(name, _)| &**name))
        )),
    }
}

/// The text of the content of a message: of a text, or of a list of parts. Parts have no parts, so
/// that the memory does not grow with the depth of lists.
fn content_text(content: &RawValue) -> Result<String, String> {
    if !content.get().starts_with('[') {
        return read(content);
    }
    let mut all = String::new();
    for part in read::<Vec<&RawValue>>(content)? {
        push_part(&mut all, &part_text(part)?);
    }
    Ok(all)
}

/// Parts that are pictures have no text.
fn part_text(part: &RawValue) -> Result<String, String> {
    if part.get().starts_with('"') {
        return read(part);
    }
    let members = members(part.get().as_bytes()).map_err(|_| String::new())?;
    let text = find_exact(&members, "text").filter(|text| !text.is_null());
    text.map_or(Ok(String::new()), |text| read(&text.json()))
}

/// A value of the JSON. The value is wrong without a reason of its own if it has another type.
fn read<'j, T: Deserialize<'j>>(json: &'j RawValue) -> Result<T, String> {
    serde_json::from_str(json.get()).map_err(|_| String::new())
}

/// The number of names that an error message lists.
const NAMES_MAX: usize = 12;

/// Names as an error message lists them.
pub fn listed<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let shown = names.clone().take(NAMES_MAX).collect::<Vec<_>>().join(", ");
    let more = if names.count() > NAMES_MAX { ", …" } else { "" };
    shown + more
}

/// Adds a part to a text, after an empty line.
fn push_part(text: &mut String, part: &str) {
    if !text.is_empty() && !part.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(part);
}
