//! From documents to rows of sketches.

use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use clap::Args;
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::json;

use super::columns::{Layout, SketchesWriter};
use crate::corpus::{NotCompared, Uncompared, UncomparedCounts, analysed, work_in_order};
use crate::failure::Failure;
use crate::input::{self, Cancelled, Emit, Event, Item, Screening, WordCounter};
use crate::meter::{Meter, Quantity};
use crate::output::{self, Destination};
use akin_core::scheme::{ProbePlan, Threshold};
use akin_model::analysis::Analyser;
use akin_model::settings::CollectionSettings;

/// Options of the written sketches.
#[derive(Args)]
pub struct SketchOptions {
    /// Jaccard similarity from which documents are near-duplicates: it decides how many bands are
    /// written [default: that of the settings]
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    pub threshold: Option<Threshold>,
    /// Also write the sets, so that candidates can be verified exactly: 8 bytes for each shingle
    #[arg(long)]
    sets: bool,
}

impl SketchOptions {
    pub fn is_given(&self) -> bool {
        self.sets || self.threshold.is_some()
    }
}

/// How documents are read.
pub struct SketchSource {
    /// 0 if it is not known.
    pub bytes: u64,
    pub threads: usize,
    pub quiet: bool,
    /// Whether the summary is JSON.
    pub json: bool,
    /// Whether an unreadable record is an error, and not only reported.
    pub must_be_whole: bool,
    pub screening: Screening,
}

/// The summary.
#[derive(Serialize)]
struct SketchCounts {
    documents: u64,
    #[serde(flatten)]
    uncompared: UncomparedCounts,
}

/// # Errors
/// The settings have no bands; the output cannot be written; a part of a source that must be whole
/// cannot be read.
pub fn write(
    read: impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send,
    source: &SketchSource,
    (settings, options): (&CollectionSettings, &SketchOptions),
    destination: &Destination,
) -> Result<ExitCode, Failure> {
    destination.check_binary()?;
    let analyser = Analyser::new(settings);
    let threshold = settings.scheme.threshold;
    let plan = analyser.band_plan(threshold).ok_or_else(no_bands)?;
    let layout = Layout {
        slot_bits: settings.sketch.bits,
        has_sets: options.sets,
        description: description(settings, &plan),
    };
    let mut rows = SketchesWriter::new(destination.create()?, layout)?;
    let mut documents = 0;
    let meter = Meter::new(source.quiet, "sketching", Quantity::Bytes, source.bytes);
    let words = WordCounter::new(source.screening.min_words);
    let mut uncompared = Uncompared::default();
    let sketch = |item: &Item| {
        let (record, analysis) = analysed(item, &analyser, &words)?;
        Ok((record.id, analysis.ok_or(NotCompared::Empty)?))
    };
    work_in_order(read, source.threads, &meter, sketch, |event, sketched| {
        match (event, sketched) {
            (_, Some(Ok((id, analysis)))) => {
                documents += 1;
                rows.push(&id, &analysis, analyser.band_keys(&analysis, &plan))
            }
            (Event::Item(Item { origin, .. }), Some(Err(NotCompared::Invalid(reason))))
            | (Event::Failed { origin, reason }, _)
                if source.must_be_whole =>
            {
                let what = format!("{origin}: {reason}");
                Err(Failure::with_hint(what, "the server's log may say why"))
            }
            (event, sketched) => {
                uncompared.take(event, sketched.and_then(Result::err), &meter);
                Ok(())
            }
        }
    })?;
    uncompared.check(source.screening, &meter)?;
    rows.finish()?;
    drop(meter);
    match source.json {
        true => output::print_json(&SketchCounts { documents, uncompared: uncompared.counts })?,
        false => report(documents, &uncompared, threshold, (settings.sketch.slots, &plan)),
    }
    Ok(ExitCode::SUCCESS)
}

fn no_bands() -> Failure {
    Failure::with_hint(
        "keys of this kind are not made of sketches: there are no bands to join by",
        "use settings with scheme.kind bands or random_rows",
    )
}

/// The metadata that a join of the rows needs, as JSON.
fn description(settings: &CollectionSettings, plan: &ProbePlan) -> String {
    let mut settings = settings.clone();
    // Where there is none, this is the seed that sketches are made with.
    settings.sketch.seed = settings.sketch.seed.or(Some(0));
    json!({
        "threshold": settings.scheme.threshold,
        "bands": plan.bands,
        "slots": settings.sketch.slots,
        "bits": settings.sketch.bits,
        "agreeing_min": plan.agreeing_min,
        "expected_recall": plan.expected_recall,
        "expected_recall_estimated": plan.expected_recall_estimated,
        "settings": settings,
    })
    .to_string()
}

fn report(
    documents: u64,
    uncompared: &Uncompared,
    threshold: Threshold,
    (slots, plan): (u32, &ProbePlan),
) {
    eprintln!("documents sketched: {}", HumanCount(documents));
    uncompared.print(uncompared.counts, "left out");
    eprintln!(
        "a pair with a Jaccard similarity of {} shares the key of one of {} bands and agrees in at \
         least {} of {slots} slots with a chance of {:.1} %",
        threshold.get(),
        plan.bands,
        plan.agreeing_min,
        plan.expected_recall * 100.0
    );
}
