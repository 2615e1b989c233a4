//! The S-curve of a scheme.

use crate::engine::CurveAnswer;
use crate::http::problem::Problem;
use crate::http::request::extract::Ready;
use crate::http::request::parameters::CurveParameters;
use crate::http::request::query::Query;
use crate::http::response::reply::{Bounded, Json};
use crate::http::response::timed::timed;
use akin_model::timed::Timed;

type CurveReply = Timed<CurveAnswer>;

/// It has a fixed number of points.
impl Bounded for CurveAnswer {}

/// Draw the S-curve
///
/// Returns the S-curve of MinHash LSH over the collection's sketches, the chance to find a document
/// by its Jaccard similarity: for the collection's own scheme, for the scheme that akin would
/// choose for a `threshold` and `recall`, or for `bands` keys of `rows` slots. It is computed; `GET
/// /recall` measures.
#[utoipa::path(
    get, path = "/curve", operation_id = "curve", tag = "Looking up",
    params(CurveParameters),
    responses((status = 200, description = "The curve.", body = CurveReply)),
)]
pub async fn curve(
    Query(parameters): Query<CurveParameters>,
    Ready(engine): Ready,
) -> Result<Json<CurveReply>, Problem> {
    timed(engine.curve(parameters.of()?)).await
}
