//! Around requests: connections, limits of time and number, counters and logs.

pub mod decompression;
pub mod layers;
pub mod observe;
mod open;
mod refusals;
pub mod serve;
pub mod tls;
pub mod trace;
mod transport;
