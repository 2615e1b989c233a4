//! `akin decontaminate`: finds the parts of training texts that are in an evaluation set, and
//! writes the training texts without these parts.

mod evaluation;
mod options;
mod phrases;
mod report;
mod training;
mod writing;

use std::num::NonZeroUsize;
use std::process::ExitCode;

use self::evaluation::Evaluation;
pub use self::options::Arguments;
use self::options::{ContaminationAction, DecontaminationPlan};
use self::phrases::IgnoredPhrases;
use self::report::{ContaminationReport, ContaminationSummary};
use self::training::{Rule, Scanner};
use self::writing::Pass;
use super::corpus::{TextCutter, read, work_in_order};
use super::failure::Failure;
use super::input::Item;
use super::output::print_json;
use akin_core::passages::contamination::{DocumentCounts, EvaluationSet, FrequentGrams};
use akin_core::scheme::Threshold;

/// # Errors
/// An option is invalid, or a file cannot be read or written.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let mut plan = DecontaminationPlan::new(arguments)?;
    if plan.options.frequent.is_some() {
        plan.training.copy_pipes(&std::env::temp_dir())?;
    }
    let options = &plan.options;
    let evaluation = Evaluation::read(&plan)?;
    let (writer, report) = plan.outputs()?;
    let screening = options.texts.read.screening;
    let cutter = options.texts.cutter(screening.min_words);
    let ignored = options.ignore.as_deref().map(|path| IgnoredPhrases::read(path, &cutter));
    let ignored = ignored.transpose()?.unwrap_or_default();
    let frequent = |max| frequent(&plan, (&cutter, &ignored), &evaluation.set, max);
    let frequent = options.frequent.map(frequent).transpose()?;
    let counts = DocumentCounts::new(&evaluation.set);
    let scanner = Scanner {
        cutter: &cutter,
        set: &evaluation.set,
        counts: &counts,
        words: plan.words,
        frequent: frequent.as_ref(),
        ignored: &ignored,
        rule: Rule {
            share: options.threshold.map(Threshold::get),
            longest: options.longest.map(NonZeroUsize::get),
            cuts: options.action == ContaminationAction::Cut,
        },
    };
    let meter = options.texts.read.meter("scanning", [&plan.training]);
    let mut pass = Pass::new(&plan, &meter, writer, ContaminationReport::new(&evaluation, report));
    work_in_order(
        read(&plan.training),
        options.texts.read.threads(),
        &meter,
        |item| scanner.scan(item),
        |event, scanned| pass.take(event, scanned),
    )?;
    let (found, uncompared) = pass.finish(&counts.seen(frequent.as_ref()))?;
    drop(meter);
    let grams_ignored = frequent.as_ref().map(FrequentGrams::count);
    let summary =
        ContaminationSummary::new(&plan, &evaluation, found, uncompared.counts, grams_ignored);
    match options.json {
        true => print_json(&summary)?,
        false => {
            summary.print();
            let is_dropped = screening.drop_empty;
            uncompared.print(uncompared.counts, if is_dropped { "left out" } else { "kept" });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The grams that more than `max` of the training texts have outside of ignored phrases.
fn frequent(
    plan: &DecontaminationPlan,
    (cutter, ignored): (&TextCutter, &IgnoredPhrases),
    set: &EvaluationSet,
    max: u32,
) -> Result<FrequentGrams, Failure> {
    let reading = &plan.options.texts.read;
    let meter = reading.meter("counting", [&plan.training]);
    let counts = DocumentCounts::new(set);
    let count = |item: &Item| {
        // The second pass reports unreadable records.
        if let Ok(text) = cutter.cut(item) {
            let words = text.words.hashes();
            counts.add(words, &ignored.outside(words));
        }
    };
    let (read, threads) = (read(&plan.training), reading.threads());
    work_in_order(read, threads, &meter, count, |_, _| Ok::<(), Failure>(()))?;
    Ok(counts.frequent(max))
}
