//! Commands as they are sent.

use bytes::Bytes;
use fred::types::{ClusterHash, CustomCommand, Value};

use super::scripts::Script;

/// A command and the slot that it is for.
#[derive(Clone, Debug)]
pub struct Command {
    name: &'static str,
    slot: u16,
    arguments: Vec<Bytes>,
    pub(super) script: Option<Script>,
}

impl Command {
    /// A command with its key as the first argument.
    pub fn new(name: &'static str, key: Bytes, arguments: impl IntoIterator<Item = Bytes>) -> Self {
        let slot = fred::util::redis_keyslot(&key);
        let arguments = std::iter::once(key).chain(arguments).collect();
        Self { name, slot, arguments, script: None }
    }

    pub(super) fn script(script: Script, keys: Vec<Bytes>, arguments: Vec<Bytes>) -> Self {
        let slot = keys.first().map_or(0, |key| fred::util::redis_keyslot(key));
        let head = [script.hash_of(), number(keys.len())];
        let all = head.into_iter().chain(keys).chain(arguments).collect();
        Self { name: "EVALSHA", slot, arguments: all, script: Some(script) }
    }

    pub(super) fn parts(&self) -> (CustomCommand, Vec<Value>) {
        let command = CustomCommand::new_static(self.name, ClusterHash::Custom(self.slot), false);
        (command, self.arguments.iter().cloned().map(Value::Bytes).collect())
    }

    /// The script with its text, for a node that does not have it.
    pub(super) fn with_text(&self, script: Script) -> (CustomCommand, Vec<Value>) {
        let command = CustomCommand::new_static("EVAL", ClusterHash::Custom(self.slot), false);
        let mut arguments: Vec<Value> = self.arguments.iter().cloned().map(Value::Bytes).collect();
        arguments[0] = Value::Bytes(Bytes::from_static(script.text.as_bytes()));
        (command, arguments)
    }
}

/// A number as an argument.
pub fn number(number: impl std::fmt::Display + Copy) -> Bytes {
    number.to_string().into_bytes().into()
}
