//! `akin dedup`: writes a corpus without its near-duplicates.

mod across;
mod alarm;
mod annotation;
mod automaton;
mod clusters;
mod contained;
mod copies;
mod cuts;
mod holders;
mod removed;
mod report;
#[cfg_attr(not(feature = "parquet"), path = "no_rows.rs")]
mod rows;
mod rule;
mod runs;
mod spans;
mod state;
mod write;

pub use self::cuts::without;
pub use self::report::{ReportedDocument, ReportedSpan};
pub use self::write::{KeptWriter, OutputPlace, refuse_mixing};

use std::iter;
use std::mem::take;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use clap::Args;

use self::alarm::{SourceCounts, refuse_removing};
use self::clusters::{Representatives, Summary};
use self::copies::keep_copies;
use self::removed::{ReportPlaces, write_removed};
use self::rule::{RemovalRule, refuse_rule};
use self::state::{add_to_state, refuse_for_state};
use super::corpus::{
    Configured, CorpusOptions, GatheredCorpus, Gathering, Keep, RecordOutcome, SourceOptions,
    Sources, bytes_of, changed, check_disk, disk_failed, numbered,
};
use super::failure::Failure;
use super::input::{self, Cancelled, Event, Screening, Selection, read_inputs};
use super::meter::{Meter, Quantity};
use super::offline::STATE_FILES;
use super::output::{Destination, Output, print_json};
use super::templates::SourceTemplates;
use akin_core::join::Linkage;
use akin_core::scheme::{Kind, Threshold};
use akin_core::text::Unit;
use akin_model::analysis::{Analyser, Mode};
use akin_model::settings::CollectionSettings;

/// Write a corpus without its near-duplicates (deduplication); needs no server
///
/// The command keeps one document of each cluster of near-duplicates, by default the first, and
/// writes its line unchanged, in the order of the input. Documents of other formats become lines of
/// JSON; rows of Parquet stay Parquet if the output is called .parquet. Equal documents, also equal
/// records, are near-duplicates at every threshold. Documents with nothing to compare are kept. If
/// a record is not a document, nothing is written, unless --on-invalid says otherwise. Files are
/// read twice; pipes, unpacked files and the texts of pages are copied to temporary files. A corpus
/// may be much larger than memory.
///
/// With --spans the command instead cuts long spans of words out of the texts that occur earlier,
/// in another document or in the same (exact-substring deduplication). It finds all of them, and
/// leaves out documents of which no word is left. Words are counted as a reader counts them, also
/// in scripts without spaces.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them, or - for stdin
    #[arg(required_unless_present = "files_from", value_name = "IN")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    destination: Destination,
    /// Write a file for each input, under its name, into this directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "output")]
    output_dir: Option<PathBuf>,
    /// When a document is removed: if it is near a document that is kept, or only if it is
    /// contained whole in a document that is kept
    #[arg(long, value_name = "RULE", default_value = "near")]
    rule: RemovalRule,
    /// Which document of a cluster is kept: the `first` in the order of the input, that with the
    /// lowest `id`, the `longest`, the `newest` (by its date or timestamp), that with the highest
    /// number or date in this field, or `none`
    #[arg(long, value_name = "WHICH", default_value = "first")]
    keep: Keep,
    /// Also leave out near-duplicates of the documents in these files, or cut spans that are in
    /// them; these documents are not written; may be given several times
    #[arg(long, value_name = "OLD")]
    against: Vec<PathBuf>,
    /// Also leave out near-duplicates of the documents that earlier runs with this directory kept,
    /// and add the documents that this run keeps (with --keep none, one document of each cluster,
    /// which then is in no output); the first run makes the directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "against")]
    state: Option<PathBuf>,
    /// Keep near-duplicates, and cut spans of at least this many words that occur earlier out of
    /// the texts: 10 to 1,000, usually 50
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(10..=1_000),
          conflicts_with_all = ["keep", "annotate", "threshold", "linkage", "mode", "unit", "size",
                                "duplicate_ids", "state", "rule", "SourceOptions"])]
    spans: Option<u16>,
    /// Write a line of JSON to this file for each document that is left out, with the document kept
    /// in its place and their similarity; with --spans for each document with cuts; - is stdout
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write every document, each with its "cluster", the "cluster_size", the id of its
    /// "representative" and their similarity; if the output is called .csv or .parquet, a table of
    /// the ids and clusters without the documents
    #[arg(long)]
    annotate: bool,
    /// Jaccard similarity from which documents are near-duplicates [default: the configuration's];
    /// for records the share of the points that all fields could have
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    threshold: Option<Threshold>,
    /// How near-duplicates are linked to clusters
    #[arg(long, value_name = "LINKAGE", default_value = "representative")]
    linkage: Linkage,
    /// How near-duplicates are found
    #[arg(long, value_name = "MODE", default_value = "verified")]
    mode: Mode,
    /// Write a summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sources: SourceOptions,
    #[command(flatten)]
    corpus: CorpusOptions,
}

/// # Errors
/// An option is invalid, or a file cannot be read or written.
pub fn run(arguments: Arguments, configured: Configured) -> Result<ExitCode, Failure> {
    let spans = arguments.spans;
    let mut plan = DedupPlan::new(arguments, configured)?;
    let room = plan.options().room(plan.place.path().as_deref());
    // Old documents are read several times, too: for templates, for their sets, for their words.
    let mut selections: Vec<_> = plan.old.iter_mut().chain([&mut plan.selection]).collect();
    // To find spans, no sets go to the disk.
    let has_room = |input_bytes| match spans {
        None => check_disk(&room, input_bytes),
        Some(_) => Ok(()),
    };
    has_room(bytes_of(selections.iter().map(|of| &**of)))?;
    selections.iter_mut().try_for_each(|selection| selection.copy_pipes(&room.directory))?;
    let input_bytes = bytes_of(selections.iter().map(|of| &**of));
    has_room(input_bytes)?;
    keep_copies(selections, input_bytes, &room);
    match spans {
        None => leave_out_near_duplicates(&plan),
        Some(words) => spans::run(&plan, words.into()),
    }
}

const DOCUMENTS: Quantity = Quantity::Things("documents");

/// The checked options.
struct DedupPlan {
    selection: Selection,
    old: Option<Selection>,
    place: OutputPlace,
    settings: CollectionSettings,
    /// Without the paths.
    arguments: Arguments,
}

impl DedupPlan {
    /// # Errors
    /// An input does not exist; an output is an input, exists, or would be written twice; the
    /// settings are invalid.
    fn new(mut arguments: Arguments, configured: Configured) -> Result<Self, Failure> {
        let (paths, against) = (take(&mut arguments.paths), take(&mut arguments.against));
        let Arguments { destination, output_dir, sources, corpus: options, .. } = &arguments;
        let read = &options.analysis.read;
        let mut selection = read.selection(paths)?;
        // Rows are copied whole, so further columns need not be read; lines are made of the columns
        // read.
        let is_copied = output_dir.is_none() && destination.is_parquet();
        let needs_members = arguments.keep.needs_members() || sources.source_column.is_some();
        selection.reading.columns_mut().prunes = is_copied && !needs_members;
        if arguments.spans.is_some() {
            selection.reading.columns.refuse_cutting()?;
        }
        let old = (!against.is_empty()).then(|| read.input.texts_of(against)).transpose()?;
        if let Some(old) = &old {
            let what = "stdin has either new documents, or old documents, or a list of files";
            read.refuse_stdin_twice([&selection, old], what)?;
        }
        let mut inputs = options.analysis.inputs(old.iter().chain([&selection]));
        let settings = options.analysis.collection(configured, arguments.threshold)?;
        let chosen = [
            ("--threshold", arguments.threshold.is_some()),
            ("--linkage", arguments.linkage != Linkage::Representative),
            ("--mode", arguments.mode != Mode::Verified),
            ("--ignore-templates", sources.ignore_templates.is_some()),
        ];
        refuse_rule(arguments.rule, &settings, &chosen)?;
        if let Some(state) = &arguments.state {
            let files = STATE_FILES.map(|name| state.join(name));
            inputs.protect(iter::once(state).chain(&files).map(PathBuf::as_path))?;
            inputs = inputs.with(state.clone());
            refuse_for_state(&settings, arguments.linkage, sources)?;
        }
        let (report, json) = (arguments.report.as_deref(), arguments.json);
        let (destination, output_dir) = (destination.clone(), output_dir.clone());
        let place = OutputPlace::new(destination, output_dir, report, json, &selection, &inputs)?;
        place.check(&selection, arguments.annotate)?;
        Ok(Self { selection, old, place, settings, arguments })
    }

    fn options(&self) -> &CorpusOptions {
        &self.arguments.corpus
    }

    fn quiet(&self) -> bool {
        self.options().analysis.read.quiet
    }

    fn screening(&self) -> Screening {
        self.options().analysis.read.screening
    }
}

fn leave_out_near_duplicates(plan: &DedupPlan) -> Result<ExitCode, Failure> {
    let DedupPlan { selection, old, place, settings, arguments } = plan;
    let Arguments { keep, mode, rule, sources: source_options, corpus: options, .. } = arguments;
    let (mode, threshold) = (*mode, settings.scheme.threshold);
    let output = place.path();
    let mut state = plan.open_state()?;
    let ignored = plan.templates(selection)?;
    let gathering = Gathering {
        keep,
        state: state.as_ref(),
        ignored: ignored.as_deref().unwrap_or_default(),
        needs_words: *rule == RemovalRule::Contained,
        drops_sets: plan.reads_few_sets(),
        ..Gathering::new(settings, options, source_options, output.as_deref())
    };
    let mut gathered = gathering.gather(old.as_ref(), selection)?;
    if gathering.drops_sets {
        gathering.add_dropped(&mut gathered, old.as_ref(), selection, (mode, threshold))?;
    }
    let (of, left_out) = plan.representatives(&mut gathered)?;
    let GatheredCorpus { mut corpus, outcomes, files, repeated, uncompared, sources, .. } =
        gathered;
    let sources = Sources { column: sources.as_ref(), files: &files };
    let mut clusters = Representatives::new(&mut corpus, of);
    if *keep == Keep::None {
        clusters.drop_all();
    }
    if *rule == RemovalRule::Contained {
        clusters.hold_short();
    }
    let counts = SourceCounts::of(&mut clusters, &sources).map_err(|error| disk_failed(&error))?;
    if let Some(refused) = refuse_removing(source_options.max_removed, &counts) {
        return Ok(refused);
    }
    let places = ReportPlaces { files: &files, repeated: &repeated, state: state.as_ref() };
    let report = plan.report(&mut clusters, &places)?;
    let meter = Meter::new(plan.quiet(), "writing", DOCUMENTS, outcomes.len() as u64);
    let mut writer = KeptWriter::new(place.clone(), selection, arguments.annotate)?;
    let outcomes = numbered(&outcomes, clusters.new_documents().start);
    rewrite(selection, outcomes, &mut clusters, &meter, &mut writer)?;
    drop(meter);
    // A run that is killed after this step can be repeated: the state knows its batch.
    let batch = state.as_mut().map(|state| add_to_state(state, &mut clusters)).transpose()?;
    writer.finish()?;
    report.map_or(Ok(()), Output::finish)?;
    let summary = clusters.summary(&counts);
    let is_near = *rule == RemovalRule::Near;
    let recall = || corpus.expected_recall(mode, threshold);
    let summary = Summary {
        expected_recall: is_near.then(recall).filter(|_| corpus.points_max().is_none()),
        threshold: is_near.then_some(threshold.get()),
        shingles: plan.shingles(),
        shingles_ignored: ignored.map(|ignored| ignored.len()),
        sources: source_options.are_reported().then_some(counts),
        uncompared: uncompared.counts,
        incomplete: corpus.incomplete(&left_out).map_err(|error| disk_failed(&error))?,
        batch,
        ..summary
    };
    match arguments.json {
        true => print_json(&summary)?,
        false => {
            summary.print();
            let is_dropped = plan.screening().drop_empty;
            uncompared.print(uncompared.counts, if is_dropped { "left out" } else { "kept" });
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl DedupPlan {
    /// Whether only the sets of documents with similar sketches are read. A state has the sets of
    /// all documents.
    fn reads_few_sets(&self) -> bool {
        // Records are compared by their fields, but their sets are read to count lost shingles.
        let is_by_sketches = self.arguments.mode != Mode::Exact
            && !matches!(self.settings.scheme.kind, Kind::Prefix | Kind::Fields);
        self.arguments.rule == RemovalRule::Near && is_by_sketches && self.arguments.state.is_none()
    }

    /// The shingles that are ignored because many documents of a source share them.
    fn templates(&self, selection: &Selection) -> Result<Option<Vec<u64>>, Failure> {
        let sources = &self.arguments.sources;
        let Some(over) = sources.ignore_templates else { return Ok(None) };
        let (settings, options) = (&self.settings, self.options());
        if settings.scheme.kind == Kind::Fields {
            return Err(Failure::new("--ignore-templates is for texts, not for records"));
        }
        let templates = SourceTemplates {
            options: &options.analysis.read,
            shingler: &Analyser::new(settings).shingler,
            column: sources.source_column.as_deref(),
            over,
            memory: options.room(None).memory,
        };
        let selections: Vec<&Selection> = self.old.iter().chain([selection]).collect();
        templates.find(&selections).map(Some)
    }

    fn shingles(&self) -> String {
        match self.settings.shingles.unit {
            Unit::Word => format!("runs of {} words", self.settings.shingles.size),
            _ => "shingles".to_owned(),
        }
    }

    /// Writes the report, if there is one, but for its name.
    fn report(
        &self,
        clusters: &mut Representatives<'_>,
        places: &ReportPlaces<'_>,
    ) -> Result<Option<Output>, Failure> {
        let Some(path) = &self.arguments.report else { return Ok(None) };
        let total = clusters.new_documents().len() as u64;
        let meter = Meter::new(self.quiet(), "reporting", DOCUMENTS, total);
        let mut output = Output::create(path, self.arguments.destination.force)?;
        write_removed(&mut output, clusters, places, &meter)?;
        Ok(Some(output))
    }
}

/// Writes documents while the input is read for the second time.
fn rewrite(
    selection: &Selection,
    mut outcomes: impl Iterator<Item = (RecordOutcome, u32)>,
    clusters: &mut Representatives<'_>,
    meter: &Meter,
    writer: &mut KeptWriter,
) -> Result<(), Failure> {
    let mut written = Ok(());
    let read = read_inputs(selection, &AtomicU64::new(0), &mut |event| {
        let Event::Item(item) = &event else { return Ok(()) };
        meter.add(1);
        let outcome = outcomes.next().ok_or_else(changed);
        written = outcome.and_then(|outcome| match outcome {
            (RecordOutcome::Numbered, number) => writer.take(item, number, clusters),
            (RecordOutcome::Copied, _) => writer.copy(item),
            (RecordOutcome::LeftOut, _) => Ok(()),
        });
        if written.is_ok() { Ok(()) } else { Err(Cancelled) }
    });
    written?;
    if read.is_err() || outcomes.next().is_some() {
        return Err(changed());
    }
    Ok(())
}
