//! The OpenAPI document.

pub mod document;
pub mod fields;
pub mod schemas;
