//! One participant as a process.

use std::fs::{File, read_to_string};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Arguments;
use super::plan::Planned;
use crate::outcome::Outcome;

/// Of what it said before it failed, so much goes into the table.
const REASON_CHARACTERS: usize = 200;

pub enum Ended {
    Said(Outcome),
    Failed(String),
}

/// A peer in Python is its own program, everybody else is this one.
pub fn command(arguments: &Arguments, planned: &Planned, folder: &Path) -> Command {
    let (found, documents) = (folder.join("found.bin"), planned.documents.to_string());
    let who = [&planned.participant, &planned.setting];
    if let Some(script) = planned.script() {
        let mut command = Command::new(&arguments.python);
        command.arg(arguments.peers.join(script)).args(who).arg(folder).arg(documents).arg(found);
        return command;
    }
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["take", &planned.task]).args(who).arg("--corpus").arg(folder);
    command.args(["--documents", &documents]).arg("--found").arg(found);
    for (flag, path) in arguments.files() {
        command.arg(flag).arg(path);
    }
    command
}

pub fn run(mut command: Command, limit: Duration) -> Ended {
    let dir = TempDir::new().expect("a temporary directory");
    let [out, log] = ["out", "log"].map(|name| dir.path().join(name));
    let file = |path| File::create(path).expect("a temporary file");
    command.env("RUST_BACKTRACE", "0");
    let child = command.stdout(file(&out)).stderr(file(&log)).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return Ended::Failed(format!("it does not start: {error}")),
    };
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be asked") {
            break status;
        }
        if started.elapsed() > limit {
            child.kill().and_then(|()| child.wait()).expect("a child can be ended");
            return Ended::Failed(format!("not done after {} s", limit.as_secs()));
        }
        sleep(Duration::from_millis(10));
    };
    ended(
        status,
        &read_to_string(out).unwrap_or_default(),
        &read_to_string(log).unwrap_or_default(),
    )
}

fn ended(status: ExitStatus, out: &str, log: &str) -> Ended {
    let said = out.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    match said {
        Some(outcome) if status.success() => Ended::Said(outcome),
        _ => Ended::Failed(format!("{status}: {}", reason(log))),
    }
}

/// The last thing that was said, without what only points further.
fn reason(log: &str) -> String {
    let telling = |line: &&str| !line.trim().is_empty() && !line.starts_with("note:");
    let last = log.lines().rev().find(telling).unwrap_or("it said nothing");
    last.chars().take(REASON_CHARACTERS).collect()
}
