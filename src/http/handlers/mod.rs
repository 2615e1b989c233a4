//! A handler is extract → one engine call → reply. The table of routes says of each route what
//! a key needs, and the problems that the route can answer with.

mod backup;
mod changes;
mod collapse;
mod collections;
mod curve;
mod discovery;
mod document;
mod documents;
mod fetch;
mod health;
mod metrics;
mod openapi;
mod passages;
mod recall;
mod reindex;
mod removal;
mod resemblance;
mod similar;
mod snapshots;
mod stats;

use utoipa::OpenApi;
use utoipa_axum::routes;

use crate::http::access::key::Action;
use crate::http::access::routes::{ADMIN, Limits, Needs, READ, Routes, WRITE};
use crate::http::console;
use crate::http::openapi::Head;
use crate::http::problem::code::Code;
use crate::http::problem::of_calls::{
    ANY, BODY, BY_ID, CHANGE, COUNTED, DISCOVERY, DOCUMENT, JSON_BODY, LOCAL, NEW_REINDEX,
    NOT_OF_ALL, PASSAGES, POSTED, REINDEX, REMOVED_COLLECTION, SETS, SETTINGS, TEXT,
};

/// Every route, with the OpenAPI document.
pub fn all_routes() -> Routes {
    Routes::with_openapi(Head::openapi())
        .merge(on_collections())
        .merge(without_timeout())
        .merge(always_answered())
}

/// Each route of a collection exists twice: below the name of a collection, and without a name for
/// `default`.
fn on_collections() -> Routes {
    let on_one = on_one_collection();
    Routes::new(Limits::NumberAndTime)
        .merge(on_one.clone())
        .routes(Needs::Anywhere(Action::Read), &[], routes!(collections::list))
        .routes(READ, &[&[Code::CollectionNotFound]], routes!(collections::describe))
        .routes(ADMIN, &[JSON_BODY, SETTINGS], routes!(collections::create))
        .routes(ADMIN, &[REMOVED_COLLECTION], routes!(collections::remove))
        .routes(READ, &[REINDEX], routes!(reindex::status))
        .routes(ADMIN, &[JSON_BODY, NEW_REINDEX], routes!(reindex::begin))
        .routes(ADMIN, &[REINDEX], routes!(reindex::cancel))
        .nest_in_collection(on_one)
        .routes(Needs::Nothing, &[], routes!(openapi::yaml))
        .routes(Needs::Nothing, &[], routes!(openapi::json))
}

fn on_one_collection() -> Routes {
    const MEASURED: &[Code] = &[Code::TextRequired, Code::TextsTooLong];
    Routes::new(Limits::NumberAndTime)
        .routes(READ, &[COUNTED], routes!(documents::list))
        .routes(WRITE, &[BODY, COUNTED, DOCUMENT], routes!(documents::add))
        .routes(READ, &[BY_ID, COUNTED, NOT_OF_ALL], routes!(document::get))
        .routes(WRITE, &[BODY, COUNTED, DOCUMENT], routes!(document::put))
        .routes(WRITE, &[JSON_BODY, CHANGE], routes!(document::change))
        .routes(WRITE, &[BY_ID, NOT_OF_ALL], routes!(document::remove))
        .routes(READ, &[JSON_BODY, COUNTED, NOT_OF_ALL], routes!(fetch::fetch))
        .routes(READ, &[], routes!(documents::export))
        .routes(READ, &[BY_ID, COUNTED, PASSAGES], routes!(similar::stored))
        .routes(READ, &[BODY, BY_ID, POSTED, COUNTED, PASSAGES], routes!(similar::posted))
        .routes(READ, &[BY_ID, COUNTED, PASSAGES], routes!(passages::stored))
        .routes(READ, &[JSON_BODY, BY_ID, COUNTED, PASSAGES, TEXT], routes!(passages::posted))
        .routes(READ, &[BY_ID, MEASURED, COUNTED, SETS], routes!(resemblance::stored))
        .routes(READ, &[BODY, BY_ID, MEASURED, POSTED, COUNTED], routes!(resemblance::posted))
        .routes(READ, &[DISCOVERY], routes!(discovery::pairs))
        .routes(READ, &[&[Code::DocumentNotFound], DISCOVERY], routes!(discovery::clusters))
        .routes(READ, &[JSON_BODY, COUNTED, SETS], routes!(collapse::collapse))
        .routes(READ, &[NOT_OF_ALL], routes!(curve::curve))
        .routes(READ, &[], routes!(stats::stats))
        .routes(READ, &[COUNTED, NOT_OF_ALL], routes!(recall::recall))
        .routes(READ, &[LOCAL], routes!(snapshots::list))
        .routes(ADMIN, &[LOCAL], routes!(snapshots::take))
}

/// Routes that may take any time. They stop when their client goes away.
fn without_timeout() -> Routes {
    const DISK: &[Code] = &[Code::InsufficientStorage];
    let on_one = || {
        Routes::new(Limits::Number)
            .routes(WRITE, &[&[Code::InvalidRequest], DISK], routes!(removal::remove))
            .routes(WRITE, &[JSON_BODY, DISK], routes!(removal::remove_named))
            .routes(READ, &[&[Code::ChangesGone]], routes!(changes::changes))
    };
    Routes::new(Limits::Number)
        .merge(on_one())
        .nest_in_collection(on_one())
        .routes(Needs::InAll(Action::Admin), &[DISK, LOCAL], routes!(backup::all))
        .routes(ADMIN, &[DISK, LOCAL], routes!(backup::one))
}

/// Routes that answer however many requests are in flight.
fn always_answered() -> Routes {
    Routes::new(Limits::None)
        .routes(Needs::NothingAtAnyRate, &[], routes!(health::alive))
        .routes(Needs::NothingAtAnyRate, &[ANY], routes!(health::ready))
        .routes(Needs::Metrics, &[], routes!(metrics::metrics))
        .pages(console::routes())
}
