//! The OpenAPI document, derived from the handlers and wire types.

use std::collections::VecDeque;
use std::fmt::Write;

use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{
    Discriminator, Object, ObjectBuilder, OneOf, OneOfBuilder, Schema, Type,
};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, OpenApi};

use crate::engine::{Linkage, OnDuplicate, Order};
use crate::http::access::routes::{SCHEME, Schemas};
use crate::http::bulk::ndjson;
use crate::http::handlers;
use crate::http::problem::{Code, ProblemReply, of_calls};
use crate::http::request::OnDamaged;

/// The path of a collection, with which the paths of everything that acts on it begin.
pub const ONE_COLLECTION: &str = "/collections/{collection}";

#[derive(OpenApi)]
#[openapi(
    info(title = "akin"),
    servers(
        (url = "/", description = "The server that this document comes from."),
        (url = "http://127.0.0.1:2546", description = "A server with the default settings."),
    ),
    components(schemas(ProblemReply, Linkage, OnDamaged, OnDuplicate, Order)),
    tags(
        (name = "Documents", description = "Add, get, list, export and remove documents."),
        (name = "Looking up", description = "Find the near-duplicates of a document."),
        (name = "Discovery", description = "Find all pairs and clusters of near-duplicates."),
        (name = "Collections", description = "Create, describe and remove collections, each \
            with its own documents and settings."),
        (name = "Operating", description = "Health, statistics, snapshots and backups."),
    ),
)]
pub struct Head;

const CONVENTIONS: &str = "\
Near-duplicate search as a service. Documents become sets of shingles; their MinHash sketches are \
indexed by locality-sensitive hashing (LSH), and candidates are checked by their exact Jaccard \
similarity, which is called *resemblance* here.

JSON is in snake_case; times are RFC 3339 in UTC, in fields named `*_at`; durations have their \
unit in their name. An answer leaves a field out rather than give it as null. An unknown field, \
parameter or value is an error that names it. A body may have the `content-encoding` gzip or zstd, \
and answers are compressed where `accept-encoding` allows it. Every response has `x-request-id`, \
taken from the request if it has one of at most 128 visible ASCII characters.

A path without `/collections/{collection}` is that of the collection `default`.

Every error is a problem (RFC 9457) with one of these codes; those that may be retried come with \
`retry-after`. `GET /docs/problems` says what to do about each:

";

fn document() -> utoipa::openapi::OpenApi {
    let mut document = Head::openapi();
    document.info.description = Some(format!("{CONVENTIONS}{}", table_of_codes()));
    document.info.version = env!("CARGO_PKG_VERSION").into();
    document.info.contact = None;
    let mut schemas = Schemas::new();
    for route in handlers::all_routes().all {
        let Some(mut operation) = route.operation(&mut schemas) else { continue };
        if let Some(below) = route.path.strip_prefix(ONE_COLLECTION) {
            describe_collection(&mut operation, below);
        }
        describe_lines(&mut operation);
        // OpenAPI has no wildcards.
        let path = route.path.replace("{*", "{");
        document.paths.add_path_operation(path, vec![route.method], operation);
    }
    let components = document.components.get_or_insert_default();
    components.schemas.extend(schemas);
    components.add_security_scheme(SCHEME, key_scheme());
    let schemas = components.schemas.iter_mut();
    let schemas = schemas.filter_map(|(name, schema)| Some((name, owned(schema)?)));
    let objects: Vec<_> =
        schemas.flat_map(|(name, schema)| join_inline_parts(name, schema)).collect();
    components.schemas.extend(objects.into_iter().map(|(name, object)| (name, object.into())));
    document
}

/// Makes an object of the parts of an object that the code has in structs of their own, and an
/// object of each choice among its parts, because generators of clients leave out the fields of
/// nested parts. Returns the objects of the choices, which are schemas with names of their own.
fn join_inline_parts(name: &str, schema: &mut Schema) -> Vec<(String, Schema)> {
    let Schema::AllOf(whole) = schema else { return Vec::new() };
    let (mut object, mut choices, mut others) = (Object::default(), None, Vec::new());
    let mut parts = VecDeque::from(std::mem::take(&mut whole.items));
    while let Some(part) = parts.pop_front() {
        match part {
            RefOr::T(Schema::AllOf(nested)) => {
                nested.items.into_iter().rev().for_each(|part| parts.push_front(part));
            }
            RefOr::T(Schema::Object(part)) => extend(&mut object, part),
            RefOr::T(Schema::OneOf(part)) => choices = Some(part),
            other => others.push(other),
        }
    }
    let Some(choices) = choices else {
        if others.is_empty() {
            object.description = whole.description.take();
            *schema = object.into();
        } else {
            others.push(object.into());
            whole.items = others;
        }
        return Vec::new();
    };
    assert!(others.is_empty(), "{name} has a choice, so its other parts have to be inline");
    let (mut choice, objects) = choice_of_objects(name, choices, &object);
    choice.description = whole.description.take();
    *schema = choice.into();
    objects
}

fn extend(object: &mut Object, part: Object) {
    object.schema_type = part.schema_type;
    object.properties.extend(part.properties);
    object.required.extend(part.required);
}

/// Each choice with the properties of all choices, under the name of the whole and its own title.
/// If the choices have a `kind`, it tells them apart.
fn choice_of_objects(
    name: &str,
    choices: OneOf,
    of_all: &Object,
) -> (OneOf, Vec<(String, Schema)>) {
    let (mut builder, mut objects, mut kinds) = (OneOfBuilder::new(), Vec::new(), Vec::new());
    for choice in choices.items {
        let RefOr::T(Schema::Object(mut choice)) = choice else { continue };
        let name = format!("{name}{}", choice.title.take().expect("a choice has a title"));
        let reference = Ref::from_schema_name(&name);
        kinds.extend(kind_of(&choice).map(|kind| (kind, reference.ref_location.clone())));
        let mut object = of_all.clone();
        object.description = choice.description.take();
        extend(&mut object, choice);
        builder = builder.item(reference);
        objects.push((name, object.into()));
    }
    if !kinds.is_empty() {
        builder = builder.discriminator(Some(Discriminator::with_mapping("kind", kinds)));
    }
    (builder.build(), objects)
}

fn kind_of(choice: &Object) -> Option<String> {
    let RefOr::T(Schema::Object(kind)) = choice.properties.get("kind")? else { return None };
    Some(kind.enum_values.as_ref()?.first()?.as_str()?.to_owned())
}

/// The same handlers serve `default` and named collections. Under a collection's name each
/// operation has a further parameter, a further problem and its own operation id.
fn describe_collection(operation: &mut Operation, below: &str) {
    let of_path = CollectionParameter::into_params(|| None).into_iter().map(Into::into);
    operation.parameters.get_or_insert_default().splice(..0, of_path);
    if below.is_empty() {
        return;
    }
    of_calls::add(&mut operation.responses, &[Code::CollectionNotFound]);
    if let Some(id) = &mut operation.operation_id {
        id.push_str("_of_collection");
    }
}

fn key_scheme() -> SecurityScheme {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "A key made by `akin keys create`. Needed once the server has a file of keys.",
        ))
        .build();
    SecurityScheme::Http(scheme)
}

/// A body of NDJSON is a string, each line of which has the schema that the handler names.
fn describe_lines(operation: &mut Operation) {
    let answers = operation.responses.responses.values_mut().filter_map(owned);
    let answers = answers.filter_map(|answer| answer.content.get_mut(ndjson::MEDIA));
    let request = operation.request_body.as_mut().and_then(owned);
    let request = request.and_then(|body| body.content.get_mut(ndjson::MEDIA));
    for content in answers.chain(request).filter_map(owned) {
        let lines = ObjectBuilder::new()
            .schema_type(Type::String)
            .content_media_type(ndjson::MEDIA)
            .description(Some("On each line a JSON value of the schema in `contentSchema`."))
            .content_schema(content.schema.take());
        content.schema = Some(lines.into());
    }
}

fn owned<T>(of: &mut RefOr<T>) -> Option<&mut T> {
    match of {
        RefOr::T(owned) => Some(owned),
        RefOr::Ref(_) => None,
    }
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it documents a part of paths")]
struct CollectionParameter {
    /// The collection's name.
    #[param(pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", example = "news")]
    collection: String,
}

fn table_of_codes() -> String {
    let mut table = "| code | status | meaning | retry |\n|---|---|---|---|\n".to_owned();
    for code in Code::ALL {
        let (name, status, title) = code.facts();
        let retry = if code.retry_after_s().is_some() { "yes" } else { "no" };
        writeln!(table, "| `{name}` | {} | {title}. | {retry} |", status.as_u16())
            .expect("a string takes what is written to it");
    }
    table
}

/// The document as `openapi.yaml` holds it.
pub fn yaml() -> String {
    document().to_yaml().expect("the document is plain data")
}

/// The same document as JSON.
pub fn json() -> String {
    document().to_json().expect("the document is plain data")
}
