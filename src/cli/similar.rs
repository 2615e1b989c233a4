//! `akin similar`: the near-duplicates of a stored document or of a file.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::client::{Client, InCollection, Server, query_value};
use super::failure::Failure;
use super::import;
use crate::scheme::Threshold;

/// Show the near-duplicates of a stored document, or of a text that is not stored
#[derive(Args)]
pub struct Arguments {
    /// A text file (also gzip or zstd), or - for stdin
    #[arg(value_name = "FILE", required_unless_present = "id", conflicts_with = "id")]
    file: Option<PathBuf>,
    /// The id of a stored document
    #[arg(long)]
    id: Option<String>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    within: InCollection,
    /// The resemblance from which documents count as near-duplicates [default: the server's]
    #[arg(long, value_name = "0..1", value_parser = import::threshold)]
    threshold: Option<Threshold>,
    /// Only matches whose metadata this holds for, as: @.lang == "en"
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// The most matches to show [default: 20]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Check candidates exactly, go by their sketches alone, or miss none [default: the
    /// collection's: verified, or exact where its kind is prefix]
    #[arg(long)]
    mode: Option<Mode>,
    /// Write the server's answer as it came
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    Verified,
    Estimated,
    Exact,
}

/// A server's answer, as far as it is shown.
#[derive(Deserialize)]
struct Answer {
    matches: Vec<Match>,
    candidates: u64,
    more: bool,
    truncated: bool,
    expected_recall: f64,
    threshold: f64,
    took_us: u64,
}

#[derive(Deserialize)]
struct Match {
    id: String,
    resemblance: f64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let client = Client::new(&arguments.server.url)?;
    let path = arguments.path();
    let response = match &arguments.file {
        None => client.get(&path)?,
        Some(file) => client.post(&path, "text/plain", import::read_text_file(file)?.as_bytes())?,
    };
    let body = Client::body(response)?;
    let mut out = stdout().lock();
    if arguments.json {
        out.write_all(&body)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Answer = serde_json::from_slice(&body).map_err(|error| {
        Failure::new(format!("the answer of {} is not an akin's: {error}", client.url()))
    })?;
    for found in &answer.matches {
        writeln!(out, "{:.4}  {}", found.resemblance, found.id)?;
    }
    eprintln!("{}", answer.summary());
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn path(&self) -> String {
        let mode = self.mode.map(|mode| match mode {
            Mode::Verified => "mode=verified".to_owned(),
            Mode::Estimated => "mode=estimated".to_owned(),
            Mode::Exact => "mode=exact".to_owned(),
        });
        let parts = [
            self.id.as_ref().map(|id| format!("id={}", query_value(id))),
            self.threshold.map(|threshold| format!("threshold={}", threshold.get())),
            self.filter.as_ref().map(|filter| format!("filter={}", query_value(filter))),
            self.limit.map(|limit| format!("limit={limit}")),
            mode,
        ];
        let query: Vec<String> = parts.into_iter().flatten().collect();
        let path = self.within.path("/similar");
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}

impl Answer {
    fn summary(&self) -> String {
        let count = match self.matches.len() {
            0 => "no near-duplicate".to_owned(),
            1 if !self.more => "1 near-duplicate".to_owned(),
            shown if self.more => format!("the first {shown} of more near-duplicates"),
            many => format!("{many} near-duplicates"),
        };
        let truncated =
            if self.truncated { "; a work limit was hit: some may be missing" } else { "" };
        format!(
            "{count} among {} candidates; at a resemblance of {} a match is found with a chance of \
             {:.1} %; {} µs{truncated}",
            self.candidates,
            self.threshold,
            self.expected_recall * 100.0,
            self.took_us
        )
    }
}
