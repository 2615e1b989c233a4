//! Client errors as backend errors.

use fred::error::{Error as EngineFailure, ErrorKind};

use crate::backend::BackendError;

pub fn unreachable_because(error: &dyn std::fmt::Display) -> BackendError {
    BackendError::Unreachable { reason: error.to_string() }
}

pub fn unavailable(reason: impl Into<String>) -> BackendError {
    BackendError::Unavailable { reason: reason.into() }
}

/// The backend error for a failed command.
pub fn failed(error: &EngineFailure) -> BackendError {
    let details = error.details();
    if details.starts_with("OOM") {
        return BackendError::Full { reason: details.to_owned() };
    }
    match error.kind() {
        ErrorKind::InvalidCommand | ErrorKind::InvalidArgument | ErrorKind::Parse => {
            tracing::error!(%error, "Valkey refused a command");
            BackendError::Unexpected { what: "a refusal, see the log" }
        }
        _ => unavailable(error.to_string()),
    }
}
