//! Why a request failed, as RFC 9457 has it, with a stable code.

pub mod code;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An invalid field of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// Where in the body, as a JSON pointer (RFC 6901); empty for the whole of it.
    #[schema(example = "/tokens/3")]
    pub pointer: String,
    #[schema(example = "a token is a string or [string, count]")]
    pub detail: String,
}
