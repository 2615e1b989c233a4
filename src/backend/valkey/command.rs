//! Commands as they are sent.

use bytes::Bytes;

use super::client::slot_of;
use super::scripts::Script;

/// A command and the slot that it is for.
#[derive(Clone, Debug)]
pub struct Command {
    name: &'static str,
    pub(super) slot: u16,
    /// The arguments as they are sent, without the script of a script's command.
    arguments: Vec<u8>,
    count: usize,
    pub(super) script: Option<Script>,
}

impl Command {
    /// A command with its key as the first argument.
    pub fn new(name: &'static str, key: Bytes, arguments: impl IntoIterator<Item = Bytes>) -> Self {
        let slot = slot_of(&key);
        Self { slot, ..Self::to_node(name, std::iter::once(key).chain(arguments)) }
    }

    /// A command without keys, for a given node.
    pub(super) fn to_node(name: &'static str, words: impl IntoIterator<Item = Bytes>) -> Self {
        let (mut arguments, mut count) = (Vec::with_capacity(96), 0);
        for word in words {
            put_string(&mut arguments, &word);
            count += 1;
        }
        Self { name, slot: 0, arguments, count, script: None }
    }

    pub(super) fn script(script: Script, keys: Vec<Bytes>, arguments: Vec<Bytes>) -> Self {
        let slot = keys.first().map_or(0, |key| slot_of(key));
        let words = std::iter::once(number(keys.len())).chain(keys).chain(arguments);
        Self { slot, script: Some(script), ..Self::to_node("EVALSHA", words) }
    }

    /// Appends the command in RESP. `with_text`: with the text of its script, for a node that does
    /// not have the script.
    pub(super) fn encode(&self, with_text: bool, bytes: &mut Vec<u8>) {
        bytes.reserve(self.arguments.len() + 64);
        put_length(bytes, b'*', 1 + usize::from(self.script.is_some()) + self.count);
        match &self.script {
            Some(script) if with_text => {
                put_string(bytes, b"EVAL");
                put_string(bytes, script.text.as_bytes());
            }
            Some(script) => {
                put_string(bytes, b"EVALSHA");
                put_string(bytes, &script.hash_of());
            }
            None => put_string(bytes, self.name.as_bytes()),
        }
        bytes.extend_from_slice(&self.arguments);
    }
}

fn put_string(bytes: &mut Vec<u8>, string: &[u8]) {
    put_length(bytes, b'$', string.len());
    bytes.extend_from_slice(string);
    bytes.extend_from_slice(b"\r\n");
}

fn put_length(bytes: &mut Vec<u8>, kind: u8, length: usize) {
    bytes.push(kind);
    match u8::try_from(length) {
        Ok(digit @ 0..10) => bytes.push(b'0' + digit),
        _ => bytes.extend_from_slice(length.to_string().as_bytes()),
    }
    bytes.extend_from_slice(b"\r\n");
}

/// A number as an argument.
pub fn number(number: impl std::fmt::Display + Copy) -> Bytes {
    number.to_string().into_bytes().into()
}
