//! The problems that each kind of call can answer with, for the OpenAPI document.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder, Responses};

use crate::http::problem::code::Code;

const PLAIN: &[Code] = &[
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

const BODY: &[Code] = &[
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

const BY_ID: &[Code] = &[Code::DocumentNotFound, Code::TextNotKept, Code::UnsupportedMode];

const JSON_BODY: &[Code] = &[
    Code::MalformedJson,
    Code::UnreadableBody,
    Code::BodyTimeout,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::UnsupportedEncoding,
    Code::InvalidRequest,
];

/// Of calls that are charged for their work.
const COUNTED: &[Code] = &[Code::RequestTooCostly];

const MEASURES: &[Code] = &[Code::TextRequired, Code::TextsTooLong];

const PASSAGES: &[Code] = &[Code::PassagesOff, Code::WrongContent, Code::EmptyDocument];

const POSTED: &[Code] = &[Code::BodyTooLarge, Code::InvalidRequest];

/// Types that stand for problems in `#[utoipa::path(responses(…))]`.
macro_rules! problems {
    ($($(#[$doc:meta])* $name:ident: [$($codes:expr),+];)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                by_status(&[PLAIN, $($codes),+])
            }
        }
    )+};
}

problems! {
    /// Of a call that only reads parameters.
    Plain: [&[]];
    /// Of a call that lists documents.
    Listing: [COUNTED];
    /// Of a call that removes a stored document, or reads it at no charge.
    ById: [BY_ID, &[Code::WrongContent]];
    /// Of a call that names a stored document by parameter or path.
    OfStored: [BY_ID, COUNTED, &[Code::WrongContent]];
    /// Of a search for the passages of a stored document.
    PassagesOfStored: [BY_ID, COUNTED, PASSAGES];
    /// Of a search for the passages of a text.
    PassagesOfPosted: [JSON_BODY, BY_ID, COUNTED, PASSAGES, &[
        Code::MalformedText,
        Code::DocumentTooLarge,
    ]];
    /// Of a lookup of a stored document.
    LookingUp: [BY_ID, COUNTED, PASSAGES];
    /// Of a lookup of probes.
    Probing: [BODY, BY_ID, POSTED, COUNTED, PASSAGES];
    /// Of a comparison of stored documents.
    ComparingStored: [BY_ID, MEASURES, COUNTED, &[Code::TooManyShingles, Code::WrongContent]];
    /// Of a comparison of posted documents.
    Comparing: [BODY, BY_ID, MEASURES, POSTED, COUNTED];
    /// Of a discovery of pairs or clusters.
    Discovering: [&[Code::UnsupportedMode, Code::WrongContent]];
    /// Of a call for clusters, or for the cluster of one document.
    Clustering: [&[
        Code::DocumentNotFound,
        Code::UnsupportedMode,
        Code::WrongContent,
    ]];
    /// Of a measurement of recall.
    Measuring: [COUNTED, &[Code::WrongContent]];
    /// Of a call that collections of records or signatures refuse.
    OfTexts: [&[Code::WrongContent]];
    /// Of a call that takes a list of ids.
    Collapsing: [JSON_BODY, COUNTED, &[Code::TooManyShingles, Code::WrongContent]];
    /// Of a call that reads changes.
    Following: [&[Code::ChangesGone]];
    /// Of a call that takes a list of ids to return.
    Fetching: [JSON_BODY, COUNTED, &[Code::WrongContent]];
    /// Of a call that takes documents.
    Adding: [BODY, COUNTED, &[
        Code::PassagesOff,
        Code::InvalidDocument,
        Code::MetadataTooLarge,
        Code::InsufficientStorage,
    ]];
    /// Of a call that changes a document.
    Changing: [JSON_BODY, &[
        Code::DocumentNotFound,
        Code::TextNotKept,
        Code::InvalidDocument,
        Code::MetadataTooLarge,
        Code::InsufficientStorage,
    ]];
    /// Of a call that removes many documents.
    RemovingMany: [&[Code::InvalidRequest, Code::InsufficientStorage]];
    /// Of a call that removes the documents that its body names.
    RemovingNamed: [JSON_BODY, &[Code::InsufficientStorage]];
    /// Of a call that names a collection.
    OfCollection: [&[Code::CollectionNotFound]];
    /// Of a call that creates a collection.
    Making: [JSON_BODY, &[
        Code::CollectionExists,
        Code::TooManyCollections,
        Code::InsufficientStorage,
    ]];
    /// Of a call that begins a reindex.
    BeginningReindex: [JSON_BODY, &[
        Code::CollectionNotFound,
        Code::ReindexUnderWay,
        Code::ReindexOfDefault,
        Code::TextNotKept,
        Code::InsufficientStorage,
    ]];
    /// Of a call on a reindex that was begun.
    OfReindex: [&[Code::CollectionNotFound, Code::ReindexNotFound]];
    /// Of a call that removes a collection.
    Removing: [&[Code::CollectionNotFound, Code::CollectionRequired]];
    /// Of a call that backs collections up.
    BackingUp: [&[Code::InsufficientStorage]];
    /// Of a call that makes or lists snapshots.
    OfSnapshots: [&[]];
}

/// Adds the problem of a call that names a collection.
pub fn add_collection_not_found(responses: &mut Responses) {
    add(responses, &[Code::CollectionNotFound]);
}

/// Adds problems to the answers of a call.
pub fn add(responses: &mut Responses, codes: &[Code]) {
    for (status, added) in by_status(&[codes]) {
        match (responses.responses.get_mut(&status), added) {
            (Some(RefOr::T(known)), RefOr::T(added)) => {
                known.description = format!("{}, {}", known.description, added.description);
            }
            (_, added) => drop(responses.responses.insert(status, added)),
        }
    }
}

/// A response for each status, which names the codes that have it.
fn by_status(codes: &[&[Code]]) -> BTreeMap<String, RefOr<Response>> {
    let mut names = BTreeMap::<String, Vec<String>>::new();
    for code in codes.iter().copied().flatten() {
        let (name, status, _) = code.facts();
        names.entry(status.as_str().to_owned()).or_default().push(format!("`{name}`"));
    }
    let response = |names: Vec<String>| {
        let content = Content::new(Some(Ref::from_schema_name("Problem")));
        ResponseBuilder::new()
            .description(names.join(", "))
            .content("application/problem+json", content)
            .build()
    };
    names.into_iter().map(|(status, names)| (status, response(names).into())).collect()
}
