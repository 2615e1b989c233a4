//! Where the time of a participant goes, by `perf`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::child::{self, Ended};
use super::plan::Planned;

/// Functions that are told of.
const LINES: usize = 25;

/// The functions that have most of the time themselves; or why that is not known.
pub fn of(command: &Command, folder: &Path, limit: Duration) -> String {
    let data = folder.join("perf.data");
    let mut recorded = Command::new("perf");
    recorded.args(["record", "--quiet", "-e", "cpu-clock", "-F", "499", "-o"]).arg(&data).arg("--");
    recorded.arg(command.get_program()).args(command.get_args());
    if let Ended::Failed(why) = child::run(recorded, limit) {
        return format!("no profile: {why}\n");
    }
    let mut told = Command::new("perf");
    told.args(["report", "--stdio", "--quiet", "--no-children", "--sort", "dso,symbol"]);
    let told = told.arg("-i").arg(&data).output();
    let _ = std::fs::remove_file(data);
    told.map_or_else(
        |error| format!("no profile: {error}\n"),
        |told| shortened(&String::from_utf8_lossy(&told.stdout)),
    )
}

fn shortened(told: &str) -> String {
    let lines = told.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    lines.take(LINES).map(|line| line.chars().take(140).collect::<String>() + "\n").collect()
}

pub fn write(report: &Path, planned: &Planned, profile: &str) {
    let setting: String =
        planned.setting.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let file = report.join(format!("profile_{}_{setting}.txt", planned.task));
    std::fs::write(file, profile).expect("the report can be written");
}
