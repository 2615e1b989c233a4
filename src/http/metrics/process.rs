//! Metrics of the process, under the names that Prometheus's own clients use, from Linux's `/proc`.
//! A figure that cannot be read is left out.

use std::fs;
use std::time::SystemTime;

use rustix::param::{clock_ticks_per_second, page_size};

use super::exposition::write_sample;

/// The version and, if the build knows it, the revision.
const BUILD: &str = env!("CARGO_PKG_VERSION");
const REVISION: Option<&str> = option_env!("AKIN_REVISION");

/// All metrics of the process. Reads files, so it must not run on a runtime thread.
pub fn text() -> String {
    let mut text = String::new();
    let build = match REVISION {
        Some(revision) => format!("{{version=\"{BUILD}\",revision=\"{revision}\"}}"),
        None => format!("{{version=\"{BUILD}\"}}"),
    };
    let mut write = |name, kind, help, labels: &str, value: Option<f64>| {
        write_sample(&mut text, (name, kind, help), value.map(|value| (labels, value)));
    };
    write("akin_build_info", "gauge", "1, with the version as a label.", &build, Some(1.0));
    let stat = fs::read_to_string("/proc/self/stat").ok();
    let stat = stat.as_deref().and_then(Stat::parse);
    let cpu_s = stat.as_ref().map(|stat| stat.cpu_ticks as f64 / clock_ticks_per_second() as f64);
    let resident = stat.as_ref().map(|stat| (stat.resident_pages * page_size() as u64) as f64);
    let started_s = stat.as_ref().and_then(|stat| started_s(stat.started_ticks));
    let open_fds = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64 - 1.0);
    let max_fds = rlimit::getrlimit(rlimit::Resource::NOFILE).ok().map(|(soft, _)| soft as f64);
    for (name, kind, help, value) in [
        ("process_cpu_seconds_total", "counter", "Processor time of the process.", cpu_s),
        ("process_resident_memory_bytes", "gauge", "Resident memory of the process.", resident),
        ("process_open_fds", "gauge", "Open file descriptors.", open_fds),
        ("process_max_fds", "gauge", "Limit of open file descriptors.", max_fds),
        ("process_start_time_seconds", "gauge", "When the process started.", started_s),
    ] {
        write(name, kind, help, "", value);
    }
    text
}

/// Fields of `/proc/self/stat`, see proc_pid_stat(5).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    started_ticks: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(line: &str) -> Option<Self> {
        // The second field is the command in parentheses, which may itself have any character.
        let (_, fields) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            started_ticks: field(22)?,
            resident_pages: field(24)?,
        })
    }
}

/// Ticks after the start of the machine, as seconds since the epoch.
fn started_s(ticks: u64) -> Option<f64> {
    let up = fs::read_to_string("/proc/uptime").ok()?;
    let up_s: f64 = up.split(' ').next()?.parse().ok()?;
    let now_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64();
    Some(now_s - up_s + ticks as f64 / clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_names_may_have_spaces_and_parentheses() {
        let line = "7 (a) b) R 1 7 7 0 -1 4194560 1 0 0 0 11 22 0 0 20 0 1 0 333 4096 55 9 1 1";
        let expected = Stat { cpu_ticks: 33, started_ticks: 333, resident_pages: 55 };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse("7 (a) R 1"), None);
    }
}
