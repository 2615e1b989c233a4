//! Around requests: connections, limits of time and number, counters and logs.

pub mod admission;
pub mod compression;
pub mod decompression;
mod holding;
pub mod layers;
mod lingering;
pub mod observe;
mod open;
pub mod request_log;
pub mod serve;
pub mod tls;
pub mod trace;
