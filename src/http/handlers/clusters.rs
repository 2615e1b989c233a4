//! The clusters that a collection keeps.

use axum::extract::State;

use crate::engine::StoredClusters;
use crate::http::AppState;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::KeepingClusters;
use crate::http::request::extract::Ready;
use crate::http::request::lookup;
use crate::http::request::parameters::StoredClusterParameters;
use crate::http::request::query::Query;
use crate::http::response::json::Json;
use crate::http::response::timed::{Timed, timed};

type StoredClustersReply = Timed<StoredClusters>;

/// The clusters that the collection keeps
///
/// Returns a page of the clusters that a collection with `clusters.threshold` keeps up to date, the
/// oldest first, at once and without their members, which `GET /clusters?id=` returns. A page may
/// have fewer clusters than `limit`, even none: it is the last if it has no `next`. While `state`
/// is `building` (after a start) or `updating`, some documents are not taken into account yet.
#[utoipa::path(
    get, path = "/clusters/stored", operation_id = "stored_clusters", tag = "Discovery",
    params(StoredClusterParameters),
    responses((status = 200, description = "A page of clusters.", body = StoredClustersReply),
        KeepingClusters),
)]
pub async fn stored(
    Query(parameters): Query<StoredClusterParameters>,
    State(state): State<AppState>,
    Ready(engine): Ready,
) -> Result<Json<StoredClustersReply>, Problem> {
    let limit = lookup::limit(parameters.limit, &state.settings)?;
    let (after, min_size) = (parameters.after.map(|of| of.0), parameters.min_size());
    timed(async { engine.stored_clusters(after, min_size, limit) }).await
}
