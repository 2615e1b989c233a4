//! The resident memory of a process over time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Memory {
    /// Seconds since the begin and KiB.
    samples: Vec<(f64, f64)>,
}

impl Memory {
    pub fn watch(process_id: u32, is_over: &AtomicBool) -> Self {
        let (begin, mut memory) = (Instant::now(), Self::default());
        while !is_over.load(Ordering::Relaxed) {
            let kib = anonymous_kib(process_id);
            memory.samples.push((begin.elapsed().as_secs_f64(), kib));
            std::thread::sleep(Duration::from_millis(250));
        }
        memory
    }

    pub fn most_kib(&self) -> f64 {
        self.samples.iter().map(|(_, kib)| *kib).fold(0.0, f64::max)
    }

    /// At equal distances, the last one included.
    pub fn series_kib(&self) -> Vec<f64> {
        let at = |tenth: usize| self.samples.get((self.samples.len() * tenth / 10).max(1) - 1);
        (1..=10).filter_map(at).map(|(_, kib)| *kib).collect()
    }

    /// KiB per second in the second half, by least squares.
    pub fn slope(&self) -> f64 {
        let half = &self.samples[self.samples.len() / 2..];
        let count = half.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| half.iter().map(of).sum::<f64>() / count;
        let (time, kib) = (mean(|sample| sample.0), mean(|sample| sample.1));
        let covariance: f64 = half.iter().map(|(at, its)| (at - time) * (its - kib)).sum();
        let variance: f64 = half.iter().map(|(at, _)| (at - time).powi(2)).sum();
        covariance / variance
    }
}

/// Without mapped files, which the system takes back when it needs room.
fn anonymous_kib(process_id: u32) -> f64 {
    status_kib(process_id, "RssAnon:") as f64
}

/// The most that was ever resident.
pub fn peak_bytes(process_id: u32) -> usize {
    status_kib(process_id, "VmHWM:") << 10
}

fn status_kib(process_id: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process_id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().trim_end_matches(" kB").trim().parse().unwrap()
}
