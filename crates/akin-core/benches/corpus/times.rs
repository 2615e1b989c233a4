//! Times of single operations, without the operations during which the thread was preempted.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::time::Instant;

/// Only for operations that take longer is it looked up whether the thread was preempted.
const LONG_NS: u32 = 20_000;

#[derive(Default)]
pub struct Times {
    each: Vec<u32>,
    switches: u64,
    /// The nanoseconds of all operations, including the omitted operations.
    total: u64,
}

impl Times {
    /// Room for so many, written to before anything is measured.
    pub fn with_room(count: usize) -> Self {
        let mut each = vec![1; count];
        each.clear();
        Self { each, switches: switches(), total: 0 }
    }

    #[inline]
    pub fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let outcome = operation();
        let time = u32::try_from(started.elapsed().as_nanos()).unwrap_or(u32::MAX);
        self.total += u64::from(time);
        if time < LONG_NS || !self.was_preempted() {
            self.each.push(time);
        }
        outcome
    }

    fn was_preempted(&mut self) -> bool {
        let before = std::mem::replace(&mut self.switches, switches());
        before != self.switches
    }

    pub fn add(&mut self, other: Self) {
        self.each.extend(other.each);
        self.total += other.total;
    }

    /// Thousands of operations a second, if `threads` did them side by side.
    pub fn rate(&self, threads: usize) -> f64 {
        self.each.len() as f64 * threads as f64 * 1e6 / self.total.max(1) as f64
    }

    /// The time of a share of all operations, in nanoseconds.
    pub fn at(&mut self, share: f64) -> u32 {
        self.each.sort_unstable();
        self.each.get(((self.each.len().max(1) - 1) as f64 * share) as usize).map_or(0, |t| *t)
    }

    pub fn print(&mut self, what: &str) {
        let sum: u64 = self.each.iter().map(|time| u64::from(*time)).sum();
        let mean = sum as f64 / self.each.len().max(1) as f64;
        let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(|share| self.at(share));
        println!("  {what}: mean {mean:.0} ns, p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}");
    }
}

/// How often this thread was preempted so far, as Linux tells it; 0 elsewhere.
fn switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}
