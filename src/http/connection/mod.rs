//! Around requests: connections, limits of time and number, counters and logs.

pub mod admission;
mod answer;
pub mod decompression;
pub mod layers;
mod lingering;
pub mod observe;
mod open;
pub mod serve;
pub mod tls;
pub mod trace;
mod transport;
