use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! codes {
    ($($variant:ident $name:literal $status:literal $title:literal;)+) => {
        /// The kind of a problem, in a word that stays the same between versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($variant),+
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The code as clients read it, its status and its title.
            pub fn facts(self) -> (&'static str, StatusCode, &'static str) {
                match self {
                    $(Self::$variant => ($name, s($status), $title)),+
                }
            }
        }
    };
}

codes! {
    MalformedJson "malformed_json" 400 "The body is not JSON";
    MalformedText "malformed_text" 400 "The body is not UTF-8";
    InvalidParameter "invalid_parameter" 400 "A parameter is invalid";
    UnreadableBody "unreadable_body" 400 "The body ended early or is damaged";
    MalformedRequest "malformed_request" 400 "The request is not HTTP/1.1";
    InvalidHost "invalid_host" 400 "The Host header is missing or invalid";
    KeyRequired "key_required" 401 "A key is required";
    InvalidKey "invalid_key" 401 "The key is unknown or has expired";
    NotPermitted "not_permitted" 403 "The key does not permit this";
    ForeignOrigin "foreign_origin" 403 "Web pages of other origins are refused";
    DocumentNotFound "document_not_found" 404 "No such document";
    CollectionNotFound "collection_not_found" 404 "No such collection";
    ReindexNotFound "reindex_not_found" 404 "No reindex was begun";
    RouteNotFound "route_not_found" 404 "No such path";
    MethodNotAllowed "method_not_allowed" 405 "The path does not have this method";
    BodyTimeout "body_timeout" 408 "The body arrived too slowly";
    CollectionExists "collection_exists" 409 "The collection has other settings";
    CollectionRequired "collection_required" 409 "The collection cannot be removed";
    TooManyCollections "too_many_collections" 409 "Too many collections";
    ReindexUnderWay "reindex_under_way" 409 "A reindex is running";
    ReindexOfDefault "reindex_of_default" 409 "The settings are those of the configuration";
    ChangesGone "changes_gone" 410 "The changes are no longer kept";
    BodyTooLarge "body_too_large" 413 "The body is too large";
    DocumentTooLarge "document_too_large" 413 "The document is too large";
    UnsupportedMediaType "unsupported_media_type" 415 "The content type is not supported here";
    UnsupportedEncoding "unsupported_encoding" 415 "The content encoding is not supported";
    HostNotServed "host_not_served" 421 "The server has another name";
    InvalidDocument "invalid_document" 422 "The document is invalid";
    InvalidRequest "invalid_request" 422 "The request is invalid";
    EmptyDocument "empty_document" 422 "The document is empty";
    TooManyShingles "too_many_shingles" 422 "Too many shingles";
    MetadataTooLarge "metadata_too_large" 422 "The metadata is too large";
    TextNotKept "text_not_kept" 422 "The text is not kept";
    WrongContent "wrong_content" 422 "The collection does not take this content";
    UnknownField "unknown_field" 422 "No such field";
    FieldTooLarge "field_too_large" 422 "A field is too large";
    UnsupportedMode "unsupported_mode" 422 "The collection does not have this mode";
    PassagesOff "passages_off" 422 "The collection has no index of passages";
    RequestTooCostly "request_too_costly" 422 "The request costs too much";
    TextRequired "text_required" 422 "The measure needs texts";
    TextsTooLong "texts_too_long" 422 "The texts are too long for the measure";
    TooManyRequests "too_many_requests" 429 "Too many requests";
    DocumentDamaged "document_damaged" 500 "A document is damaged";
    Internal "internal" 500 "The server failed";
    UnsupportedByBackend "unsupported_by_backend" 501 "The backend does not support this";
    NotReady "not_ready" 503 "The server is starting or stopping";
    OutOfService "out_of_service" 503 "The store is out of service";
    CollectionUnavailable "collection_unavailable" 503 "The collection could not be opened";
    Overloaded "overloaded" 503 "The server is overloaded";
    MemoryBudgetExhausted "memory_budget_exhausted" 503 "The memory of requests is reserved";
    TimedOut "timed_out" 503 "The request took too long";
    InsufficientStorage "insufficient_storage" 507 "The disk is full";
}

impl Code {
    pub fn status(self) -> StatusCode {
        self.facts().1
    }

    /// Whether the detail tells of the caller, such as its key or its web page, and of no document.
    pub fn is_of_access(self) -> bool {
        matches!(
            self,
            Self::KeyRequired
                | Self::InvalidKey
                | Self::NotPermitted
                | Self::ForeignOrigin
                | Self::InvalidHost
                | Self::HostNotServed
                | Self::TooManyRequests
        )
    }

    /// The seconds after which the same request may succeed; `None` if it never will.
    pub fn retry_after_s(self) -> Option<u32> {
        match self {
            Self::NotReady
            | Self::Overloaded
            | Self::MemoryBudgetExhausted
            | Self::TimedOut
            | Self::TooManyRequests => Some(1),
            Self::OutOfService => Some(10),
            Self::CollectionUnavailable => Some(60),
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
    fn a_code_serialises_to_its_name() {
        for &code in Code::ALL {
            let json = serde_json::to_value(code).unwrap();
            assert_eq!(json, code.facts().0);
            assert!(code.status().is_client_error() || code.status().is_server_error());
        }
    }

    #[test]
    fn retryable_codes_have_retry_after() {
        for code in Code::ALL {
            let retried = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS]
                .contains(&code.status());
            assert_eq!(code.retry_after_s().is_some(), retried, "{code:?}");
        }
    }
}
