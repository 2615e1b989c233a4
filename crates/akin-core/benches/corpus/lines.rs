//! The time of memory accesses alone: cache lines at random places.

use std::time::{Duration, Instant};

use super::numbers::Numbers;

const LINE_BYTES: usize = 64;
const ROUNDS: u32 = 100_000;

/// How long visiting a word of each of `count` lines takes, in so much memory. No line depends on
/// another, so that the processor waits for several at a time.
pub fn at_random(bytes: usize, count: usize, mut visit: impl FnMut(&mut u64)) -> Duration {
    let mut lines = vec![[1_u64; LINE_BYTES / 8]; bytes / LINE_BYTES];
    let mut random = Numbers(7);
    let started = Instant::now();
    for _ in 0..ROUNDS {
        for _ in 0..count {
            visit(&mut lines[random.below(bytes / LINE_BYTES)][0]);
        }
    }
    started.elapsed() / ROUNDS
}
