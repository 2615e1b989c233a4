use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

/// What went wrong, in a word that stays the same between versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    MalformedJson,
    MalformedText,
    InvalidParameter,
    UnreadableBody,
    DocumentNotFound,
    CollectionNotFound,
    ReindexNotFound,
    RouteNotFound,
    MethodNotAllowed,
    BodyTimeout,
    CollectionExists,
    CollectionRequired,
    TooManyCollections,
    ReindexUnderWay,
    ReindexOfDefault,
    BodyTooLarge,
    DocumentTooLarge,
    UnsupportedMediaType,
    UnsupportedEncoding,
    InvalidDocument,
    InvalidRequest,
    EmptyDocument,
    TooManyShingles,
    MetadataTooLarge,
    TextNotKept,
    FieldTooLarge,
    TextRequired,
    TextsTooLong,
    UnknownField,
    UnsupportedMode,
    WrongContent,
    DocumentDamaged,
    Internal,
    NotReady,
    OutOfService,
    Overloaded,
    TimedOut,
    InsufficientStorage,
}

impl Code {
    pub const ALL: [Self; 38] = [
        Self::MalformedJson,
        Self::MalformedText,
        Self::InvalidParameter,
        Self::UnreadableBody,
        Self::DocumentNotFound,
        Self::CollectionNotFound,
        Self::ReindexNotFound,
        Self::RouteNotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::CollectionExists,
        Self::CollectionRequired,
        Self::TooManyCollections,
        Self::ReindexUnderWay,
        Self::ReindexOfDefault,
        Self::BodyTooLarge,
        Self::DocumentTooLarge,
        Self::UnsupportedMediaType,
        Self::UnsupportedEncoding,
        Self::InvalidDocument,
        Self::InvalidRequest,
        Self::EmptyDocument,
        Self::TooManyShingles,
        Self::MetadataTooLarge,
        Self::TextNotKept,
        Self::WrongContent,
        Self::UnknownField,
        Self::FieldTooLarge,
        Self::UnsupportedMode,
        Self::TextRequired,
        Self::TextsTooLong,
        Self::DocumentDamaged,
        Self::Internal,
        Self::NotReady,
        Self::OutOfService,
        Self::Overloaded,
        Self::TimedOut,
        Self::InsufficientStorage,
    ];

    /// The code as clients read it, its status, and what it means.
    pub fn facts(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::MalformedJson => ("malformed_json", s(400), "The body is not JSON"),
            Self::MalformedText => ("malformed_text", s(400), "The body is not UTF-8"),
            Self::InvalidParameter => ("invalid_parameter", s(400), "A parameter is wrong"),
            Self::UnreadableBody => ("unreadable_body", s(400), "The body broke off"),
            Self::DocumentNotFound => ("document_not_found", s(404), "No such document"),
            Self::CollectionNotFound => ("collection_not_found", s(404), "No such collection"),
            Self::ReindexNotFound => ("reindex_not_found", s(404), "No reindex was begun"),
            Self::RouteNotFound => ("route_not_found", s(404), "No such path"),
            Self::MethodNotAllowed => ("method_not_allowed", s(405), "No such method here"),
            Self::BodyTimeout => ("body_timeout", s(408), "The body came too slowly"),
            Self::CollectionExists => {
                ("collection_exists", s(409), "The collection has other settings")
            }
            Self::CollectionRequired => {
                ("collection_required", s(409), "The collection cannot be removed")
            }
            Self::TooManyCollections => ("too_many_collections", s(409), "Too many collections"),
            Self::ReindexUnderWay => ("reindex_under_way", s(409), "A reindex is under way"),
            Self::ReindexOfDefault => {
                ("reindex_of_default", s(409), "The settings are those of the configuration")
            }
            Self::BodyTooLarge => ("body_too_large", s(413), "The body is too large"),
            Self::DocumentTooLarge => ("document_too_large", s(413), "The document is too large"),
            Self::UnsupportedMediaType => {
                ("unsupported_media_type", s(415), "The content type is not taken here")
            }
            Self::UnsupportedEncoding => {
                ("unsupported_encoding", s(415), "The content encoding is not taken here")
            }
            Self::InvalidDocument => ("invalid_document", s(422), "The document is invalid"),
            Self::InvalidRequest => ("invalid_request", s(422), "The request is invalid"),
            Self::EmptyDocument => ("empty_document", s(422), "The document is empty"),
            Self::TooManyShingles => ("too_many_shingles", s(422), "Too many shingles"),
            Self::MetadataTooLarge => ("metadata_too_large", s(422), "The metadata is too large"),
            Self::TextNotKept => ("text_not_kept", s(422), "The text is not kept"),
            Self::WrongContent => ("wrong_content", s(422), "The content is not taken here"),
            Self::UnknownField => ("unknown_field", s(422), "No such field"),
            Self::FieldTooLarge => ("field_too_large", s(422), "A field is too large"),
            Self::UnsupportedMode => ("unsupported_mode", s(422), "The mode is not to be had here"),
            Self::TextRequired => ("text_required", s(422), "Tokens are no text"),
            Self::TextsTooLong => ("texts_too_long", s(422), "The texts are too long for this"),
            Self::DocumentDamaged => ("document_damaged", s(500), "A document is damaged"),
            Self::Internal => ("internal", s(500), "The server failed"),
            Self::NotReady => ("not_ready", s(503), "The server is not ready yet"),
            Self::OutOfService => ("out_of_service", s(503), "The store is out of service"),
            Self::Overloaded => ("overloaded", s(503), "The server has too much to do"),
            Self::TimedOut => ("timed_out", s(503), "The request took too long"),
            Self::InsufficientStorage => {
                ("insufficient_storage", s(507), "The disk has no room for it")
            }
        }
    }

    pub fn status(self) -> StatusCode {
        self.facts().1
    }

    /// After how many seconds the same request may succeed; `None` if it never will.
    pub fn retry_after_s(self) -> Option<u32> {
        match self {
            Self::NotReady | Self::Overloaded | Self::TimedOut => Some(1),
            Self::OutOfService => Some(10),
            _ => None,
        }
    }
}

fn s(status: u16) -> StatusCode {
    StatusCode::from_u16(status).expect("the statuses above are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_the_same_in_its_type_and_as_json() {
        for code in Code::ALL {
            let json = serde_json::to_value(code).unwrap();
            assert_eq!(json, code.facts().0);
            assert!(code.status().is_client_error() || code.status().is_server_error());
        }
    }

    #[test]
    fn what_may_be_retried_says_so() {
        for code in Code::ALL {
            let retried = code.status() == StatusCode::SERVICE_UNAVAILABLE;
            assert_eq!(code.retry_after_s().is_some(), retried, "{code:?}");
        }
    }
}
