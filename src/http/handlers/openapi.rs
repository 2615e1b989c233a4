//! The OpenAPI document.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;

/// This document as JSON
///
/// Returns the OpenAPI document of the server. `GET /docs` shows it as pages.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi_json", tag = "Operating",
    responses((status = 200, description = "The OpenAPI document.", body = Object)),
)]
pub async fn json() -> impl IntoResponse {
    static JSON: LazyLock<String> = LazyLock::new(crate::http::openapi::json);
    ([(header::CONTENT_TYPE, "application/json")], JSON.as_str())
}

/// This document
///
/// Returns the OpenAPI document of the server.
#[utoipa::path(
    get, path = "/openapi.yaml", operation_id = "openapi", tag = "Operating",
    responses((status = 200, description = "The OpenAPI document.", body = Object,
        content_type = "application/yaml")),
)]
pub async fn yaml() -> impl IntoResponse {
    static YAML: LazyLock<String> = LazyLock::new(crate::http::openapi::yaml);
    ([(header::CONTENT_TYPE, "application/yaml")], YAML.as_str())
}
