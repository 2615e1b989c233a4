//! Events of reading an input.

use std::io;
use std::sync::Arc;

use super::record::{Item, Origin};

/// The largest document that is read into memory. Servers set a lower limit of their own.
pub const ITEM_BYTES_MAX: usize = 32 << 20;

#[derive(Debug)]
pub enum Event {
    Item(Item),
    /// One document, or the rest of the file, cannot be read.
    Failed {
        origin: Origin,
        reason: String,
    },
    /// The next document is all of a page's text, as the page has no article (`--extract main`).
    WithoutArticle,
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
    /// It was found in a directory and has an unknown format: the reason, and advice.
    NotRead(String),
    /// The file is empty.
    Empty,
}

/// Takes events; `Err` if the reader should stop.
pub type Emit<'a> = dyn FnMut(Event) -> Result<(), Cancelled> + 'a;

/// The reader of the events has gone.
pub struct Cancelled;

/// The reasons for reading a file to end early.
pub enum Stop {
    Cancelled,
    Empty,
    /// The file has an unknown format: the reason, and advice.
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
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file breaks off".into(),
            _ => error.to_string(),
        };
        Self::Failed { line: None, reason }
    }
}
