//! What reading an input yields.

use std::fmt;
use std::io;
use std::sync::Arc;

/// The largest document that is read into memory. Servers set a lower limit of their own.
pub const ITEM_BYTES_MAX: usize = 32 << 20;

/// A document.
#[derive(Debug)]
pub struct Item {
    /// As the API takes it: a line of NDJSON without its end.
    pub json: Vec<u8>,
    /// The line of JSON that it was made of, if that is another.
    pub line: Option<Vec<u8>>,
    pub origin: Origin,
}

impl Item {
    /// The line as it stands in the file, or the document where the file has no lines of JSON.
    pub fn line(&self) -> &[u8] {
        self.line.as_deref().unwrap_or(&self.json)
    }
}

/// Where a document came from.
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

#[derive(Debug)]
pub enum Event {
    Item(Item),
    /// One document, or the rest of the file, cannot be read.
    Failed {
        origin: Origin,
        reason: String,
    },
    /// The file holds no document.
    Skipped {
        file: Arc<str>,
        why: Skip,
    },
    /// The file has been read to its end.
    FileRead,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// It was found in a directory and is in no format that is read: why, and what to do.
    NotRead(String),
    /// It has no letter and no digit.
    Empty,
}

/// Takes events; `Err` once the rest is not wanted.
pub type Emit<'a> = dyn FnMut(Event) -> Result<(), Cancelled> + 'a;

/// The reader of the events has gone.
pub struct Cancelled;

/// Why reading a file ended early.
pub enum Stop {
    Cancelled,
    Empty,
    /// The whole file is in no format that is read: why, and what to do.
    NotRead(String),
    Failed {
        line: Option<u64>,
        reason: String,
    },
}

impl Stop {
    #[expect(clippy::needless_pass_by_value, reason = "errors are passed as they come")]
    pub fn at(line: u64, reason: impl ToString) -> Self {
        Self::Failed { line: Some(line), reason: reason.to_string() }
    }
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed { line: None, reason: error.to_string() }
    }
}
