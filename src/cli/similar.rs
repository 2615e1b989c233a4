//! `akin similar`: the near-duplicates of a stored document or of a file.

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::Args;

use super::client::{InCollection, Server, read_whole, with_query};
use super::failure::Failure;
use crate::engine::Mode;
use akin_core::scheme::Threshold;
use akin_files::input::{self, name_of};
use akin_files::output::print_answer;
use akin_model::answer::{Answer, Reach, Searched};
use akin_model::timed::Timed;

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
    /// The N most similar documents, however unlike they are
    #[arg(short, long, value_name = "N", conflicts_with_all = ["threshold", "limit"])]
    k: Option<u32>,
    /// Jaccard similarity from which documents are near-duplicates [default: the server's]
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    threshold: Option<Threshold>,
    /// Only matches whose metadata meet a condition, such as: @.lang == "en"
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// The most matches to show [default: 20]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// How near-duplicates are found [default: verified, or exact where the collection's kind is
    /// prefix]
    #[arg(long)]
    mode: Option<Mode>,
    /// Further members of the matches with --json: text, metadata, highlights, or several with
    /// commas between [default: none]
    #[arg(long, value_name = "PARTS", requires = "json")]
    include: Option<String>,
    /// Write the server's answer unchanged
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let client = arguments.server.client()?;
    let path = arguments.path();
    let response = match &arguments.file {
        None => client.get(&path)?,
        Some(file) => {
            client.post(&path, "text/plain", input::read_text_file(file)?.into_bytes())?
        }
    };
    let body = read_whole(response)?;
    if arguments.json {
        return print_answer(&body);
    }
    let Timed { result: answer, took_us } = client.parse::<Timed<Answer>>(&body)?;
    let mut out = stdout().lock();
    for found in &answer.matches {
        writeln!(out, "{:.4}  {}", found.resemblance(), found.id)?;
    }
    eprintln!("{}", summary(answer.matches.len(), &answer.searched, took_us));
    Ok(())
}

impl Arguments {
    fn path(&self) -> String {
        let parameters = [
            ("id", self.id.clone()),
            ("k", self.k.map(|k| k.to_string())),
            ("threshold", self.threshold.map(|threshold| threshold.get().to_string())),
            ("filter", self.filter.clone()),
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("mode", self.mode.as_ref().map(name_of)),
            ("include", self.include.clone()),
        ];
        with_query(&self.within.path("/similar"), &parameters)
    }
}

fn summary(matches: usize, searched: &Searched, took_us: u64) -> String {
    let Searched { candidates, more, truncated, reach, .. } = searched;
    let is_nearest = matches!(reach, Reach::Nearest { .. });
    let count = match matches {
        count if is_nearest => format!("the {count} most similar"),
        0 => "no near-duplicate".to_owned(),
        1 if !more => "1 near-duplicate".to_owned(),
        shown if *more => format!("the first {shown} of more near-duplicates"),
        many => format!("{many} near-duplicates"),
    };
    let truncated = if *truncated { "; a work limit was hit: some may be missing" } else { "" };
    let promised = promised(reach);
    format!("{count} among {candidates} candidates; {promised}{took_us} µs{truncated}")
}

fn promised(reach: &Reach) -> String {
    let chance = |recall: f64| format!("is found with a chance of {:.1} %; ", recall * 100.0);
    match reach {
        Reach::Threshold { threshold, expected_recall } => {
            let threshold = threshold.get();
            format!("one with a Jaccard similarity of {threshold} {}", chance(*expected_recall))
        }
        Reach::Points { points, expected_recall } => {
            format!("one with {points} points that agrees in a field {}", chance(*expected_recall))
        }
        Reach::Nearest { floor, expected_recall } if *floor > 0.0 => {
            format!("each of the nearest from {floor} on {}", chance(*expected_recall))
        }
        Reach::Nearest { .. } | Reach::Containment { .. } => String::new(),
    }
}
