//! The OpenAPI document.

pub mod fields;
pub mod openapi;
pub mod schemas;
