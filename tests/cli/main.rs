//! The commands as a user runs them, against a server that only records what it is sent.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod backup;
mod clusters;
mod collections;
mod commands;
mod commands_and_server;
mod compared_corpus;
mod contained;
#[cfg(all(feature = "parquet", feature = "html"))]
mod crawls;
mod curve;
#[cfg(all(feature = "parquet", feature = "html"))]
mod decontaminate;
#[cfg(all(feature = "parquet", feature = "html"))]
mod dedup;
mod deploy;
mod features;
mod formats;
#[cfg(feature = "parquet")]
mod hostile;
mod import;
mod inputs;
mod json;
mod keys;
mod lists;
mod logs;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
mod offline;
mod passages;
mod portable;
#[path = "../serving/mod.rs"]
mod process;
mod protected;
mod screening;
mod server;
mod serving;
mod settings;
#[cfg(all(feature = "parquet", feature = "html"))]
mod sketch;
#[cfg(all(feature = "parquet", feature = "html"))]
mod spans;
mod state;
mod stopping;
mod survivors;
mod tls;

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// How a command ended.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs akin with these arguments and nothing of this environment.
fn akin(arguments: &[&str]) -> Ended {
    akin_with_stdin(arguments, b"")
}

fn akin_with_stdin(arguments: &[&str], stdin: &[u8]) -> Ended {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Not all commands read what they are given.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    Ended {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command.args(arguments).env_clear();
    command
}
