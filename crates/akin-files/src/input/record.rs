//! Records as readers find them, and the documents that they are.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::columns::TextColumns;
use super::json_line::members_with_text;
use super::lines::Line;
use super::members::{Member, Value, Values, find, members, object, replaced};
use crate::failure::Failure;
use akin_model::document::{Content, DocumentId};

/// A record, with the columns that make a document of it.
#[derive(Debug)]
pub struct Item {
    pub source: Source,
    pub origin: Origin,
    pub columns: Arc<TextColumns>,
    /// The place is the id of a record without an id; not on stdin.
    pub is_named_by_place: bool,
}

/// A finding of a reader.
#[derive(Debug)]
pub enum Source {
    /// JSON, on one line and without its end.
    Line(Line),
    /// The values of a record in another format.
    Values(Values),
}

/// A document of a file.
#[derive(Debug)]
pub struct Record<'a> {
    pub id: DocumentId,
    pub content: Content,
    /// The text is empty here if it is the whole content: `text_name` is its name.
    members: Vec<Member<'a>>,
    /// The name of the member whose text was taken as the content.
    text_name: Option<&'a str>,
}

/// The file and line of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub file: Arc<str>,
    /// From 1, the number of a line, or of a record in a format without lines; `None` for a file
    /// that is one document.
    pub line: Option<u64>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

impl Item {
    /// The document. A document without an id is named by its place.
    ///
    /// # Errors
    /// The record is not a document: the reason.
    pub fn record(&self) -> Result<Record<'_>, String> {
        let mut members = match &self.source {
            Source::Line(line) => members_with_text(line.as_bytes(), self.columns.first_text()),
            Source::Values(_) => self.members(),
        }?;
        let text = self.columns.take_text(&mut members);
        let text_name = self.columns.text_name().filter(|_| text.is_some());
        let content = match text {
            Some(text) => Content::Text(text),
            None => self.columns.content(&members, self.is_json())?,
        };
        let id = match self.columns.own_id(&members)? {
            Some(id) => id,
            None => DocumentId::new(self.origin.to_string()).map_err(|error| error.to_string())?,
        };
        Ok(Record { id, content, members, text_name })
    }

    /// The document as the API takes it.
    ///
    /// # Errors
    /// The record is not a document: the reason.
    pub fn json(&self) -> Result<Cow<'_, [u8]>, String> {
        let id = self.is_named_by_place.then(|| self.origin.to_string());
        if let Source::Line(line) = &self.source {
            let line = line.as_bytes();
            let made = self.columns.of_line(line, id.as_deref())?;
            return Ok(made.map_or(Cow::Borrowed(line), Cow::Owned));
        }
        self.columns.document(&self.members()?, false, id.as_deref()).map(Cow::Owned)
    }

    /// The line of the file; or the record as a line, as a document if it is one.
    pub fn line(&self) -> Cow<'_, [u8]> {
        match &self.source {
            Source::Line(line) => Cow::Borrowed(line.as_bytes()),
            Source::Values(_) => self.json().unwrap_or_else(|_| {
                let members = self.members().unwrap_or_default();
                Cow::Owned(object(&members).get().as_bytes().to_vec())
            }),
        }
    }

    /// The line of the document with another text; `None` if its text is not a single value.
    pub fn with_text(&self, text: &str) -> Option<Vec<u8>> {
        let name = self.columns.text_name()?;
        let name = match &self.source {
            Source::Line(_) => name,
            Source::Values(_) => {
                find(&self.members().ok()?, name)?.text().ok()??;
                // A line that is made here is a document as the API takes it.
                "text"
            }
        };
        Some(replaced(&self.line(), name, text)?.get().as_bytes().to_vec())
    }

    /// The item with memory of its own, for readers that keep few of the lines of a block.
    #[must_use]
    pub fn detached(mut self) -> Self {
        if let Source::Line(line) = &mut self.source {
            *line = Line::from(line.as_bytes().to_vec());
        }
        self
    }

    /// Whether the text of this record is a list of messages, which [`Self::with_text`] cannot
    /// replace.
    pub fn has_messages(&self, record: &Record<'_>) -> bool {
        let text = self.columns.text_name().and_then(|name| find(&record.members, name));
        text.is_some_and(|text| text.is_list())
    }

    /// The error of a text that [`Self::with_text`] cannot replace.
    pub fn cannot_be_cut(&self) -> Failure {
        Failure::with_hint(
            format!("{}: nothing can be cut out of the text of this document", self.origin),
            "parts of a column of texts can be cut out, but not of a list of chat messages",
        )
    }

    /// The size in memory, nearly.
    pub fn bytes(&self) -> usize {
        match &self.source {
            Source::Line(line) => line.as_bytes().len(),
            Source::Values(values) => {
                values.iter().map(|(name, value)| name.len() + value.bytes()).sum()
            }
        }
    }

    fn is_json(&self) -> bool {
        matches!(self.source, Source::Line(_))
    }

    fn members(&self) -> Result<Vec<Member<'_>>, String> {
        match &self.source {
            Source::Line(line) => members(line.as_bytes()),
            Source::Values(values) => {
                let values = values.iter();
                Ok(values.map(|(name, value)| (name.as_ref().into(), value.borrowed())).collect())
            }
        }
    }
}

impl Record<'_> {
    /// The value of a member, also within the metadata.
    pub fn value(&self, name: &str) -> Option<Value<'_>> {
        if self.text_name == Some(name)
            && let Content::Text(text) = &self.content
        {
            return Some(Value::Text(text.into()));
        }
        find(&self.members, name).or_else(|| find(&self.members, &format!("metadata.{name}")))
    }
}
