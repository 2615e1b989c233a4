//! What is answered: the wire types, and figures for whoever scrapes them.

pub mod answers;
pub mod comparison;
pub mod found;
pub mod json;
pub mod measured;
pub mod requests;
pub mod stats;
pub mod stored;
