//! Times and memory.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Others on a machine slow it down for seconds: whoever needs milliseconds for a round gets more.
const ROUNDS_LAST: Duration = Duration::from_secs(2);

/// The shortest time of several runs, and of as many more as begin within two seconds: what else
/// the machine does only ever adds to it.
pub fn best<T>(rounds: usize, mut run: impl FnMut() -> T) -> Duration {
    let begun = Instant::now();
    let mut shortest = Duration::MAX;
    for round in 0.. {
        if round >= rounds && begun.elapsed() >= ROUNDS_LAST {
            break;
        }
        let started = Instant::now();
        black_box(run());
        shortest = shortest.min(started.elapsed());
    }
    shortest
}

/// At a share of sorted times, in microseconds.
pub fn percentile_us(sorted: &[Duration], percent: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((last * percent / 100.0) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// The percentiles that the plot of latencies shows.
pub fn percentiles_us(sorted: &[Duration]) -> Vec<[f64; 2]> {
    let shares = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];
    shares.map(|percent| [percent, percentile_us(sorted, percent)]).to_vec()
}

/// Resident memory of a process now, in bytes; 0 where Linux does not tell.
pub fn resident_bytes(process: &str) -> u64 {
    status_bytes(process, "VmRSS:")
}

/// The most it ever was.
pub fn peak_bytes(process: &str) -> u64 {
    status_bytes(process, "VmHWM:")
}

fn status_bytes(process: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Processor time that a process has used, in seconds. Linux counts it in hundredths.
pub fn processor_s(process: u32) -> f64 {
    seconds(&process.to_string(), 11)
}

/// Processor time of the ended children of this process.
pub fn children_s() -> f64 {
    seconds("self", 13)
}

/// The sum of the user and system times from this field on, behind the name of the process.
fn seconds(process: &str, field: usize) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let behind = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = behind.split(' ').skip(field).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
