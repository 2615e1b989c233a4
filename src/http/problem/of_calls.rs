//! The problems that calls can answer with, for the OpenAPI document. The table of routes in
//! `http::router` says which of these groups each route has.

use std::collections::BTreeMap;

use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder, Responses};

use crate::http::problem::Code;

/// Of every call on a collection.
pub const ANY: &[Code] = &[
    Code::InvalidParameter,
    Code::DocumentDamaged,
    Code::Internal,
    Code::NotReady,
    Code::OutOfService,
    Code::CollectionUnavailable,
    Code::Overloaded,
    Code::MemoryBudgetExhausted,
    Code::TimedOut,
];

/// Of calls that take documents or probes.
pub const BODY: &[Code] = &[
    Code::MalformedJson,
    Code::MalformedText,
    Code::UnreadableBody,
    Code::BodyTimeout,
    Code::DocumentTooLarge,
    Code::UnsupportedMediaType,
    Code::UnsupportedEncoding,
    Code::EmptyDocument,
    Code::TooManyShingles,
    Code::WrongContent,
    Code::UnknownField,
    Code::FieldTooLarge,
];

/// Of calls that take probes.
pub const POSTED: &[Code] = &[Code::BodyTooLarge, Code::InvalidRequest];

/// Of calls that take JSON without documents.
pub const JSON_BODY: &[Code] = &[
    Code::MalformedJson,
    Code::UnreadableBody,
    Code::BodyTimeout,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::UnsupportedEncoding,
    Code::InvalidRequest,
];

/// Of calls that take a text beside JSON.
pub const TEXT: &[Code] = &[Code::MalformedText, Code::DocumentTooLarge];

/// Of calls that name a stored document.
pub const BY_ID: &[Code] = &[Code::DocumentNotFound, Code::TextNotKept, Code::UnsupportedMode];

/// Of calls that are charged for their work.
pub const COUNTED: &[Code] = &[Code::RequestTooCostly];

/// Of calls that collections of records or signatures refuse.
pub const NOT_OF_ALL: &[Code] = &[Code::WrongContent];

/// Of calls that compare the sets of documents.
pub const SETS: &[Code] = &[Code::TooManyShingles, Code::WrongContent];

/// Of searches for passages, and lookups by containment.
pub const PASSAGES: &[Code] = &[Code::PassagesOff, Code::WrongContent, Code::EmptyDocument];

/// Of discoveries of pairs or clusters.
pub const DISCOVERY: &[Code] = &[Code::UnsupportedMode, Code::WrongContent];

/// Of calls that add documents.
pub const DOCUMENT: &[Code] =
    &[Code::PassagesOff, Code::InvalidDocument, Code::MetadataTooLarge, Code::InsufficientStorage];

/// Of calls that change a document.
pub const CHANGE: &[Code] = &[
    Code::DocumentNotFound,
    Code::TextNotKept,
    Code::InvalidDocument,
    Code::MetadataTooLarge,
    Code::InsufficientStorage,
];

/// Of calls that collections in a data directory alone can answer.
pub const LOCAL: &[Code] = &[Code::UnsupportedByBackend];

/// Of calls that create a collection.
pub const SETTINGS: &[Code] = &[
    Code::CollectionExists,
    Code::TooManyCollections,
    Code::InsufficientStorage,
    Code::UnsupportedByBackend,
];

/// Of calls that remove a collection.
pub const REMOVED_COLLECTION: &[Code] = &[Code::CollectionNotFound, Code::CollectionRequired];

/// Of calls that begin a reindex.
pub const NEW_REINDEX: &[Code] = &[
    Code::CollectionNotFound,
    Code::ReindexUnderWay,
    Code::ReindexOfDefault,
    Code::TextNotKept,
    Code::InsufficientStorage,
    Code::UnsupportedByBackend,
];

/// Of calls on a reindex that was begun.
pub const REINDEX: &[Code] = &[Code::CollectionNotFound, Code::ReindexNotFound];

/// Adds problems to the answers of a call: a response for each status, which names its codes.
pub fn add(responses: &mut Responses, codes: &[Code]) {
    let mut names = BTreeMap::<String, Vec<String>>::new();
    for code in codes {
        let (name, status, _) = code.facts();
        names.entry(status.as_str().to_owned()).or_default().push(format!("`{name}`"));
    }
    for (status, names) in names {
        let names = names.join(", ");
        match responses.responses.get_mut(&status) {
            Some(RefOr::T(known)) => known.description = format!("{}, {names}", known.description),
            _ => drop(responses.responses.insert(status, response(names).into())),
        }
    }
}

fn response(names: String) -> Response {
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new().description(names).content("application/problem+json", content).build()
}
