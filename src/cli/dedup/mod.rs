//! `akin dedup`: a corpus in, a corpus without near-duplicates out.

mod clusters;
mod rows;
mod write;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use clap::Args;

use self::clusters::{Clusters, Summary};
use self::write::{Place, Writer};
use super::corpus::{CorpusOptions, Gathered, Gathering, Keep, with_progress};
use super::failure::Failure;
use super::input::{self, Cancelled, Event, Selection, read_inputs};
use super::meter::{Meter, Unit};
use super::output::{Destination, print_json};
use crate::engine::{Linkage, Mode};
use crate::scheme::Threshold;

/// Write a corpus without its near-duplicates (deduplication); needs no server
///
/// Of each cluster of near-duplicates one document is kept, by default that with the lowest id: its
/// line, unchanged, in the order of the input; what is not JSON becomes lines of JSON, and Parquet
/// stays Parquet if the output is called .parquet. Equal documents, also equal records, are copies
/// of each other whatever the threshold. The input is read twice. Items that are not documents are
/// reported and left out. A corpus may be much larger than memory.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them
    #[arg(required_unless_present = "files_from", value_name = "IN")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    destination: Destination,
    /// Write a file for each input, under its name, into this directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "output")]
    output_dir: Option<PathBuf>,
    /// Which document of a cluster is kept: that with the lowest `id`, the `first`, the `longest`,
    /// the `newest` (by its date or timestamp), or that with the highest number or date in this
    /// field
    #[arg(long, value_name = "WHICH", default_value = "id")]
    keep: Keep,
    /// Leave out what is near a document of these files, too, which are not written; may be given
    /// several times
    #[arg(long, value_name = "OLD")]
    against: Vec<PathBuf>,
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
    /// Write a summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    corpus: CorpusOptions,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { paths, corpus: options, mode, .. } = arguments;
    if paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::new("the input is read twice, which stdin cannot be: name a file"));
    }
    let mut selection = options.analysis.selection(paths)?;
    // Rows are copied whole, whatever was read of them; lines are made of what was read.
    let is_copied = arguments.output_dir.is_none() && arguments.destination.is_parquet();
    selection.reading.columns.prunes = is_copied && !arguments.keep.needs_members();
    let against = !arguments.against.is_empty();
    let old = against.then(|| options.analysis.only(arguments.against)).transpose()?;
    let inputs = old.iter().chain([&selection]).flat_map(|s| s.paths.clone()).collect::<Vec<_>>();
    let place = match arguments.output_dir {
        Some(directory) => Place::shards(directory, &inputs, arguments.destination.force)?,
        None => {
            arguments.destination.check(&inputs)?;
            arguments.destination.check_summary(arguments.json)?;
            Place::One(arguments.destination)
        }
    };
    let settings = options.analysis.collection(arguments.threshold)?;
    let threshold = settings.scheme.threshold;
    let output = place.path();
    let gathering = Gathering {
        settings: &settings,
        options: &options,
        keep: &arguments.keep,
        output: output.as_deref(),
        lists_pairs: false,
    };
    let Gathered { mut corpus, are_numbered, failed } =
        gathering.gather(old.as_ref(), &selection)?;
    let representatives = with_progress(options.analysis.quiet, |progress| {
        corpus.clusters(mode, threshold, arguments.linkage, progress)
    })?;
    let clusters = Clusters::new(&corpus, representatives);
    let total = are_numbered.len() as u64;
    let meter = Meter::new(options.analysis.quiet, "writing", Unit::Things("documents"), total);
    let writer = Writer::new(place, &selection, arguments.annotate)?;
    let numbers = numbers(&are_numbered, corpus.first_new());
    rewrite(&selection, numbers, &clusters, &meter, writer)?;
    drop(meter);
    let recall = || corpus.expected_recall(mode, threshold);
    let summary = Summary {
        expected_recall: corpus.points_max().is_none().then(recall),
        threshold: threshold.get(),
        failed,
        ..clusters.summary()
    };
    match arguments.json {
        true => print_json(&summary)?,
        false => summary.print(),
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// The number of each document of the input, if it has one.
fn numbers(are_numbered: &[bool], first: u32) -> impl Iterator<Item = Option<u32>> {
    let mut next = first;
    are_numbered.iter().map(move |is_numbered| {
        let number = is_numbered.then_some(next);
        next += u32::from(*is_numbered);
        number
    })
}

/// Writes documents while the input is read for the second time.
fn rewrite(
    selection: &Selection,
    mut numbers: impl Iterator<Item = Option<u32>>,
    clusters: &Clusters<'_>,
    meter: &Meter,
    mut writer: Writer,
) -> Result<(), Failure> {
    let mut written = Ok(());
    let read = read_inputs(selection, &AtomicU64::new(0), &mut |event| {
        let Event::Item(item) = event else { return Ok(()) };
        meter.add(1);
        let number = numbers.next().ok_or_else(changed);
        written = number.and_then(|number| match number {
            Some(number) => writer.take(&item, number, clusters),
            None => Ok(()),
        });
        if written.is_ok() { Ok(()) } else { Err(Cancelled) }
    });
    written?;
    if read.is_err() || numbers.next().is_some() {
        return Err(changed());
    }
    writer.finish()
}

fn changed() -> Failure {
    Failure::new("the input changed while it was read: the output is not complete")
}
