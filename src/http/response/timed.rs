//! Results with the time that they took.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::Serialize;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::budget::Reservation;
use crate::engine::EngineError;
use crate::http::problem::Problem;
use crate::http::response::json::{Bounded, Json, ReservedJson};

/// A result of the engine with the further field `took_us`; in the OpenAPI document under the
/// result's own name.
#[derive(Serialize)]
pub struct Timed<T> {
    #[serde(flatten)]
    result: T,
    took_us: u64,
}

impl<T> Timed<T> {
    pub fn new(result: T, took: Duration) -> Self {
        Self { result, took_us: took.as_micros() as u64 }
    }

    pub fn result_mut(&mut self) -> &mut T {
        &mut self.result
    }
}

impl<T: Bounded> Bounded for Timed<T> {}

/// Answers with the result of `work` and how long it took.
pub async fn timed<T: Bounded>(
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<Json<Timed<T>>, Problem> {
    let started = Instant::now();
    let result = work.await?;
    Ok(Json(Timed::new(result, started.elapsed())))
}

/// [`timed`], with the memory of the answer reserved.
pub async fn timed_within<T>(
    memory: Reservation,
    work: impl AsyncFnOnce(&Reservation) -> Result<T, EngineError>,
) -> Result<ReservedJson<Timed<T>>, Problem> {
    let started = Instant::now();
    let result = work(&memory).await?;
    Ok(ReservedJson(Timed::new(result, started.elapsed()), memory))
}

impl<T: ToSchema> PartialSchema for Timed<T> {
    fn schema() -> RefOr<Schema> {
        match T::schema() {
            RefOr::T(Schema::Object(result)) => ObjectBuilder::from(result)
                .property("took_us", u64::schema())
                .required("took_us")
                .into(),
            other => other,
        }
    }
}

impl<T: ToSchema> ToSchema for Timed<T> {
    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}
