//! What it was measured on.

use std::fs::read_to_string;
use std::process::Command;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub mhz: String,
    pub cores: usize,
    /// Those of the processor's that somebody here has code for.
    pub flags: String,
    pub memory_gib: f64,
    pub kernel: String,
    pub compiler: String,
    pub python: String,
    pub commit: String,
    pub profile: String,
    pub date: String,
}

impl Machine {
    pub fn here(python: &str) -> Self {
        let about = read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            processor: field(&about, "model name"),
            mhz: field(&about, "cpu MHz"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            flags: flags(&field(&about, "flags")),
            memory_gib: memory_gib(),
            kernel: without_build(&said("uname", &["-sr"])),
            compiler: said("rustc", &["--version"]),
            python: said(python, &["--version"]),
            commit: commit(),
            profile: profile().to_owned(),
            date: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        }
    }
}

/// What follows the version of a kernel names who built it.
fn without_build(kernel: &str) -> String {
    kernel.split('-').next().unwrap_or_default().to_owned()
}

fn field(about: &str, name: &str) -> String {
    let line = about.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split(": ").nth(1)).unwrap_or("unknown").trim().to_owned()
}

fn flags(all: &str) -> String {
    let telling = ["avx2", "avx512f", "avx512bw", "avx512vl", "avx512vbmi2", "bmi2", "asimd"];
    let has = |flag: &&str| all.split(' ').any(|known| known == *flag);
    telling.into_iter().filter(has).collect::<Vec<_>>().join(" ")
}

fn memory_gib() -> f64 {
    let about = read_to_string("/proc/meminfo").unwrap_or_default();
    let line = about.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    (kilobytes.unwrap_or(0.0) / 104_857.6).round() / 10.0
}

fn commit() -> String {
    let changed = said("git", &["status", "--porcelain", "--", "src", "Cargo.lock"]);
    let more = if changed.is_empty() { "" } else { ", with changes" };
    said("git", &["rev-parse", "--short=12", "HEAD"]) + more
}

/// Cargo's name for how this program was built.
fn profile() -> &'static str {
    let path = std::env::current_exe().unwrap_or_default();
    if path.iter().any(|part| part == "quick") {
        "quick (without LTO)"
    } else if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    }
}

/// What a command prints, or nothing.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or(String::new(), |it| String::from_utf8_lossy(&it.stdout).trim().to_owned())
}
