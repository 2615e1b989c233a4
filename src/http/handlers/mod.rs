//! A handler is extract → one engine call → reply. The table of routes says of each route what
//! a key needs, and the problems that the route can answer with.

mod changes;
mod collapse;
mod collections;
mod discovery;
mod document;
mod documents;
mod operating;
mod passages;
mod quality;
mod removal;
mod resemblance;
mod similar;

use crate::http::access::routes::{ADMIN, READ, Routes, WRITE, route};
use crate::http::access::{Action, Limits, Needs, Route};
use crate::http::console;
use crate::http::problem::Code;
use crate::http::problem::of_calls::{
    ANY, BODY, BY_ID, CHANGE, COUNTED, DISCOVERY, DOCUMENT, JSON_BODY, LOCAL, NEW_REINDEX,
    NOT_OF_ALL, PASSAGES, POSTED, REINDEX, REMOVED_COLLECTION, SETS, SETTINGS, TEXT,
};

pub fn all_routes() -> Routes {
    on_collections().merge(without_timeout()).merge(always_answered())
}

/// Each route of a collection exists twice: below the name of a collection, and without a name for
/// `default`.
fn on_collections() -> Routes {
    let on_one = on_one_collection();
    Routes::new(Limits::NumberAndTime)
        .merge(on_one.clone())
        .route(Needs::Anywhere(Action::Read), &[], route!(collections::list))
        .route(READ, &[&[Code::CollectionNotFound]], route!(collections::describe))
        .route(ADMIN, &[JSON_BODY, SETTINGS], route!(collections::create))
        .route(ADMIN, &[REMOVED_COLLECTION], route!(collections::remove))
        .route(READ, &[REINDEX], route!(collections::reindex_status))
        .route(ADMIN, &[JSON_BODY, NEW_REINDEX], route!(collections::reindex))
        .route(ADMIN, &[REINDEX], route!(collections::cancel_reindex))
        .nest_in_collection(on_one)
        .route(Needs::Nothing, &[], route!(operating::openapi_yaml))
        .route(Needs::Nothing, &[], route!(operating::openapi_json))
}

fn on_one_collection() -> Routes {
    const MEASURED: &[Code] = &[Code::TextRequired, Code::TextsTooLong];
    Routes::new(Limits::NumberAndTime)
        .route(READ, &[COUNTED], route!(documents::list))
        .route(WRITE, &[BODY, COUNTED, DOCUMENT], route!(documents::add))
        .route(READ, &[BY_ID, COUNTED, NOT_OF_ALL], route!(document::get))
        .route(WRITE, &[BODY, COUNTED, DOCUMENT], route!(document::put))
        .route(WRITE, &[JSON_BODY, CHANGE], route!(document::change))
        .route(WRITE, &[BY_ID, NOT_OF_ALL], route!(document::remove))
        .route(READ, &[JSON_BODY, COUNTED, NOT_OF_ALL], route!(document::fetch))
        .route(READ, &[], route!(documents::export))
        .route(READ, &[BY_ID, COUNTED, PASSAGES], route!(similar::stored))
        .route(READ, &[BODY, BY_ID, POSTED, COUNTED, PASSAGES], route!(similar::posted))
        .route(READ, &[BY_ID, COUNTED, PASSAGES], route!(passages::stored))
        .route(READ, &[JSON_BODY, BY_ID, COUNTED, PASSAGES, TEXT], route!(passages::posted))
        .route(READ, &[BY_ID, MEASURED, COUNTED, SETS], route!(resemblance::stored))
        .route(READ, &[BODY, BY_ID, MEASURED, POSTED, COUNTED], route!(resemblance::posted))
        .route(READ, &[DISCOVERY], route!(discovery::pairs))
        .route(READ, &[&[Code::DocumentNotFound], DISCOVERY], route!(discovery::clusters))
        .route(READ, &[JSON_BODY, COUNTED, SETS], route!(collapse::collapse))
        .route(READ, &[NOT_OF_ALL], route!(quality::curve))
        .route(READ, &[], route!(operating::stats))
        .route(READ, &[COUNTED, NOT_OF_ALL], route!(quality::recall))
        .route(READ, &[LOCAL], route!(operating::list_snapshots))
        .route(ADMIN, &[LOCAL], route!(operating::take_snapshot))
}

/// Routes that may take any time. They stop when their client goes away.
fn without_timeout() -> Routes {
    const DISK: &[Code] = &[Code::InsufficientStorage];
    let on_one = || {
        Routes::new(Limits::Number)
            .route(WRITE, &[&[Code::InvalidRequest], DISK], route!(removal::remove))
            .route(WRITE, &[JSON_BODY, DISK], route!(removal::remove_named))
            .route(READ, &[&[Code::ChangesGone]], route!(changes::changes))
    };
    Routes::new(Limits::Number)
        .merge(on_one())
        .nest_in_collection(on_one())
        .route(Needs::InAll(Action::Admin), &[DISK, LOCAL], route!(operating::back_up_all))
        .route(ADMIN, &[DISK, LOCAL], route!(operating::back_up))
}

/// Routes that answer however many requests are in flight.
fn always_answered() -> Routes {
    let routes = Routes::new(Limits::None)
        .route(Needs::NothingAtAnyRate, &[], route!(operating::alive))
        .route(Needs::NothingAtAnyRate, &[ANY], route!(operating::ready))
        .route(Needs::Metrics, &[], route!(operating::metrics));
    console::routes().fold(routes, |routes, page| routes.route(Needs::Nothing, &[], page))
}
