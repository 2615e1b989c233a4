//! The engine over HTTP. A handler is extract → one engine call → reply.
//!
//! In reading order: `router` below; the `handlers` and, for many documents at once, `bulk`; the
//! wire types of `request` and `response`, with `problem` for errors; the `openapi` document; the
//! `connection` and `metrics` around all of them.

mod bulk;
mod connection;
mod handlers;
mod metrics;
mod openapi;
mod problem;
mod request;
mod request_id;
mod response;
mod settings;
mod state;
mod time;
mod token;

pub use connection::serve::serve;
pub use openapi::yaml as openapi_yaml;
pub use request::bodies::corpus_document;
pub use settings::ServerSettings;
pub use state::AppState;

use axum::Router;
use axum::middleware;
use tower::util::MapRequestLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::request_id::{PropagateRequestIdLayer, SetRequestIdLayer};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use connection::{decompression, layers, observe};
use handlers::{
    backup, collapse, collections, curve, discovery, documents, operate, recall, reindex, removal,
    resemblance, similar,
};
use problem::Problem;
use problem::code::Code;

/// Everything that akin serves.
pub fn router(state: AppState) -> Router {
    let limited =
        on_collections().layer(middleware::from_fn_with_state(state.clone(), layers::limit));
    let untimed = without_timeout()
        .layer(middleware::from_fn_with_state(state.clone(), layers::limit_number));
    let (router, _) = limited.merge(untimed).merge(always_answered()).split_for_parts();
    layered(router, &state).with_state(state)
}

/// Every route, for the OpenAPI document.
fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::Head::openapi())
        .merge(on_collections())
        .merge(without_timeout())
        .merge(always_answered())
}

/// Routes of one collection are there twice: below its name, and without one for `default`.
fn on_collections() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(on_one_collection())
        .routes(routes!(collections::list))
        .routes(routes!(collections::describe, collections::create, collections::remove))
        .routes(routes!(reindex::begin, reindex::status, reindex::cancel))
        .nest(openapi::ONE_COLLECTION, on_one_collection())
        .routes(routes!(operate::openapi))
}

fn on_one_collection() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(documents::add, documents::list))
        .routes(routes!(documents::get, documents::remove))
        .routes(routes!(documents::export))
        .routes(routes!(similar::stored, similar::posted))
        .routes(routes!(resemblance::stored, resemblance::posted))
        .routes(routes!(discovery::pairs))
        .routes(routes!(discovery::clusters))
        .routes(routes!(collapse::collapse))
        .routes(routes!(curve::curve))
        .routes(routes!(operate::stats))
        .routes(routes!(recall::recall))
        .routes(routes!(operate::take_snapshot, operate::snapshots))
}

/// Routes that may take any time. They stop when their client goes away.
fn without_timeout() -> OpenApiRouter<AppState> {
    let on_one = || OpenApiRouter::new().routes(routes!(removal::remove));
    let backups = OpenApiRouter::new().routes(routes!(backup::all)).routes(routes!(backup::one));
    on_one().nest(openapi::ONE_COLLECTION, on_one()).merge(backups)
}

/// Routes that answer however many requests are in flight.
fn always_answered() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(operate::health))
        .routes(routes!(operate::readiness))
        .routes(routes!(operate::metrics))
}

/// Puts the layers around the routes; the first is the outermost. All in one call, as each call of
/// `layer` boxes the service inside for each request.
fn layered(router: Router<AppState>, state: &AppState) -> Router<AppState> {
    router.fallback(not_found).layer((
        MapRequestLayer::new(request_id::drop_unusable),
        SetRequestIdLayer::new(request_id::HEADER, request_id::Uuids),
        PropagateRequestIdLayer::new(request_id::HEADER),
        middleware::from_fn_with_state(state.clone(), observe::observe),
        CatchPanicLayer::custom(layers::panicked),
        CompressionLayer::new(),
        middleware::from_fn(decompression::decompress),
    ))
}

async fn not_found() -> Problem {
    Problem::new(Code::RouteNotFound, "there is no such path; /openapi.yaml lists all paths")
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
        let state = AppState::new(ServerSettings::default(), recorder.handle());
        let router = Router::new().route("/panics", get(panics));
        let router = layered(router, &state).with_state(state);
        let request = Request::get("/panics").body(Body::empty()).unwrap();
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
