//! `akin dedup`: a corpus in, a corpus without near-duplicates out, without a server.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use serde_json::Value;

use super::corpus::{Fate, Gathered, Mode, Reading, Shaping, gather, watched};
use super::failure::Failure;
use super::import::{self, Cancelled, Columns, Event, Item, Selection, read_input};
use super::meter::{Meter, Unit};
use super::output::Output;
use crate::document::DocumentId;
use crate::engine;
use crate::http::corpus_document;
use crate::join::{Documents, Linkage as Linked, cluster_name};
use crate::scheme::Threshold;

/// Write a corpus without its near-duplicates; needs no server
///
/// Of each cluster of near-duplicates the document with the lowest id is kept, its line as it is,
/// in the order of the input. The input is read twice. What is no document is told and left out.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them
    #[arg(required = true, value_name = "IN")]
    paths: Vec<PathBuf>,
    /// Where to, NDJSON: compressed if it ends in .gz or .zst; - for stdout
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Write every document, each with its "cluster" and the id of its "representative"
    #[arg(long)]
    annotate: bool,
    /// The resemblance from which documents count as near-duplicates [default: the configuration's]
    #[arg(long, value_name = "0..1", value_parser = import::threshold)]
    threshold: Option<Threshold>,
    /// What belongs to one cluster
    #[arg(long, value_name = "LINKAGE", default_value = "representative")]
    linkage: Linkage,
    /// How near-duplicates are found
    #[arg(long, value_name = "MODE", default_value = "verified")]
    mode: Mode,
    #[command(flatten)]
    shaping: Shaping,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Linkage {
    /// What is near its representative: nothing goes that is not near what stays
    Representative,
    /// What a chain of pairs connects
    Single,
}

impl From<Linkage> for Linked {
    fn from(linkage: Linkage) -> Self {
        match linkage {
            Linkage::Representative => Self::Representative,
            Linkage::Single => Self::Single,
        }
    }
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    if arguments.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::new("the input is read twice, which stdin cannot be: name a file"));
    }
    let settings = arguments.shaping.settings(arguments.threshold)?;
    let (threshold, quiet) = (settings.scheme.threshold, arguments.reading.quiet);
    let selection = arguments.reading.selection(arguments.paths);
    let gathered = gather(&selection, &settings, arguments.reading.threads(), quiet)?;
    let Gathered { mut corpus, fates, failed } = gathered;
    let finding = engine::Mode::from(arguments.mode);
    let representatives = watched(quiet, |progress| {
        corpus.clusters(finding, threshold, arguments.linkage.into(), progress)
    })?;
    let clusters = Clusters::new(corpus.documents(), &representatives);
    let meter = Meter::new(quiet, "writing", Unit::Things("documents"), fates.len() as u64);
    let out = Output::create(&arguments.out)?;
    let rewriting = Rewriting { clusters: &clusters, annotate: arguments.annotate, meter: &meter };
    rewriting.run(&selection, &fates, out)?;
    drop(meter);
    clusters.summarise(&fates);
    let recall = corpus.expected_recall(finding, threshold) * 100.0;
    eprintln!(
        "at a resemblance of {} a pair is found with a chance of {recall:.1} %",
        threshold.get()
    );
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Which document stands for which.
struct Clusters<'c> {
    documents: &'c Documents,
    /// The set that stands for each document's, by the number of the document.
    representative: Vec<u32>,
    /// How many clusters have more than one document.
    groups: usize,
}

impl<'c> Clusters<'c> {
    fn new(documents: &'c Documents, representatives: &[u32]) -> Self {
        let mut representative = vec![0; documents.count()];
        let mut sizes = vec![0_usize; representatives.len()];
        for (set, &stands) in (0..).zip(representatives) {
            let members = documents.of(set);
            sizes[stands as usize] += members.len();
            for (_, number) in members {
                representative[*number as usize] = stands;
            }
        }
        let groups = sizes.iter().filter(|size| **size > 1).count();
        Self { documents, representative, groups }
    }

    /// The document that stands for this one.
    fn representative(&self, number: u32) -> &(DocumentId, u32) {
        &self.documents.of(self.representative[number as usize])[0]
    }

    fn stays(&self, fate: Fate) -> bool {
        match fate {
            Fate::Document(number) => self.representative(number).1 == number,
            Fate::Empty => true,
            Fate::Failed => false,
        }
    }

    fn summarise(&self, fates: &[Fate]) {
        let kept = fates.iter().filter(|fate| self.stays(**fate)).count();
        let documents = fates.iter().filter(|fate| **fate != Fate::Failed).count();
        let empty = fates.iter().filter(|fate| **fate == Fate::Empty).count();
        let count = |count: usize| HumanCount(count as u64).to_string();
        eprintln!(
            "documents: {}; representatives: {}; near-duplicates of theirs: {}; clusters: {}",
            count(documents),
            count(kept),
            count(documents - kept),
            count(self.groups)
        );
        if empty > 0 {
            eprintln!("representatives that have nothing to compare: {}", count(empty));
        }
    }
}

/// The second reading.
struct Rewriting<'a> {
    clusters: &'a Clusters<'a>,
    annotate: bool,
    meter: &'a Meter,
}

impl Rewriting<'_> {
    fn run(&self, selection: &Selection, fates: &[Fate], mut out: Output) -> Result<(), Failure> {
        let mut fates = fates.iter();
        let mut written = Ok(());
        let columns = Columns::default();
        for input in selection.inputs().flatten() {
            // Cancelled by nobody but the error that is looked at next.
            let _ = read_input(&input, &columns, &AtomicU64::new(0), &mut |event| {
                let Event::Item(item) = event else { return Ok(()) };
                written = fates.next().ok_or_else(changed).and_then(|fate| {
                    self.meter.add(1);
                    self.write(&item, *fate, &mut out)
                });
                if written.is_ok() { Ok(()) } else { Err(Cancelled) }
            });
            std::mem::replace(&mut written, Ok(()))?;
        }
        if fates.next().is_some() {
            return Err(changed());
        }
        out.finish()
    }

    fn write(&self, item: &Item, fate: Fate, out: &mut Output) -> Result<(), Failure> {
        if !self.annotate {
            if self.clusters.stays(fate) {
                out.write_all(&item.json)?;
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        let representative = match fate {
            Fate::Failed => return Ok(()),
            Fate::Document(number) => self.clusters.representative(number).0.clone(),
            Fate::Empty => own_id(item)?,
        };
        Ok(write_annotated(item, &representative, out)?)
    }
}

fn changed() -> Failure {
    Failure::new("the input has changed while it was read: nothing was written")
}

/// An empty document stands for itself.
fn own_id(item: &Item) -> Result<DocumentId, Failure> {
    let (id, _) = corpus_document(&item.json).map_err(|_| changed())?;
    let named = || DocumentId::new(item.origin.to_string()).map_err(|_| changed());
    id.map_or_else(named, Ok)
}

/// The line as it is, with two fields more at its end.
fn write_annotated(
    item: &Item,
    representative: &DocumentId,
    out: &mut Output,
) -> std::io::Result<()> {
    let line = item.json.trim_ascii_end();
    let open = line.strip_suffix(b"}").unwrap_or(line);
    out.write_all(open)?;
    let name = cluster_name(representative);
    let representative = Value::String(representative.to_string());
    writeln!(out, ",\"cluster\":\"{name}\",\"representative\":{representative}}}")
}
