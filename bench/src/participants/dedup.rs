//! A file of documents without its near-duplicates: `akin dedup`, tools for batches, and programs of
//! a few lines with libraries (`bench/peers/dedup.py`). All read JSON lines and write JSON lines.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use tempfile::TempDir;

use super::Job;
use crate::corpus::{documents, lines};
use crate::measured::ProcessGroup;
use crate::outcome::Outcome;
use crate::run::CONTAINED;

/// Processor time after which a participant is given up.
const PROCESSOR_S_MAX: f64 = 600.0;

#[derive(Deserialize)]
struct Kept {
    id: String,
}

/// Writes the numbers of the documents that are kept, as u32, where others write what they found.
pub fn measure(job: &Job) -> Outcome {
    let folder = TempDir::new_in(&job.corpus).expect("a directory");
    let folder = folder.path().canonicalize().expect("it was just made");
    let [source, target] = ["documents.jsonl", "kept.jsonl"].map(|name| folder.join(name));
    write_lines(&source, lines(&job.corpus, job.documents));
    let mut outcome = job.outcome(&version(job));
    let used = match ProcessGroup::run(&mut command(job, &source, &target), PROCESSOR_S_MAX) {
        Ok(used) => used,
        Err(why) => {
            outcome.error = Some(why);
            return outcome;
        }
    };
    outcome.set("processor_s", used.processor_s);
    outcome.set("seconds", used.seconds);
    outcome.set("peak_bytes", used.peak_bytes as f64);
    let ids = documents(&job.corpus, job.documents).map(|document| document.id);
    let numbers: HashMap<String, u32> = ids.zip(0..).collect();
    let kept: Vec<u32> = kept_ids(&target).map(|id| numbers[&id]).collect();
    outcome.set("removed", (job.documents - kept.len()) as f64);
    let bytes: Vec<u8> = kept.iter().flat_map(|number| number.to_le_bytes()).collect();
    std::fs::write(&job.found, bytes).expect("the disk has room");
    outcome
}

fn command(job: &Job, source: &Path, target: &Path) -> Command {
    if job.participant == "akin" {
        let mut command = Command::new(&job.akin);
        command.arg("dedup").arg(source).arg("--output").arg(target).arg("--quiet");
        match job.setting.as_str() {
            CONTAINED => command.args(["--rule", "contained"]),
            mode => command.args(["--mode", mode]),
        };
        return command;
    }
    let mut command = Command::new(&job.python);
    command.arg(job.peers.join("dedup.py")).args([&job.participant, &job.setting]);
    command.arg(source).arg(target).env("PYTHONHASHSEED", "0");
    command
}

fn version(job: &Job) -> String {
    if job.participant == "akin" {
        return env!("CARGO_PKG_VERSION").to_owned();
    }
    let code = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))";
    let said = Command::new(&job.python).args(["-c", code, &job.participant]).output();
    said.map_or(String::new(), |it| String::from_utf8_lossy(&it.stdout).trim().to_owned())
}

fn write_lines(file: &Path, lines: impl Iterator<Item = String>) {
    let mut file = std::io::BufWriter::new(File::create(file).expect("the folder is writable"));
    for line in lines {
        writeln!(file, "{line}").expect("the disk has room");
    }
    file.flush().expect("the disk has room");
}

fn kept_ids(file: &Path) -> impl Iterator<Item = String> {
    let lines = BufReader::new(File::open(file).expect("the participant wrote it")).lines();
    lines.map(|line| {
        let line = line.expect("it can be read");
        serde_json::from_str::<Kept>(&line).expect("a document a line").id
    })
}
