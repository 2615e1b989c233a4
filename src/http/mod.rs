//! The engine over HTTP. A handler is extract → one engine call → reply.
//!
//! In reading order: `router` below; the `handlers` and, for many documents at once, `bulk`; the
//! wire types of `request` and `response`, with `problem` for errors; the `openapi` document; the
//! `connection` and `metrics` around all of them. `access` checks hosts, origins and keys.
//! `console` has the files for browsers, `/` and `/docs`.

mod access;
mod bulk;
mod connection;
mod console;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod handlers;
mod metrics;
mod openapi;
mod problem;
mod request;
mod request_id;
mod response;
mod settings;
mod state;

pub use access::key;
pub use access::key_file;
pub use access::key_ring::KeyRing;
pub use connection::request_log::{LoggedRequests, RequestLog};
pub use connection::serve::serve;
pub use connection::tls::{Tls, TlsError};
pub use handlers::changes::{change_json, parse_position, position_text};
pub use metrics::describe as describe_metrics;
pub use openapi::{json as openapi_json, yaml as openapi_yaml};
pub use settings::{CONNECTION_BYTES, CONNECTIONS_RESERVE, HEAD_BYTES_MAX, ServerSettings};
pub use state::AppState;

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use tower::util::option_layer;
use utoipa::OpenApi;
use utoipa_axum::routes;

use access::key::Action;
use access::origin;
use access::routes::{ADMIN, Limits, Needs, READ, Routes, Table, WRITE};
use connection::{compression, observe};
use handlers::{
    backup, changes, collapse, collections, curve, discovery, document, documents, fetch, health,
    passages, recall, reindex, removal, resemblance, similar, snapshots, stats,
};
use problem::Problem;
use problem::code::Code;
use problem::of_calls::{
    ANY, BODY, BY_ID, CHANGE, COUNTED, DISCOVERY, DOCUMENT, JSON_BODY, LOCAL, NEW_REINDEX,
    NOT_OF_ALL, PASSAGES, POSTED, REINDEX, REMOVED_COLLECTION, SETS, SETTINGS, TEXT,
};

/// Everything that akin serves.
pub fn router(state: AppState) -> Router {
    let (router, _, table) = all_routes().into_parts();
    layered(router, &state, table).with_state(state)
}

/// Every route, with the OpenAPI document.
fn all_routes() -> Routes {
    Routes::with_openapi(openapi::Head::openapi())
        .merge(on_collections())
        .merge(without_timeout())
        .merge(always_answered())
}

/// Each route of a collection exists twice: below the name of a collection, and without a name for
/// `default`.
fn on_collections() -> Routes {
    Routes::new(Limits::NumberAndTime)
        .merge(on_one_collection())
        .routes(Needs::Anywhere(Action::Read), &[], routes!(collections::list))
        .routes(READ, &[&[Code::CollectionNotFound]], routes!(collections::describe))
        .routes(ADMIN, &[JSON_BODY, SETTINGS], routes!(collections::create))
        .routes(ADMIN, &[REMOVED_COLLECTION], routes!(collections::remove))
        .routes(READ, &[REINDEX], routes!(reindex::status))
        .routes(ADMIN, &[JSON_BODY, NEW_REINDEX], routes!(reindex::begin))
        .routes(ADMIN, &[REINDEX], routes!(reindex::cancel))
        .nest_in_collection(on_one_collection())
        .routes(Needs::Nothing, &[], routes!(handlers::openapi::yaml))
        .routes(Needs::Nothing, &[], routes!(handlers::openapi::json))
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
        .routes(Needs::Metrics, &[], routes!(handlers::metrics::metrics))
        .pages(console::routes())
}

/// Puts the layers around the routes; the first is the outermost. All in one call, as each call of
/// `layer` boxes the service inside for each request.
fn layered(router: Router<AppState>, state: &AppState, table: Table) -> Router<AppState> {
    let guarded = (state.clone(), Arc::new(table));
    let has_origins = !state.settings.cors_origins.is_empty();
    let preflights =
        has_origins.then(|| middleware::from_fn_with_state(state.clone(), access::guard_preflight));
    router.fallback(not_found).layer((
        middleware::from_fn_with_state(state.clone(), observe::observe),
        compression::layer(),
        option_layer(preflights),
        // Answers preflights, which have no key.
        option_layer(origin::cors(&state.settings.cors_origins)),
        middleware::from_fn_with_state(guarded, access::guard),
    ))
}

async fn not_found() -> Problem {
    Problem::new(Code::RouteNotFound, "there is no such path; /docs lists all paths")
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    async fn panics() {
        panic!("a fault of the server's");
    }

    #[tokio::test]
    async fn a_panic_becomes_a_problem_without_its_message() {
        let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
        let state =
            AppState::new(ServerSettings::default(), KeyRing::switched_off(), recorder.handle());
        let router = Router::new().route("/panics", get(panics));
        let router = layered(router, &state, Table::default()).with_state(state);
        let request =
            Request::get("/panics").header("host", "localhost").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();

        assert_eq!(response.status(), 500);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert!(response.headers().contains_key("x-request-id"));
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["code"], "internal");
        assert!(!problem.to_string().contains("a fault of"), "{problem}");
    }
}
