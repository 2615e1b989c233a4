//! `akin evaluate`: precision and recall of settings and thresholds on a corpus with known pairs.

mod gold;
mod score;
mod table;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use self::gold::Gold;
use self::score::{Row, Scores};
use self::table::thresholds;
use super::corpus::{
    Configured, CorpusOptions, GatheredCorpus, Gathering, PairListing, SourceOptions,
    UncomparedCounts, disk_failed, with_progress,
};
use super::failure::Failure;
use super::input;
use super::output::{Destination, write_json};
use akin_core::scheme::Threshold;
use akin_model::analysis::Mode;

/// Measure precision, recall and F1 against known pairs; needs no server
///
/// Every pair from the lowest threshold up is found and scored by its exact Jaccard similarity; of
/// records by the share of the points that all fields could have.
#[derive(Args)]
pub struct Arguments {
    /// Documents, as `akin import` takes them; with --files-from it may be left out
    #[arg(value_name = "DOCS")]
    first: PathBuf,
    /// The known pairs, two ids on each line with a tab between; further columns, and lines that
    /// begin with #, are ignored (also gzip or zstd)
    #[arg(value_name = "GOLD", required_unless_present = "files_from")]
    second: Option<PathBuf>,
    /// The lowest threshold
    #[arg(long, value_name = "0..1", value_parser = input::threshold, default_value = "0.3")]
    from: Threshold,
    /// The distance from one threshold to the next
    #[arg(long, value_name = "0..1", value_parser = input::threshold, default_value = "0.05")]
    step: Threshold,
    /// Only this threshold
    #[arg(long, value_name = "0..1", value_parser = input::threshold,
        conflicts_with_all = ["from", "step"])]
    at: Option<Threshold>,
    /// Count only pairs across sources: the ids of their documents begin with different prefixes
    /// of these
    #[arg(long, value_name = "PREFIX,PREFIX", value_delimiter = ',')]
    across: Vec<String>,
    /// Count documents with equal sets as a single document
    #[arg(long, conflicts_with = "across")]
    distinct: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    corpus: CorpusOptions,
}

#[derive(Serialize)]
struct EvaluatedPairs {
    documents: usize,
    distinct_sets: u32,
    /// Known pairs that count.
    gold: u64,
    thresholds: Vec<Row>,
    /// The row of the threshold with the highest F1, of all possible thresholds.
    best: Option<Row>,
    #[serde(flatten)]
    uncompared: UncomparedCounts,
}

/// # Errors
/// An option is invalid, or a file cannot be read or written.
pub fn run(arguments: Arguments, configured: Configured) -> Result<ExitCode, Failure> {
    let lowest = arguments.at.unwrap_or(arguments.from);
    let options = &arguments.corpus;
    options.analysis.read.screening.refuse_keeping()?;
    let settings = options.analysis.collection(configured, None)?;
    // The only argument is the last, which is empty where the documents are in a list.
    let (documents, gold) = match arguments.second {
        Some(gold) => (vec![arguments.first], gold),
        None => (vec![], arguments.first),
    };
    let selection = options.analysis.read.selection(documents)?;
    arguments.destination.check(&options.analysis.inputs([&selection]).with(gold.clone()))?;
    let sources = SourceOptions::default();
    let gathering = Gathering {
        listing: Some(PairListing { mode: Mode::Exact, threshold: lowest }),
        ..Gathering::new(&settings, options, &sources, arguments.destination.file())
    };
    let GatheredCorpus { mut corpus, uncompared, .. } = gathering.gather(None, &selection)?;
    let ids = corpus.ids().map_err(|error| disk_failed(&error))?;
    let gold = Gold::read(&gold, (&corpus, &ids), &arguments.across, arguments.distinct)?;
    drop(ids);
    let mut scores = Scores::default();
    gold.count_equal(&corpus, &mut scores);
    with_progress(options.analysis.read.quiet, |progress| {
        corpus.pairs(Mode::Exact, lowest, progress, |_, pair| {
            gold.count(&pair, &mut scores);
            ControlFlow::Continue(())
        })
    })?;
    let rows = thresholds(arguments.from, arguments.step, arguments.at);
    let scored = scores.finish(gold.pairs());
    let evaluation = EvaluatedPairs {
        documents: corpus.documents().count(),
        distinct_sets: corpus.sets(),
        gold: gold.pairs(),
        thresholds: rows.into_iter().map(|threshold| scored.at(threshold)).collect(),
        best: scored.best(),
        uncompared: uncompared.counts,
    };
    let mut out = arguments.destination.create()?;
    match arguments.json {
        true => write_json(&mut out, &evaluation)?,
        false => table::write(&mut out, &evaluation)?,
    }
    out.finish()?;
    uncompared.print(uncompared.counts, "left out");
    Ok(ExitCode::SUCCESS)
}
