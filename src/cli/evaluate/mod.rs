//! `akin evaluate`: what a corpus with known pairs says of settings and thresholds.

mod gold;
mod score;
mod table;

use std::io::{Write, stdout};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use self::gold::Gold;
use self::score::{Row, Scores};
use self::table::thresholds;
use super::corpus::{Gathered, Reading, Shaping, gather, watched};
use super::failure::Failure;
use super::import;
use crate::engine::Mode;
use crate::scheme::Threshold;

/// Compare the pairs of near-duplicates in files with those that are known: precision, recall, F1
///
/// Needs no server. Every pair from the lowest threshold up is found and scored by its exact
/// resemblance.
#[derive(Args)]
pub struct Arguments {
    /// Documents, as `akin import` takes them
    #[arg(value_name = "DOCS")]
    documents: PathBuf,
    /// The known pairs, two ids a line with a tab between; more columns, and lines that begin
    /// with #, are passed over (also gzip or zstd)
    #[arg(value_name = "GOLD")]
    gold: PathBuf,
    /// The lowest threshold
    #[arg(long, value_name = "0..1", value_parser = import::threshold, default_value = "0.3")]
    from: Threshold,
    /// From one threshold to the next
    #[arg(long, value_name = "0..1", value_parser = import::threshold, default_value = "0.05")]
    step: Threshold,
    /// Only this threshold
    #[arg(long, value_name = "0..1", value_parser = import::threshold,
        conflicts_with_all = ["from", "step"])]
    at: Option<Threshold>,
    /// Only pairs of different sources count: documents whose ids begin with different ones of
    /// these
    #[arg(long, value_name = "PREFIX,PREFIX", value_delimiter = ',')]
    across: Vec<String>,
    /// Documents with equal sets count as one
    #[arg(long, conflicts_with = "across")]
    distinct: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    shaping: Shaping,
    #[command(flatten)]
    reading: Reading,
}

/// What is written.
#[derive(Serialize)]
struct Evaluation {
    documents: usize,
    distinct_sets: u32,
    /// Known pairs that count.
    gold: u64,
    thresholds: Vec<Row>,
    /// The row of the threshold with the highest F1, of all that could be chosen.
    best: Option<Row>,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let lowest = arguments.at.unwrap_or(arguments.from);
    let settings = arguments.shaping.settings(None)?;
    let reading = &arguments.reading;
    let selection = reading.selection(vec![arguments.documents]);
    let gathered = gather(&selection, &settings, reading.threads(), reading.quiet)?;
    let Gathered { mut corpus, failed, .. } = gathered;
    let gold = Gold::read(&arguments.gold, &corpus, &arguments.across, arguments.distinct)?;
    let mut scores = Scores::default();
    gold.count_equal(&mut scores);
    watched(reading.quiet, |progress| {
        corpus.pairs(Mode::Exact, lowest, progress, |_, pair| {
            gold.count(&pair, &mut scores);
            ControlFlow::Continue(())
        })
    })?;
    let rows = thresholds(arguments.from, arguments.step, arguments.at);
    let scored = scores.finish(gold.pairs());
    let evaluation = Evaluation {
        documents: corpus.documents().count(),
        distinct_sets: corpus.sets(),
        gold: gold.pairs(),
        thresholds: rows.into_iter().map(|threshold| scored.at(threshold)).collect(),
        best: scored.best(),
    };
    let mut out = stdout().lock();
    match arguments.json {
        true => {
            let json = serde_json::to_string(&evaluation).map_err(std::io::Error::from)?;
            writeln!(out, "{json}")?;
        }
        false => table::write(&mut out, &evaluation)?,
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}
