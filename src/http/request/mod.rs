//! The parts of a request: its path, its parameters, its body.

pub mod bodies;
pub mod body;
pub mod extract;
mod hint;
pub mod include;
pub mod json;
pub mod lookup;
mod named;
pub mod options;
pub mod page;
pub mod parameters;
pub mod passages;
pub mod probes;
pub mod query;
pub mod reading;
pub mod settings;
