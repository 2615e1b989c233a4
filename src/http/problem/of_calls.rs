//! Which problems a call can have, for the OpenAPI document.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder, Responses};

use crate::http::problem::code::Code;

/// Of a call that only reads parameters.
pub struct Plain;

/// Of a call that names a stored document by parameter or path.
pub struct ById;

/// Of a call that takes probes.
pub struct Probing;

/// Of a comparison of stored documents.
pub struct ComparingStored;

/// Of a comparison of what is posted.
pub struct Comparing;

/// Of a call that takes a list of ids.
pub struct Collapsing;

/// Of a call that takes documents.
pub struct Adding;

/// Of a call that removes many documents.
pub struct RemovingMany;

/// Of a call that names a collection.
pub struct OfCollection;

/// Of a call that makes a collection.
pub struct Making;

/// Of a call that removes a collection.
pub struct Removing;

/// Of a call that saves collections.
pub struct BackingUp;

const PLAIN: &[Code] = &[
    Code::InvalidParameter,
    Code::Internal,
    Code::NotReady,
    Code::OutOfService,
    Code::Overloaded,
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

const MEASURES: &[Code] = &[Code::TextRequired, Code::TextsTooLong];

impl IntoResponses for Plain {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN])
    }
}

impl IntoResponses for ById {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, BY_ID])
    }
}

impl IntoResponses for Probing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, BODY, BY_ID, &[Code::BodyTooLarge, Code::InvalidRequest]])
    }
}

impl IntoResponses for ComparingStored {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, BY_ID, MEASURES, &[Code::TooManyShingles]])
    }
}

impl IntoResponses for Comparing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let posted = &[Code::BodyTooLarge, Code::InvalidRequest];
        by_status(&[PLAIN, BODY, BY_ID, MEASURES, posted])
    }
}

impl IntoResponses for Collapsing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, JSON_BODY, &[Code::TooManyShingles]])
    }
}

impl IntoResponses for Adding {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, BODY, &[Code::InvalidDocument, Code::MetadataTooLarge]])
    }
}

impl IntoResponses for RemovingMany {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, &[Code::InvalidRequest]])
    }
}

impl IntoResponses for OfCollection {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, &[Code::CollectionNotFound]])
    }
}

impl IntoResponses for Making {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, JSON_BODY, &[Code::CollectionExists, Code::TooManyCollections]])
    }
}

impl IntoResponses for Removing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, &[Code::CollectionNotFound, Code::CollectionRequired]])
    }
}

impl IntoResponses for BackingUp {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        by_status(&[PLAIN, &[Code::InsufficientStorage]])
    }
}

/// Adds what a call can have besides where it names the collection that it acts on.
pub fn add_collection_not_found(responses: &mut Responses) {
    for (status, added) in by_status(&[&[Code::CollectionNotFound]]) {
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
