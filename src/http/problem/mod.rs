//! Errors as clients see them: RFC 9457, with a stable `code`.

pub mod of_calls;
pub mod pointer;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::BackendError;
use crate::budget::Exhausted;
use crate::engine::{EngineError, HitName};
use akin_model::analysis::ContentError;
pub use akin_model::problem::FieldError;
pub use akin_model::problem::code::Code;

/// The longest detail in a line of the log: a client may send an origin of any length.
const DETAIL_LOGGED_BYTES_MAX: usize = 500;

/// The longest name of a field that a pointer repeats.
const FIELD_NAME_SHOWN_BYTES_MAX: usize = 64;

/// How much of the index a start has restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProgressReply {
    /// Documents restored so far.
    pub done: u64,
    /// Documents to restore; 0 while unknown.
    pub total: u64,
}

/// Why a request failed. As a response it gets its body in [`render`], which knows the request's
/// id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    pub detail: String,
    pub errors: Vec<FieldError>,
    pub progress: Option<ProgressReply>,
}

/// An error, as RFC 9457 has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemReply {
    /// Where the code is documented, as an address on this server.
    #[schema(example = "/docs/problems#document_not_found")]
    pub r#type: String,
    /// The same for every problem of this code.
    #[schema(example = "No such document")]
    pub title: &'static str,
    #[schema(example = 404)]
    pub status: u16,
    /// The fault of this request.
    #[schema(example = "there is no document 'a'")]
    pub detail: String,
    pub code: Code,
    /// The `x-request-id` of the response.
    pub request_id: String,
    /// Each bad field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub errors: Vec<FieldError>,
    /// With `not_ready`, while the server starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressReply>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: Vec::new(), progress: None }
    }

    /// A field of the body is invalid.
    pub fn of_field(code: Code, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let (pointer, detail) = (pointer.into(), detail.into());
        let prefix = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
        let errors = vec![FieldError { pointer, detail: detail.clone() }];
        Self { code, detail: format!("{prefix}{detail}"), errors, progress: None }
    }

    /// The problem of a part of the body, for the whole body: the part lies under `pointer`.
    #[must_use]
    pub fn under(mut self, pointer: &str) -> Self {
        if self.errors.is_empty() {
            self.errors.push(FieldError { pointer: String::new(), detail: self.detail.clone() });
        }
        for error in &mut self.errors {
            error.pointer.insert_str(0, pointer);
        }
        self
    }

    pub fn reply(&self, request_id: &str) -> ProblemReply {
        let (code, status, title) = self.code.facts();
        ProblemReply {
            r#type: format!("/docs/problems#{code}"),
            title,
            status: status.as_u16(),
            detail: self.detail.clone(),
            code: self.code,
            request_id: request_id.to_owned(),
            errors: self.errors.clone(),
            progress: self.progress,
        }
    }

    /// Logs faults of the server, for the problem of a part of an answer.
    pub fn log(&self, request_id: &str) {
        let (code, status, _) = self.code.facts();
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(request_id, code, detail = self.detail, "request failed");
        } else if status.is_server_error() {
            tracing::warn!(request_id, code, detail = self.detail, "request refused");
        }
    }

    /// The beginning of the detail, unless it may quote a document.
    pub fn logged_detail(&self) -> Option<&str> {
        let is_logged = self.code.status().is_server_error() || self.code.is_of_access();
        is_logged.then(|| {
            let most = self.detail.len().min(DETAIL_LOGGED_BYTES_MAX);
            let end = (0..=most).rev().find(|at| self.detail.is_char_boundary(*at));
            &self.detail[..end.unwrap_or(0)]
        })
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Turns every error response, whichever layer it comes from, into a problem with a body, which
/// also has the problem as an extension.
pub fn render(response: Response, request_id: &str) -> Response {
    let status = response.status();
    let problem = match response.extensions().get::<Problem>() {
        Some(problem) => problem.clone(),
        None if status.is_client_error() || status.is_server_error() => bare(status),
        None => return response,
    };
    let body = serde_json::to_vec(&problem.reply(request_id)).expect("a problem is plain JSON");
    let mut rendered = (problem.code.status(), body).into_response();
    let headers = rendered.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if let Some(seconds) = problem.code.retry_after_s() {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if problem.code == Code::MalformedRequest {
        // Nobody knows where the next request begins.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(challenge) = challenge(problem.code) {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    for name in KEPT {
        let values = response.headers().get_all(&name).iter();
        headers.extend(values.map(|value| (name.clone(), value.clone())));
    }
    rendered.extensions_mut().insert(problem);
    rendered
}

/// Headers of a bare error response that the problem keeps.
const KEPT: [HeaderName; 5] = [
    header::ALLOW,
    header::ACCEPT_ENCODING,
    header::VARY,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
];

/// The challenge to a request without a valid key (RFC 6750).
fn challenge(code: Code) -> Option<&'static str> {
    match code {
        Code::KeyRequired => Some("Bearer realm=\"akin\""),
        Code::InvalidKey => Some("Bearer realm=\"akin\", error=\"invalid_token\""),
        Code::NotPermitted => Some("Bearer realm=\"akin\", error=\"insufficient_scope\""),
        _ => None,
    }
}

/// The problem of an error response from a layer that makes no problems.
fn bare(status: StatusCode) -> Problem {
    match status {
        StatusCode::METHOD_NOT_ALLOWED => Problem::new(
            Code::MethodNotAllowed,
            "this path does not have this method; the allow header lists its methods",
        ),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::new(
            Code::UnsupportedEncoding,
            "a body must be uncompressed, or have the content-encoding gzip or zstd",
        ),
        StatusCode::NOT_FOUND => Problem::new(Code::RouteNotFound, "there is nothing here"),
        status if status.is_client_error() => {
            Problem::new(Code::InvalidRequest, format!("refused with status {status}"))
        }
        _ => internal(),
    }
}

/// A fault of the server. Its cause is only in the log.
pub fn internal() -> Problem {
    Problem::new(Code::Internal, "the server failed; its log says why under this request id")
}

impl From<Exhausted> for Problem {
    fn from(exhausted: Exhausted) -> Self {
        Self::new(code_of(exhausted), exhausted.to_string())
    }
}

fn code_of(exhausted: Exhausted) -> Code {
    match exhausted {
        Exhausted::Budget { .. } | Exhausted::Process { .. } => Code::MemoryBudgetExhausted,
        Exhausted::Client { .. } | Exhausted::ClientWork { .. } => Code::TooManyRequests,
        Exhausted::Share { .. } | Exhausted::Work { .. } => Code::RequestTooCostly,
    }
}

impl From<&ContentError> for Problem {
    fn from(error: &ContentError) -> Self {
        let code = match error {
            ContentError::Empty => Code::EmptyDocument,
            ContentError::TooLong { .. } => Code::DocumentTooLarge,
            ContentError::TooManyShingles { .. } => Code::TooManyShingles,
            ContentError::Wrong { .. } => Code::WrongContent,
            ContentError::UnknownField { field, .. } => {
                return Self::of_field(Code::UnknownField, pointer_to(field), error.to_string());
            }
            ContentError::FieldTooLarge { field, .. } => {
                return Self::of_field(Code::FieldTooLarge, pointer_to(field), error.to_string());
            }
        };
        Self::new(code, error.to_string())
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let code = match &error {
            EngineError::TextOfHit { hit: HitName::Position(at), error } => {
                return Self::from(error).under(&format!("/hits/{at}/text"));
            }
            EngineError::Content(error) | EngineError::TextOfHit { error, .. } => {
                return Self::from(error);
            }
            EngineError::DocumentNotFound { .. } => Code::DocumentNotFound,
            EngineError::TooMuchToCollapse { .. } => Code::TooManyShingles,
            EngineError::MetadataTooLarge { .. } => Code::MetadataTooLarge,
            EngineError::TextNotKept { .. }
            | EngineError::TextsNotKept { .. }
            | EngineError::NoTextsToHighlight => Code::TextNotKept,
            EngineError::NotForRecords | EngineError::NotForSignatures => Code::WrongContent,
            EngineError::PointsWanted
            | EngineError::NoPointsWanted
            | EngineError::PointsOutOfRange { .. }
            | EngineError::ThresholdTooLow { .. }
            | EngineError::Curve { .. } => Code::InvalidParameter,
            EngineError::UnsupportedMode { .. } => Code::UnsupportedMode,
            EngineError::ChangesGone => Code::ChangesGone,
            EngineError::NoConditions => Code::InvalidRequest,
            EngineError::AlreadyExpired { .. } => {
                return Self::of_field(Code::InvalidDocument, "/expires_at", error.to_string());
            }
            EngineError::TextRequired => Code::TextRequired,
            EngineError::TextsTooLong { .. } => Code::TextsTooLong,
            EngineError::SampleTooCostly { .. } => Code::RequestTooCostly,
            EngineError::CollectionNotFound { .. } => Code::CollectionNotFound,
            EngineError::CollectionUnavailable { .. } => Code::CollectionUnavailable,
            EngineError::CollectionExists { .. } => Code::CollectionExists,
            EngineError::CollectionRequired => Code::CollectionRequired,
            EngineError::ReindexOfDefault => Code::ReindexOfDefault,
            EngineError::ReindexNotFound { .. } => Code::ReindexNotFound,
            EngineError::Unfit { .. } => Code::InvalidDocument,
            EngineError::CollectionSettings { faults } => return of_settings(faults),
            EngineError::MeasurementUnderWay
            | EngineError::BackupUnderWay
            | EngineError::ReindexUnsettled => Code::Overloaded,
            EngineError::TooManyCollections { .. } => Code::TooManyCollections,
            EngineError::ReindexCancelled => Code::OutOfService,
            EngineError::Backup { .. } => return internal(),
            EngineError::Backend(error) => match code_of_backend(error) {
                Some(code) => code,
                None => return internal(),
            },
        };
        Self::new(code, error.to_string())
    }
}

/// `None`: an internal error.
fn code_of_backend(error: &BackendError) -> Option<Code> {
    Some(match error {
        BackendError::Unsupported { .. } => Code::UnsupportedByBackend,
        BackendError::PassagesOff => Code::PassagesOff,
        BackendError::ReindexUnderWay => Code::ReindexUnderWay,
        BackendError::Changed => Code::Overloaded,
        BackendError::OutOfService { .. } | BackendError::Closed | BackendError::Superseded => {
            Code::OutOfService
        }
        BackendError::OverBudget(exhausted) => code_of(*exhausted),
        BackendError::NoRoom { .. } => Code::InsufficientStorage,
        BackendError::DocumentDamaged { .. } => Code::DocumentDamaged,
        BackendError::OrdinalsExhausted
        | BackendError::OtherSettings { .. }
        | BackendError::InUse { .. }
        | BackendError::NotPermitted { .. }
        | BackendError::Store { .. } => return None,
    })
}

/// The pointer to a field of a record, or to all fields if its name is too long to repeat.
fn pointer_to(field: &str) -> String {
    let name = if field.len() > FIELD_NAME_SHOWN_BYTES_MAX { "" } else { &pointer::to(field) };
    format!("/fields{name}")
}

/// Each fault points at its section of the settings.
fn of_settings(faults: &[(&'static str, String)]) -> Problem {
    let field = |(part, detail): &(&str, String)| FieldError {
        pointer: format!("/{part}"),
        detail: detail.clone(),
    };
    let errors: Vec<_> = faults.iter().map(field).collect();
    let details = errors.iter().map(|error| format!("{}: {}", error.pointer, error.detail));
    let detail = details.collect::<Vec<_>>().join("; ");
    Problem { errors, ..Problem::new(Code::InvalidRequest, detail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_a_part_points_into_the_whole() {
        let field = Problem::of_field(Code::InvalidRequest, "/tokens/3", "no token").under("/1");
        assert_eq!(field.errors[0].pointer, "/1/tokens/3");
        let whole = Problem::new(Code::EmptyDocument, "empty").under("/2");
        assert_eq!(whole.errors, [FieldError { pointer: "/2".into(), detail: "empty".into() }]);
    }

    #[test]
    fn store_errors_are_hidden_from_clients() {
        let problem = Problem::from(EngineError::Backend(BackendError::Store {
            reason: "page 7".to_owned(),
        }));
        assert_eq!(problem.code, Code::Internal);
        assert!(!problem.detail.contains("page 7"));
    }
}
