//! The engine over HTTP. A handler is extract → one engine call → reply.
//!
//! In reading order: `router` below; the `handlers`, with the table of routes, and, for many
//! documents at once, `bulk`; the wire types of `request` and `response`, with `problem` for
//! errors; the `openapi` document; the `connection` and `metrics` around all of them. `access`
//! checks hosts, origins and keys. `console` has the files for browsers, `/` and `/docs`.

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
pub use metrics::describe as describe_metrics;
pub use openapi::{json as openapi_json, yaml as openapi_yaml};
pub use settings::{CONNECTION_BYTES, CONNECTIONS_RESERVE, HEAD_BYTES_MAX, ServerSettings};
pub use state::AppState;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::middleware;
use tower::util::option_layer;

use access::origin;
use access::routes::Table;
use connection::{compression, observe};
use problem::{Code, Problem};

/// Everything that akin serves.
pub fn router(state: AppState) -> Router {
    static ROUTES: LazyLock<(Router<AppState>, Arc<Table>)> = LazyLock::new(|| {
        let (router, table) = handlers::all_routes().into_router();
        (router, Arc::new(table))
    });
    let (router, table) = ROUTES.clone();
    layered(router, &state, table).with_state(state)
}

/// Puts the layers around the routes; the first is the outermost. All in one call, as each call of
/// `layer` boxes the service inside for each request.
fn layered(router: Router<AppState>, state: &AppState, table: Arc<Table>) -> Router<AppState> {
    let guarded = (state.clone(), table);
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
        let router = layered(router, &state, Arc::default()).with_state(state);
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
