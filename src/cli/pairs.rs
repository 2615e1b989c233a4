//! `akin pairs`: every pair of near-duplicates in files.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanCount;
use serde_json::json;

use super::corpus::{CorpusOptions, Gathered, Gathering, Keep, disk_failed, with_progress};
use super::failure::Failure;
use super::input;
use super::output::Destination;
use crate::document::DocumentId;
use crate::engine::{Mode, OfflineCorpus};
use crate::scheme::Threshold;

/// Write every pair of near-duplicates in files: id, id, Jaccard similarity; needs no server
///
/// A pair on each line, its columns separated by tabs, the lower id first; each pair once. With the
/// settings of records the third column is the points.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them, or - for stdin
    #[arg(required_unless_present = "files_from", value_name = "IN")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    destination: Destination,
    /// Jaccard similarity from which documents are near-duplicates [default: the configuration's];
    /// of records the share of the points that all fields could have
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    threshold: Option<Threshold>,
    /// How pairs are found
    #[arg(long, value_name = "MODE", default_value = "verified")]
    mode: Mode,
    /// Of documents with equal sets only the one with the lowest id
    #[arg(long)]
    distinct: bool,
    /// Write lines of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    corpus: CorpusOptions,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { paths, destination, threshold, mode, distinct, json, corpus: options } =
        arguments;
    let selection = options.analysis.selection(paths)?;
    destination.check(&selection.paths)?;
    let settings = options.analysis.collection(threshold)?;
    let gathering = Gathering {
        settings: &settings,
        options: &options,
        keep: &Keep::default(),
        output: destination.file(),
        lists_pairs: true,
    };
    let Gathered { mut corpus, failed, .. } = gathering.gather(None, &selection)?;
    let threshold = settings.scheme.threshold;
    let ids = corpus.ids().map_err(|error| disk_failed(&error))?;
    let mut writer = Writer { out: destination.create()?, ids, json, pairs: 0 };
    if !distinct {
        writer.write_equal(&corpus, threshold)?;
    }
    let points_max = corpus.points_max();
    let mut written = Ok(());
    let joined = with_progress(options.analysis.quiet, |progress| {
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
    joined?;
    let Writer { out, pairs, .. } = writer;
    out.finish()?;
    eprintln!("pairs: {}", HumanCount(pairs));
    if points_max.is_none() && mode != Mode::Exact {
        eprintln!(
            "a pair with a Jaccard similarity of {} is found with a chance of {:.1} %",
            threshold.get(),
            corpus.expected_recall(mode, threshold) * 100.0
        );
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// How alike two documents are.
#[derive(Clone, Copy)]
enum Score {
    Resemblance(f64),
    /// Of records.
    Points(u32),
}

impl Score {
    fn new(resemblance: f64, points_max: Option<u32>) -> Self {
        match points_max {
            None => Self::Resemblance(resemblance),
            Some(max) => Self::Points((resemblance * f64::from(max)).round() as u32),
        }
    }
}

struct Writer<W> {
    out: W,
    /// By the numbers of the documents.
    ids: Vec<DocumentId>,
    json: bool,
    pairs: u64,
}

impl<W: Write> Writer<W> {
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

    fn write(&mut self, a: u32, b: u32, score: Score) -> io::Result<()> {
        self.pairs += 1;
        let [a, b] = [a, b].map(|number| &self.ids[number as usize]);
        let (a, b) = (a.min(b), a.max(b));
        match (score, self.json) {
            (Score::Resemblance(resemblance), false) => {
                writeln!(self.out, "{a}\t{b}\t{resemblance:.9}")
            }
            (Score::Points(points), false) => writeln!(self.out, "{a}\t{b}\t{points}"),
            (Score::Resemblance(resemblance), true) => {
                writeln!(self.out, "{}", json!({ "a": a, "b": b, "resemblance": resemblance }))
            }
            (Score::Points(points), true) => {
                writeln!(self.out, "{}", json!({ "a": a, "b": b, "points": points }))
            }
        }
    }
}
