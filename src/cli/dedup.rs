//! `akin dedup`: a corpus in, a corpus without near-duplicates out.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use clap::Args;
use indicatif::HumanCount;
use serde_json::Value;

use super::corpus::{CorpusOptions, Fate, Gathered, gather, with_progress};
use super::failure::Failure;
use super::input::{self, Cancelled, Event, Item, Selection, read_inputs};
use super::meter::{Meter, Unit};
use super::output::{Destination, Output};
use crate::document::DocumentId;
use crate::engine::{Linkage, Mode};
use crate::join::{Documents, cluster_name};
use crate::scheme::Threshold;

/// Write a corpus without its near-duplicates (deduplication); needs no server
///
/// Of each cluster of near-duplicates the document with the lowest id is kept: its line, unchanged,
/// in the order of the input. Equal documents, also equal records, are copies of each other
/// whatever the threshold. The input is read twice. Items that are not documents are reported and
/// left out.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them
    #[arg(required = true, value_name = "IN")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    destination: Destination,
    /// Write every document, each with its "cluster" and the id of its "representative"
    #[arg(long)]
    annotate: bool,
    /// Jaccard similarity from which documents are near-duplicates [default: the configuration's];
    /// of records the share of the points that all fields could have
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    threshold: Option<Threshold>,
    /// What makes a cluster
    #[arg(long, value_name = "LINKAGE", default_value = "representative")]
    linkage: Linkage,
    /// How near-duplicates are found
    #[arg(long, value_name = "MODE", default_value = "verified")]
    mode: Mode,
    #[command(flatten)]
    corpus: CorpusOptions,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { paths, destination, annotate, corpus: options, mode, .. } = arguments;
    if paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::new("the input is read twice, which stdin cannot be: name a file"));
    }
    let selection = options.selection(paths)?;
    destination.check(&selection.paths)?;
    let settings = options.collection(arguments.threshold)?;
    let threshold = settings.scheme.threshold;
    let Gathered { mut corpus, fates, failed } = gather(&selection, &settings, &options)?;
    let representatives = with_progress(options.quiet, |progress| {
        corpus.clusters(mode, threshold, arguments.linkage, progress)
    })?;
    let clusters = Clusters::new(corpus.documents(), &representatives);
    let total = fates.len() as u64;
    let meter = Meter::new(options.quiet, "writing", Unit::Things("documents"), total);
    let rewriting = Rewriting { clusters: &clusters, annotate, meter: &meter };
    rewriting.run(&selection, &fates, destination.create()?)?;
    drop(meter);
    clusters.print_summary(&fates);
    if corpus.points_max().is_none() {
        eprintln!(
            "a pair with a Jaccard similarity of {} is found with a chance of {:.1} %",
            threshold.get(),
            corpus.expected_recall(mode, threshold) * 100.0
        );
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Which document represents which.
struct Clusters<'c> {
    documents: &'c Documents,
    /// The number of the set that represents each document, by the number of the document.
    representative: Vec<u32>,
    /// How many clusters have more than one document.
    groups: usize,
}

impl<'c> Clusters<'c> {
    fn new(documents: &'c Documents, representatives: &[u32]) -> Self {
        let mut representative = vec![0; documents.count()];
        let mut sizes = vec![0_usize; representatives.len()];
        for (set, &representing) in (0..).zip(representatives) {
            let members = documents.of(set);
            sizes[representing as usize] += members.len();
            for (_, number) in members {
                representative[*number as usize] = representing;
            }
        }
        let groups = sizes.iter().filter(|size| **size > 1).count();
        Self { documents, representative, groups }
    }

    fn representative(&self, number: u32) -> &(DocumentId, u64) {
        &self.documents.of(self.representative[number as usize])[0]
    }

    fn is_kept(&self, fate: &Fate) -> bool {
        match fate {
            Fate::Document(number) => self.representative(*number).1 == u64::from(*number),
            Fate::Empty(_) => true,
            Fate::LeftOut => false,
        }
    }

    fn print_summary(&self, fates: &[Fate]) {
        let kept = fates.iter().filter(|fate| self.is_kept(fate)).count();
        let documents = fates.iter().filter(|fate| **fate != Fate::LeftOut).count();
        let empty = fates.iter().filter(|fate| matches!(fate, Fate::Empty(_))).count();
        let count = |count: usize| HumanCount(count as u64).to_string();
        eprintln!(
            "documents: {}; representatives: {}; near-duplicates: {}; clusters: {}",
            count(documents),
            count(kept),
            count(documents - kept),
            count(self.groups)
        );
        if empty > 0 {
            eprintln!("representatives with nothing to compare: {}", count(empty));
        }
    }
}

/// Writes documents while the input is read for the second time.
struct Rewriting<'a> {
    clusters: &'a Clusters<'a>,
    annotate: bool,
    meter: &'a Meter,
}

impl Rewriting<'_> {
    fn run(&self, selection: &Selection, fates: &[Fate], mut out: Output) -> Result<(), Failure> {
        let mut fates = fates.iter();
        let mut written = Ok(());
        let read = read_inputs(selection, &AtomicU64::new(0), &mut |event| {
            let Event::Item(item) = event else { return Ok(()) };
            self.meter.add(1);
            let fate = fates.next().ok_or_else(changed);
            written = fate.and_then(|fate| self.write(&item, fate, &mut out));
            if written.is_ok() { Ok(()) } else { Err(Cancelled) }
        });
        written?;
        if read.is_err() || fates.next().is_some() {
            return Err(changed());
        }
        out.finish()
    }

    fn write(&self, item: &Item, fate: &Fate, out: &mut Output) -> Result<(), Failure> {
        if !self.annotate {
            if self.clusters.is_kept(fate) {
                out.write_all(item.line())?;
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        let representative = match fate {
            Fate::LeftOut => return Ok(()),
            Fate::Document(number) => &self.clusters.representative(*number).0,
            Fate::Empty(id) => id,
        };
        Ok(write_annotated(item, representative, out)?)
    }
}

fn changed() -> Failure {
    Failure::new("the input changed while it was read: nothing was written")
}

/// The line with two more members at its end.
fn write_annotated(
    item: &Item,
    representative: &DocumentId,
    out: &mut Output,
) -> std::io::Result<()> {
    let line = item.line().trim_ascii_end();
    let open = line.strip_suffix(b"}").unwrap_or(line);
    out.write_all(open)?;
    let name = cluster_name(representative);
    let representative = Value::String(representative.to_string());
    writeln!(out, ",\"cluster\":\"{name}\",\"representative\":{representative}}}")
}
