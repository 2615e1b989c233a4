//! The text of a record: that of a column, of several columns, or of a list of chat messages.

use std::borrow::Cow;

use serde::Deserialize;

use super::columns::TextColumns;
use super::members::{Member, Value, fault, find};

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

    /// The value if it is a text or null, or the text of a list of messages.
    fn text_value<'v>(&self, name: &str, value: Value<'v>) -> Result<Value<'v>, String> {
        let Value::Json(json) = &value else { return Ok(value) };
        match json.get().as_bytes().first().copied() {
            Some(b'"' | b'n') => Ok(value),
            Some(b'[') => match messages_text(json.get(), &self.roles) {
                Some(text) => Ok(Value::Text(text.into())),
                None => Err(format!("'{name}' is not a text")),
            },
            _ => Err(format!("'{name}' is not a text")),
        }
    }
}

/// An element of a list of messages, or a part of a message.
#[derive(Deserialize)]
#[serde(untagged)]
enum Message<'m> {
    Text(#[serde(borrow)] Cow<'m, str>),
    /// As the API of OpenAI has it, or `from` and `value` as ShareGPT has it.
    Said {
        #[serde(borrow, default, alias = "from")]
        role: Option<Cow<'m, str>>,
        #[serde(borrow, default, alias = "value", alias = "text")]
        content: Option<MessageContent<'m>>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MessageContent<'m> {
    Text(#[serde(borrow)] Cow<'m, str>),
    /// Parts that are pictures have no text.
    Parts(#[serde(borrow)] Vec<Message<'m>>),
}

/// The texts of the messages with these roles, or of all messages, with an empty line between two.
/// `None` if the JSON is no list of texts or messages.
fn messages_text(json: &str, roles: &[String]) -> Option<String> {
    let messages: Vec<Message<'_>> = serde_json::from_str(json).ok()?;
    let mut text = String::new();
    push_messages(&mut text, &messages, roles);
    Some(text)
}

fn push_messages(text: &mut String, messages: &[Message<'_>], roles: &[String]) {
    for message in messages {
        match message {
            Message::Text(part) if roles.is_empty() => push_part(text, part),
            Message::Text(_) => {}
            Message::Said { role, content } => {
                let is = |wanted: &String| role.as_ref().is_some_and(|role| role == wanted);
                if roles.is_empty() || roles.iter().any(is) {
                    match content {
                        Some(MessageContent::Text(part)) => push_part(text, part),
                        Some(MessageContent::Parts(parts)) => push_messages(text, parts, &[]),
                        None => {}
                    }
                }
            }
        }
    }
}

/// Adds a part to a text, after an empty line.
fn push_part(text: &mut String, part: &str) {
    if !text.is_empty() && !part.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(part);
}
