//! The report and the summary.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use indicatif::HumanCount;
use serde::Serialize;

use super::evaluation::{Evaluation, EvaluationDocument};
use super::options::{ContaminationAction, DecontaminationPlan};
use super::training::Contaminated;
use crate::corpus::UncomparedCounts;
use crate::dedup::{ReportedDocument, ReportedSpan};
use crate::failure::Failure;
use crate::output::{Output, write_json};
use akin_core::passages::contamination::{Contamination, GramShare};

/// Evaluation documents in the summary.
const MOST_SEEN_MAX: usize = 10;

/// Writes a line of JSON for each contaminated document, and for each evaluation document that was
/// seen.
pub struct ContaminationReport<'r> {
    evaluation: &'r Evaluation,
    output: Option<Output>,
}

/// A contaminated document in the report.
#[derive(Serialize)]
struct TrainingLine<'l> {
    id: &'l str,
    /// The share of its words that are in the evaluation set.
    share: f64,
    words: usize,
    words_covered: usize,
    /// The words of the longest span.
    longest: usize,
    spans: Vec<ReportedSpan>,
    evaluation: Vec<ReportedDocument<'l>>,
    /// Further evaluation documents share words with it.
    more_evaluation: bool,
}

/// An evaluation document, of which the training documents have a part.
#[derive(Clone, Serialize)]
pub struct SeenDocument {
    evaluation_id: String,
    file: String,
    /// The share of its grams that are in the training documents.
    share: f64,
    grams: usize,
    grams_seen: usize,
}

impl<'r> ContaminationReport<'r> {
    pub fn new(evaluation: &'r Evaluation, output: Option<Output>) -> Self {
        Self { evaluation, output }
    }

    /// # Errors
    /// The file cannot be written.
    pub fn training(&mut self, contaminated: &Contaminated) -> Result<(), Failure> {
        let Some(output) = &mut self.output else { return Ok(()) };
        let Contaminated { id, found, chars, .. } = contaminated;
        let spans = found.spans.iter().zip(chars);
        let spans = spans.map(|(words, chars)| ReportedSpan::new(chars, words.len()));
        let named = |number: &u32| {
            let EvaluationDocument { id, file } = &self.evaluation.documents[*number as usize];
            ReportedDocument { id: id.as_str(), file }
        };
        let line = TrainingLine {
            id: id.as_str(),
            share: found.share(),
            words: found.words,
            words_covered: found.covered,
            longest: found.longest,
            spans: spans.collect(),
            evaluation: found.texts.iter().map(named).collect(),
            more_evaluation: found.has_more_texts,
        };
        write_json(output, &line)
    }

    /// Adds the evaluation documents, and finishes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, shares: &[GramShare]) -> Result<SeenCounts, Failure> {
        let mut counts = SeenCounts::default();
        let mut most = BinaryHeap::with_capacity(MOST_SEEN_MAX + 1);
        for (number, share) in shares.iter().enumerate().filter(|(_, share)| share.seen > 0) {
            counts.seen += 1;
            let line = self.seen(number, share);
            if let Some(output) = &mut self.output {
                write_json(output, &line)?;
            }
            let millionths = share.seen as u64 * 1_000_000 / share.grams as u64;
            most.push(Reverse((millionths, share.seen, Reverse(number))));
            if most.len() > MOST_SEEN_MAX {
                most.pop();
            }
        }
        let most = most.into_sorted_vec().into_iter();
        let most = most.map(|Reverse((.., Reverse(number)))| self.seen(number, &shares[number]));
        counts.most_seen = most.collect();
        self.output.map_or(Ok(()), Output::finish)?;
        Ok(counts)
    }

    fn seen(&self, number: usize, share: &GramShare) -> SeenDocument {
        let EvaluationDocument { id, file } = &self.evaluation.documents[number];
        SeenDocument {
            evaluation_id: id.as_str().to_owned(),
            file: file.to_string(),
            share: share.seen as f64 / share.grams as f64,
            grams: share.grams,
            grams_seen: share.seen,
        }
    }
}

/// How many evaluation documents were seen.
#[derive(Default, Serialize)]
pub struct SeenCounts {
    seen: usize,
    /// The highest shares first.
    most_seen: Vec<SeenDocument>,
}

/// The counts of a pass over the training documents.
#[derive(Default, Serialize)]
pub struct ContaminationCounts {
    pub documents: u64,
    pub contaminated: u64,
    /// Documents that were written, also without a part of their text.
    pub written: u64,
    pub words: u64,
    /// Words of contaminated documents that are in the evaluation set.
    pub words_covered: u64,
    #[serde(skip)]
    pub seen: SeenCounts,
}

impl ContaminationCounts {
    /// Counts a contaminated document.
    pub fn add(&mut self, found: &Contamination) {
        self.documents += 1;
        self.contaminated += 1;
        self.words += found.words as u64;
        self.words_covered += found.covered as u64;
    }
}

/// The summary of the command.
#[derive(Serialize)]
pub struct ContaminationSummary {
    action: ContaminationAction,
    #[serde(flatten)]
    found: ContaminationCounts,
    #[serde(flatten)]
    uncompared: UncomparedCounts,
    evaluation: EvaluationSummary,
}

#[derive(Serialize)]
struct EvaluationSummary {
    documents: usize,
    /// Documents with fewer words than a gram, which are not compared.
    too_short: usize,
    /// The words of a gram.
    gram_words: usize,
    grams: usize,
    /// Grams that are ignored because more training documents than `--frequent` have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    grams_ignored: Option<usize>,
    #[serde(skip)]
    frequent: Option<u32>,
    #[serde(flatten)]
    seen: SeenCounts,
}

impl ContaminationSummary {
    pub fn new(
        plan: &DecontaminationPlan,
        evaluation: &Evaluation,
        mut found: ContaminationCounts,
        uncompared: UncomparedCounts,
        grams_ignored: Option<usize>,
    ) -> Self {
        let size = evaluation.set.size();
        let evaluation = EvaluationSummary {
            documents: size.texts,
            too_short: size.too_short,
            gram_words: plan.words,
            grams: size.grams,
            grams_ignored,
            frequent: plan.options.frequent,
            seen: std::mem::take(&mut found.seen),
        };
        Self { action: plan.options.action, found, uncompared, evaluation }
    }

    /// Prints the summary on stderr.
    pub fn print(&self) {
        let count = |count: u64| HumanCount(count).to_string();
        let ContaminationCounts { documents, contaminated, written, words, words_covered, .. } =
            self.found;
        let written = match self.action {
            ContaminationAction::Report => String::new(),
            _ => format!("; written: {}", count(written)),
        };
        eprintln!(
            "documents: {}; contaminated: {}{written}",
            count(documents),
            count(contaminated)
        );
        let (words, covered) = (count(words), count(words_covered));
        eprintln!("words: {words}; in the evaluation set: {covered}");
        let EvaluationSummary { documents, too_short, gram_words, seen, .. } = &self.evaluation;
        let (documents, seen_count) = (count(*documents as u64), count(seen.seen as u64));
        eprintln!(
            "evaluation documents: {documents}; seen in the training documents: {seen_count}"
        );
        for SeenDocument { evaluation_id, file, share, .. } in &seen.most_seen {
            eprintln!("  {:.1} % of {evaluation_id} ({file})", share * 100.0);
        }
        if *too_short > 0 {
            let too_short = count(*too_short as u64);
            eprintln!(
                "evaluation documents with fewer than {gram_words} words, compared as a whole: \
                 {too_short}"
            );
        }
        if let (Some(ignored), Some(max)) =
            (self.evaluation.grams_ignored, self.evaluation.frequent)
        {
            let (ignored, max) = (count(ignored as u64), count(u64::from(max)));
            eprintln!("runs of words ignored, which more than {max} documents have: {ignored}");
        }
    }
}
