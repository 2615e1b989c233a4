//! What lies around requests: connections, time limits, ids, logs.

pub mod identity;
pub mod layers;
pub mod serve;
pub mod write_timeout;
