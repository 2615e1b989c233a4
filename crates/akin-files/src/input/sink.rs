//! Takes records from the readers of formats, and emits documents.

use std::sync::Arc;

use super::columns::TextColumns;
use super::event::{Cancelled, Emit, Event, Item, Origin};
use super::members::{Member, object};

/// Takes the records of one file, and passes documents on.
pub struct Sink<'a, 'e> {
    pub file: Arc<str>,
    /// Whether a record without an id gets its file and line as its id; not for stdin.
    pub names_places: bool,
    pub columns: &'a TextColumns,
    pub emit: &'a mut Emit<'e>,
}

impl Sink<'_, '_> {
    /// Takes a line of JSON.
    pub fn json(&mut self, number: u64, line: Vec<u8>) -> Result<(), Cancelled> {
        let origin = self.origin(Some(number));
        let id = self.names_places.then(|| origin.to_string());
        match self.columns.of_line(&line, id.as_deref()) {
            Ok(None) => (self.emit)(Event::Item(Item { json: line, line: None, origin })),
            Ok(Some(json)) => (self.emit)(Event::Item(Item { json, line: Some(line), origin })),
            Err(reason) => (self.emit)(Event::Failed { origin, reason, line: Some(line) }),
        }
    }

    /// Takes a record of another format.
    pub fn record(&mut self, number: Option<u64>, members: &[Member<'_>]) -> Result<(), Cancelled> {
        let origin = self.origin(number);
        let id = self.names_places.then(|| origin.to_string());
        match self.columns.document(members, false, id.as_deref()) {
            Ok(json) => (self.emit)(Event::Item(Item { json, line: None, origin })),
            Err(reason) => {
                let line = Some(object(members).get().as_bytes().to_vec());
                (self.emit)(Event::Failed { origin, reason, line })
            }
        }
    }

    /// Takes a finished document.
    pub fn document(&mut self, json: Vec<u8>) -> Result<(), Cancelled> {
        let origin = self.origin(None);
        (self.emit)(Event::Item(Item { json, line: None, origin }))
    }

    /// Reports a record that cannot be read. The records after it may be readable.
    pub fn failed(&mut self, number: Option<u64>, reason: String) -> Result<(), Cancelled> {
        let origin = self.origin(number);
        (self.emit)(Event::Failed { origin, reason, line: None })
    }

    fn origin(&self, line: Option<u64>) -> Origin {
        Origin { file: Arc::clone(&self.file), line }
    }
}
