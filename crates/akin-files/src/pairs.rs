//! `akin pairs`: every pair of near-duplicates in files.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::json;

use super::corpus::{
    self, Configured, CorpusOptions, GatheredCorpus, Gathering, PairListing, Score, SourceOptions,
    UncomparedCounts, disk_failed, incomplete_line, recall_line, with_progress,
};
use super::failure::Failure;
use super::input;
use super::output::{Destination, Inputs};
use crate::offline::{OfflineCorpus, natural_order};
use akin_core::scheme::{Kind, Threshold};
use akin_model::analysis::Mode;
use akin_model::clusters::Incomplete;
use akin_model::document::DocumentId;
use akin_model::settings::CollectionSettings;

/// How pairs are found and written.
#[derive(Args)]
pub struct PairOptions {
    /// Files or directories of documents, as `akin import` takes them, or - for stdin
    #[arg(required_unless_present_any = ["files_from", "url"], value_name = "IN")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    destination: Destination,
    /// Jaccard similarity from which documents are near-duplicates [default: the configuration's,
    /// or the collection's]; of records the share of the points that all fields could have
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    threshold: Option<Threshold>,
    /// How pairs are found; `exact` misses none, `verified` takes less time and memory [default:
    /// exact, and verified with the settings of records]
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// Of documents with equal sets, list only the document with the lowest id
    #[arg(long)]
    distinct: bool,
    /// Write lines of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    corpus: CorpusOptions,
}

/// Writes the pairs in files.
///
/// # Errors
/// The options or the settings are invalid, or a file cannot be read or written.
pub fn of_files(options: PairOptions, configured: Configured) -> Result<ExitCode, Failure> {
    let analysis = &options.corpus.analysis;
    analysis.read.screening.refuse_keeping()?;
    let settings = analysis.collection(configured, options.threshold)?;
    let selection = analysis.read.selection(options.paths.clone())?;
    options.destination.check(&analysis.inputs([&selection]))?;
    write(options, &settings, |gathering| gathering.gather(None, &selection))
}

/// Writes the pairs of a collection. `inputs`: the files that the export reads; `gather`: gathers
/// the export.
///
/// # Errors
/// The export breaks off, or the output cannot be written.
pub fn of_export(
    options: PairOptions,
    mut settings: CollectionSettings,
    inputs: &Inputs,
    gather: impl FnOnce(&Gathering<'_>) -> Result<GatheredCorpus, Failure>,
) -> Result<ExitCode, Failure> {
    // The share of points is the only threshold of records here.
    corpus::share_of_points(&mut settings, options.threshold)?;
    options.destination.check(inputs)?;
    write(options, &settings, gather)
}

fn write(
    options: PairOptions,
    settings: &CollectionSettings,
    gather: impl FnOnce(&Gathering<'_>) -> Result<GatheredCorpus, Failure>,
) -> Result<ExitCode, Failure> {
    let PairOptions { destination, threshold, mode, distinct, json, corpus: options, .. } = options;
    let threshold = threshold.unwrap_or(settings.scheme.threshold);
    let are_records = settings.scheme.kind == Kind::Fields;
    let mode = mode.unwrap_or(if are_records { Mode::Verified } else { Mode::Exact });
    let sources = SourceOptions::default();
    let gathering = Gathering {
        listing: Some(PairListing { mode, threshold }),
        ..Gathering::new(settings, &options, &sources, destination.file())
    };
    let GatheredCorpus { mut corpus, uncompared, .. } = gather(&gathering)?;
    let ids = corpus.ids().map_err(|error| disk_failed(&error))?;
    let mut writer = PairWriter { out: destination.create()?, ids, json, pairs: 0 };
    if !distinct {
        writer.write_equal(&corpus, threshold)?;
    }
    let points_max = corpus.points_max();
    let mut written = Ok(());
    let joined = with_progress(options.analysis.read.quiet, |progress| {
        corpus.pairs(mode, threshold, progress, |documents, pair| {
            let [a, b] = [pair.a, pair.b].map(|set| match distinct {
                true => &documents.of(set)[..1],
                false => documents.of(set),
            });
            written = writer.write_across(a, b, Score::new(pair.resemblance, points_max));
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    // A pair that cannot be written stops the join.
    written?;
    let incomplete = corpus.incomplete(&joined?).map_err(|error| disk_failed(&error))?;
    let is_approximate = !are_records && mode != Mode::Exact;
    let summary = PairsSummary {
        pairs: writer.pairs,
        threshold: threshold.get(),
        expected_recall: is_approximate.then(|| corpus.expected_recall(mode, threshold)),
        incomplete,
        uncompared: uncompared.counts,
    };
    writer.write_missing(&summary)?;
    writer.out.finish()?;
    eprintln!("pairs: {}", HumanCount(summary.pairs));
    uncompared.print(summary.uncompared, "left out");
    summary.missing().iter().for_each(|line| eprintln!("{line}"));
    Ok(ExitCode::SUCCESS)
}

/// The number of pairs, and the chance to find a pair.
#[derive(Serialize)]
struct PairsSummary {
    pairs: u64,
    threshold: f64,
    /// The chance to find a pair at the threshold, if it is not 1; not known of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_recall: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<Incomplete>,
    #[serde(flatten)]
    uncompared: UncomparedCounts,
}

impl PairsSummary {
    /// Lines about pairs that may be missing.
    fn missing(&self) -> Vec<String> {
        let recall = self.expected_recall.map(|recall| recall_line(self.threshold, recall));
        recall.into_iter().chain(self.incomplete.as_ref().map(incomplete_line)).collect()
    }
}

/// A pair of documents.
#[derive(Serialize)]
struct ScoredPair<'d> {
    a: &'d DocumentId,
    b: &'d DocumentId,
    #[serde(flatten)]
    score: Score,
}

struct PairWriter<W> {
    out: W,
    /// The ids of documents, by number.
    ids: Vec<DocumentId>,
    json: bool,
    pairs: u64,
}

impl<W: Write> PairWriter<W> {
    /// The pairs of documents with equal sets.
    fn write_equal(&mut self, corpus: &OfflineCorpus, threshold: Threshold) -> io::Result<()> {
        for set in 0..corpus.sets() {
            let resemblance = corpus.resemblance_of_equal(set);
            if resemblance < threshold.get() {
                continue;
            }
            let (members, score) =
                (corpus.documents().of(set), Score::new(resemblance, corpus.points_max()));
            for (at, a) in members.iter().enumerate() {
                members[at + 1..].iter().try_for_each(|b| self.write(*a, *b, score))?;
            }
        }
        Ok(())
    }

    fn write_across(&mut self, a: &[u32], b: &[u32], score: Score) -> io::Result<()> {
        for a in a {
            b.iter().try_for_each(|b| self.write(*a, *b, score))?;
        }
        Ok(())
    }

    /// After the pairs, writes a summary of pairs that may be missing.
    fn write_missing(&mut self, summary: &PairsSummary) -> io::Result<()> {
        let missing = summary.missing();
        if self.json && !missing.is_empty() {
            return writeln!(self.out, "{}", json!({ "summary": summary }));
        }
        missing.iter().try_for_each(|line| writeln!(self.out, "# {line}"))
    }

    fn write(&mut self, a: u32, b: u32, score: Score) -> io::Result<()> {
        self.pairs += 1;
        let [a, b] = [a, b].map(|number| &self.ids[number as usize]);
        let (a, b) = if natural_order(a.as_str(), b.as_str()).is_gt() { (b, a) } else { (a, b) };
        if self.json {
            return writeln!(self.out, "{}", serde_json::to_string(&ScoredPair { a, b, score })?);
        }
        match score {
            Score::Resemblance(resemblance) => writeln!(self.out, "{a}\t{b}\t{resemblance:.9}"),
            Score::Points(points) => writeln!(self.out, "{a}\t{b}\t{points}"),
        }
    }
}
