//! Statistics of a collection.

use axum::extract::State;

use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::request::extract::Ready;
use crate::http::response::reply::Json;
use crate::http::response::stats::StatsReply;

/// Statistics of the collection
///
/// Returns sizes, memory, running discoveries and settings.
#[utoipa::path(
    get, path = "/stats", operation_id = "stats", tag = "Operating",
    responses((status = 200, description = "The statistics.", body = StatsReply)),
)]
pub async fn stats(
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<StatsReply>, Problem> {
    let figures = engine.stats().await?;
    Ok(Json(StatsReply::new(figures, state.started_at, engine.settings().clone())))
}
