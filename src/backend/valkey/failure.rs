//! Client errors as backend errors.

use super::client::Fault;
use crate::backend::BackendError;

pub fn unreachable_because(error: &dyn std::fmt::Display) -> BackendError {
    BackendError::Unreachable { reason: error.to_string() }
}

pub fn unavailable(reason: impl Into<String>) -> BackendError {
    BackendError::Unavailable { reason: reason.into() }
}

/// The backend error for commands without replies.
pub fn failed(fault: &Fault) -> BackendError {
    unavailable(fault.to_string())
}

/// The refusals of commands that are wrong. All others end when the nodes are whole, or are set
/// right.
const FAULTS: [&str; 3] = ["ERR", "WRONGTYPE", "CROSSSLOT"];

/// The backend error for a command that a node refuses.
pub fn refused(text: String) -> BackendError {
    let code = text.split(' ').next().unwrap_or_default();
    if code == "OOM" {
        return BackendError::Full { reason: text };
    }
    if !FAULTS.contains(&code) {
        return unavailable(text);
    }
    tracing::error!(error = text, "Valkey refused a command");
    BackendError::Unexpected { what: "a refusal, see the log" }
}
