//! Replies of nodes, read without trust: an unexpected reply is read as nothing.

use bytes::Bytes;
use fred::types::Value;

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply(Value);

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl Reply {
    /// A string; `None` for nothing and for anything else.
    pub fn bytes(self) -> Option<Bytes> {
        match self.0 {
            Value::Bytes(bytes) => Some(bytes),
            Value::String(text) => Some(text.into_inner()),
            _ => None,
        }
    }

    pub fn text(self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    pub fn integer(&self) -> Option<i64> {
        match &self.0 {
            Value::Integer(number) => Some(*number),
            Value::String(text) => text.parse().ok(),
            Value::Bytes(bytes) => str::from_utf8(bytes).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// A list; empty for anything else.
    pub fn array(self) -> Vec<Reply> {
        match self.0 {
            Value::Array(values) => values.into_iter().map(Reply).collect(),
            _ => Vec::new(),
        }
    }

    /// The strings of a list.
    pub fn strings(self) -> impl Iterator<Item = Bytes> {
        self.array().into_iter().filter_map(Reply::bytes)
    }
}
