//! Looking every document up, one after the other.

use std::time::{Duration, Instant};

use crate::measured::percentile_us;
use crate::outcome::Outcome;

/// Times each lookup alone and puts the rate and percentiles into the outcome. What makes the
/// probes and what takes the findings has no part in the times.
pub fn time_each<P, T>(
    outcome: &mut Outcome,
    name: &str,
    probes: impl Iterator<Item = P>,
    mut look_up: impl FnMut(&P) -> T,
    mut take: impl FnMut(P, T),
) {
    let mut times = Vec::new();
    for probe in probes {
        let started = Instant::now();
        let found = look_up(&probe);
        times.push(started.elapsed());
        take(probe, found);
    }
    tell(outcome, name, times, &[50.0, 99.0]);
}

/// Puts the rate and some percentiles of what was timed one by one into the outcome.
pub fn tell(outcome: &mut Outcome, name: &str, mut times: Vec<Duration>, percents: &[f64]) {
    times.sort_unstable();
    let total: Duration = times.iter().sum();
    outcome.set(&format!("{name}s_per_s"), times.len() as f64 / total.as_secs_f64());
    for percent in percents {
        outcome.set(&format!("{name}_p{percent}_us"), percentile_us(&times, *percent));
    }
}
