//! Results with the time that they took.

use core::time::Duration;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{AllOfBuilder, ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A result of the engine with the further field `took_us`; in the OpenAPI document under the
/// result's own name.
#[derive(Serialize, Deserialize)]
pub struct Timed<T> {
    #[serde(flatten)]
    pub result: T,
    pub took_us: u64,
}

impl<T> Timed<T> {
    pub fn new(result: T, took: Duration) -> Self {
        Self { result, took_us: took.as_micros() as u64 }
    }
}

impl<T: ToSchema> PartialSchema for Timed<T> {
    fn schema() -> RefOr<Schema> {
        let timed =
            |object: ObjectBuilder| object.property("took_us", u64::schema()).required("took_us");
        match T::schema() {
            RefOr::T(Schema::Object(result)) => timed(ObjectBuilder::from(result)).into(),
            RefOr::T(Schema::AllOf(parts)) => {
                AllOfBuilder::from(parts).item(timed(ObjectBuilder::new())).into()
            }
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
