//! The real server under faults on purpose: every write, sync, rename and removal below its data
//! directory can fail, be torn, or be the last before the power is cut (see `shim.c`).
//!
//! `AKIN_FAULTS_ALL=1` tries all of them instead of a sample, and `AKIN_FAULTS_SEED` repeats one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod descriptors;
mod failing;
mod flips;
mod full;
mod memory;
mod model;
#[path = "../not_run/mod.rs"]
mod not_run;
mod offline;
mod power;
mod server;
#[path = "../serving/mod.rs"]
mod serving;
mod threads;

use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator of numbers that a seed repeats.
pub struct Random(u64);

impl Random {
    /// Its seed is printed, so that a failure can be repeated.
    pub fn new(test: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let given = std::env::var("AKIN_FAULTS_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(now % 1_000_000_007);
        println!("{test}: AKIN_FAULTS_SEED={seed}");
        Self::of(seed)
    }

    pub fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end.max(1)
    }
}

/// Whether everything is tried instead of a sample.
pub fn is_whole() -> bool {
    std::env::var_os("AKIN_FAULTS_ALL").is_some()
}
