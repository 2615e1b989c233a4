//! Around requests: connections, limits of time and number, counters and logs.

pub mod decompression;
pub mod layers;
pub mod observe;
pub mod serve;
