//! Metrics of the process, under the names that Prometheus's own clients use. A figure that cannot
//! be read is left out.

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
    let process = metrics_process::collector::collect();
    let [resident, open_fds, max_fds, started_s] = [
        process.resident_memory_bytes,
        process.open_fds,
        process.max_fds,
        process.start_time_seconds,
    ]
    .map(|figure| figure.map(|figure| figure as f64));
    let cpu_s = process.cpu_seconds_total;
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
