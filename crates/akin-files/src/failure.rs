//! Why a command failed.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// The failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// The error, and a hint.
    Reported { what: String, hint: Option<String> },
    /// The reader of the output has gone, which is not an error.
    PipeClosed,
}

impl Failure {
    pub fn new(what: impl Into<String>) -> Self {
        Self::Reported { what: what.into(), hint: None }
    }

    pub fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Reported { what: what.into(), hint: Some(hint.into()) }
    }

    pub fn unreadable(path: &Path, why: impl Display) -> Self {
        Self::new(format!("cannot read {}: {why}", path.display()))
    }
}

/// An error of writing the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::new(format!("cannot write the output: {error}")),
        }
    }
}

/// An error of writing the output.
#[cfg(feature = "parquet")]
impl From<parquet::errors::ParquetError> for Failure {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::new(format!("cannot write the output: {error}"))
    }
}
