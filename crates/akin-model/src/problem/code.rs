use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! codes {
    ($($variant:ident $name:literal $status:literal $title:literal $advice:literal;)+) => {
        /// The kind of a problem, in a word that stays the same between versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($variant),+
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The remedy of the client or the operator, in whole sentences.
            pub fn advice(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice),+
                }
            }

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
    MalformedJson "malformed_json" 400 "The body is not JSON"
        "Send valid JSON in UTF-8; the detail says at which line and column it is not.";
    MalformedText "malformed_text" 400 "The body is not UTF-8"
        "Send the text in UTF-8, without another charset in content-type.";
    InvalidParameter "invalid_parameter" 400 "A parameter is invalid"
        "Correct the parameter that the detail names; the API reference lists its values.";
    UnreadableBody "unreadable_body" 400 "The body ended early or is damaged"
        "Send the body again: it ended before its length, or its compression is damaged.";
    MalformedRequest "malformed_request" 400 "The request is not HTTP/1.1"
        "Send HTTP/1.1 by a usual client library. The connection was closed.";
    InvalidHost "invalid_host" 400 "The Host header is missing or invalid"
        "Send exactly one Host header with the server's name and port.";
    KeyRequired "key_required" 401 "A key is required"
        "Send a key as `Authorization: Bearer KEY`. `akin keys create` makes one.";
    InvalidKey "invalid_key" 401 "The key is unknown or has expired"
        "Check that the key is complete, not revoked and not expired: `akin keys list`.";
    NotPermitted "not_permitted" 403 "The key does not permit this"
        "Use a key with the action and for the collection that the detail names.";
    ForeignOrigin "foreign_origin" 403 "Web pages of other origins are refused"
        "List the page's origin in server.cors_origins if you trust it.";
    DocumentNotFound "document_not_found" 404 "No such document"
        "Check the id and the collection. Documents may have been removed or have expired.";
    CollectionNotFound "collection_not_found" 404 "No such collection"
        "Create it by PUT /collections/NAME, or check the name.";
    ReindexNotFound "reindex_not_found" 404 "No reindex was begun"
        "Begin one by POST /collections/NAME/reindex.";
    RouteNotFound "route_not_found" 404 "No such path"
        "Check the path against the API reference.";
    MethodNotAllowed "method_not_allowed" 405 "The path does not have this method"
        "Use one of the methods in the response's allow header.";
    BodyTimeout "body_timeout" 408 "The body arrived too slowly"
        "Send the body faster than 100 bytes per second, without pauses, or in smaller parts.";
    CollectionExists "collection_exists" 409 "The collection has other settings"
        "Use the collection with the settings that it has, another name, or a reindex.";
    CollectionRequired "collection_required" 409 "The collection cannot be removed"
        "Remove its documents instead: `default` always exists.";
    TooManyCollections "too_many_collections" 409 "Too many collections"
        "Remove collections that are not needed, or raise storage.collections_max.";
    ReindexUnderWay "reindex_under_way" 409 "A reindex is running"
        "Wait until the reindex has ended, or cancel it by DELETE.";
    ReindexOfDefault "reindex_of_default" 409 "The settings are those of the configuration"
        "Change the configuration, and run `akin reindex` while no server has the data.";
    ChangesGone "changes_gone" 410 "The changes are no longer kept"
        "Read the documents anew, such as by GET /export, and go on from the newest position.";
    BodyTooLarge "body_too_large" 413 "The body is too large"
        "Send less at once, documents as NDJSON, or raise server.body_bytes_max.";
    DocumentTooLarge "document_too_large" 413 "The document is too large"
        "Divide the document, or raise server.document_bytes_max, which also bounds texts that \
         are looked up.";
    UnsupportedMediaType "unsupported_media_type" 415 "The content type is not supported here"
        "Set content-type to one that the call takes, mostly application/json.";
    UnsupportedEncoding "unsupported_encoding" 415 "The content encoding is not supported"
        "Send the body uncompressed, or as gzip or zstd.";
    HostNotServed "host_not_served" 421 "The server has another name"
        "Use a name that server.hosts lists, or add this one to it. IP addresses and localhost \
         are always served.";
    InvalidDocument "invalid_document" 422 "The document is invalid"
        "Correct the fields that `errors` points at; the API reference has the schema.";
    InvalidRequest "invalid_request" 422 "The request is invalid"
        "Correct the fields that `errors` points at; the API reference has the schema.";
    EmptyDocument "empty_document" 422 "The document is empty"
        "Leave the document out: after normalisation no shingle is left to compare.";
    TooManyShingles "too_many_shingles" 422 "Too many shingles"
        "Compare smaller documents or fewer at once, or raise limits.shingles_max or \
         limits.collapse_shingles_max of the collection.";
    MetadataTooLarge "metadata_too_large" 422 "The metadata is too large"
        "Keep less beside the document, or raise limits.metadata_bytes_max.";
    TextNotKept "text_not_kept" 422 "The text is not kept"
        "Ask without what needs the text. To have it, make a collection with store.text = true \
         and add the documents again.";
    WrongContent "wrong_content" 422 "The collection does not take this content"
        "Send fields to collections of records, signatures to collections of signatures, and \
         text or tokens to all others. Of signatures only estimates can be had.";
    UnknownField "unknown_field" 422 "No such field"
        "Use the fields that the collection declares in scheme.fields.";
    FieldTooLarge "field_too_large" 422 "A field is too large"
        "Shorten the field, or raise limits.field_bytes_max.";
    UnsupportedMode "unsupported_mode" 422 "The collection does not have this mode"
        "Use the mode that the detail names, or a collection of another kind.";
    PassagesOff "passages_off" 422 "The collection has no index of passages"
        "Set passages.words of the collection, 32 for most texts, at its creation or by a \
         reindex; of `default` in the configuration.";
    RequestTooCostly "request_too_costly" 422 "The request costs too much"
        "Send fewer probes at a time, or lower `limit`, raise `threshold` or narrow `filter`; \
         or raise server.request_cost_max or, for the memory of an answer, server.memory_max.";
    TextRequired "text_required" 422 "The measure needs texts"
        "Compare texts: this measure is not defined for tokens.";
    TextsTooLong "texts_too_long" 422 "The texts are too long for the measure"
        "Compare shorter texts, or raise limits.edit_product_max.";
    TooManyRequests "too_many_requests" 429 "Too many requests"
        "Wait as long as retry-after says, send many documents or probes in one request, or \
         raise the limit that the detail names.";
    DocumentDamaged "document_damaged" 500 "A document is damaged"
        "Add the document again. `akin verify` lists all damage in a data directory.";
    Internal "internal" 500 "The server failed"
        "Look for the request id in the server's log, and report the fault with it.";
    UnsupportedByBackend "unsupported_by_backend" 501 "The backend does not support this"
        "Use a call that this backend supports.";
    NotReady "not_ready" 503 "The server is starting or stopping"
        "Wait until GET /readyz answers 200: collections are being opened, and `progress` says \
         how far.";
    OutOfService "out_of_service" 503 "The store is out of service"
        "Look at the server's log for the failed write; the process ends or has lost its files. \
         Start it again once the disk is in order.";
    CollectionUnavailable "collection_unavailable" 503 "The collection could not be opened"
        "Look at the server's log for the reason, and run `akin verify` on the data.";
    Overloaded "overloaded" 503 "The server is overloaded"
        "Retry after a pause that grows. If it lasts, raise the limit that the detail names, or \
         send less at once.";
    MemoryBudgetExhausted "memory_budget_exhausted" 503 "The memory of requests is reserved"
        "Retry after a pause, with smaller requests. If it lasts, raise server.memory_max.";
    TimedOut "timed_out" 503 "The request took too long"
        "Ask for less at once, or raise server.request_timeout_ms. Bulk imports, exports and \
         discoveries have no time limit.";
    InsufficientStorage "insufficient_storage" 507 "The disk is full"
        "Make room on the disk; writing then goes on by itself. Reads and removals are not \
         affected.";
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
    fn every_code_has_advice() {
        for code in Code::ALL {
            assert!(code.advice().len() > 20 && code.advice().ends_with('.'), "{code:?}");
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
