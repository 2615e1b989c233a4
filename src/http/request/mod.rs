//! What a request asks: its path, its parameters, its body.

pub mod bodies;
pub mod conditions;
pub mod extract;
pub mod json;
pub mod parameters;
pub mod query;
pub mod reading;
mod values;
