//! The OpenAPI document, made from the handlers.

use std::fmt::Write;

use utoipa::OpenApi;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::engine::{Linkage, OnDuplicate, Order};
use crate::http::problem::ProblemReply;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls;

/// The path of a collection, and what that of all that acts on it begins with.
pub const ONE_COLLECTION: &str = "/collections/{collection}";

#[derive(OpenApi)]
#[openapi(
    info(title = "akin", description = "Near-duplicate search as a service."),
    components(schemas(ProblemReply, Linkage, OnDuplicate, Order)),
    tags(
        (name = "Documents", description = "Adding, getting, removing."),
        (name = "Looking up", description = "Which documents are nearly this one?"),
        (name = "Discovery", description = "Which of all documents are nearly the same?"),
        (name = "Collections", description = "Documents apart from others, with settings of \
            their own."),
        (name = "Operating", description = "Health, figures, snapshots."),
    ),
)]
pub struct Head;

const CONVENTIONS: &str = "\
Near-duplicate search as a service: which documents are nearly this one?

JSON is in snake_case; times are RFC 3339 in UTC, in fields named `*_at`; durations have their \
unit in their name. An unknown field, parameter or value is an error that names it. A body may \
come with `content-encoding` gzip or zstd, and answers are compressed where `accept-encoding` \
allows it. Every response bears `x-request-id`, taken from the request where it has one of at \
most 128 visible ASCII characters.

What a path does to the collection `default`, the same path under `/collections/{collection}` \
does to that one.

Every error is a problem (RFC 9457) with one of these codes; those that may be retried come with \
`retry-after`:

";

/// Completes what the handlers say of themselves.
pub fn complete(mut document: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    document.info.description = Some(format!("{CONVENTIONS}{}", table_of_codes()));
    document.info.version = env!("CARGO_PKG_VERSION").into();
    document.info.contact = None;
    // The router's wildcard is nothing that OpenAPI knows.
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths =
        paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    describe_paths_of_collections(&mut document);
    document
}

/// Handlers do not know that they are there twice: under a collection's name they have a parameter
/// and a problem more, and operation ids must not come twice.
fn describe_paths_of_collections(document: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let Some(below) = path.strip_prefix(ONE_COLLECTION) else { continue };
        let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            operation.parameters.get_or_insert_default().insert(0, collection_parameter().into());
            if below.is_empty() {
                continue;
            }
            of_calls::add_collection_not_found(&mut operation.responses);
            if let Some(id) = &mut operation.operation_id {
                id.push_str("_of_collection");
            }
        }
    }
}

fn collection_parameter() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[a-z0-9][a-z0-9_-]{0,63}$"))
        .build();
    ParameterBuilder::new()
        .name("collection")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The collection's name."))
        .schema(Some(schema))
        .example(Some("news".into()))
        .build()
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
    let (_, document) = crate::http::routes().split_for_parts();
    complete(document).to_yaml().expect("the document is plain data")
}
