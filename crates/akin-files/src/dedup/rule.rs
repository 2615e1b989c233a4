//! By which rule documents are removed.

use clap::ValueEnum;

use super::DedupPlan;
use super::across::across;
use super::contained::{TextsAgain, contained};
use crate::corpus::{GatheredCorpus, Keep, SourceOptions, Sources, TextCutter, with_progress};
use crate::failure::Failure;
use crate::input::Selection;
use crate::meter::{Meter, Quantity};
use akin_core::join::LeftOut;
use akin_core::scheme::Kind;
use akin_core::text::Unit;
use akin_model::settings::CollectionSettings;

/// When a document is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RemovalRule {
    /// Its Jaccard similarity with a document that is kept reaches the threshold
    Near,
    /// A document that is kept is not shorter and has every shingle of it; a text that is short or
    /// repeats itself has to be a run of the other's words
    Contained,
}

/// The representatives, by sets or by documents.
pub enum ByRule {
    Sets(Vec<u32>),
    Documents(Vec<u32>),
}

impl DedupPlan {
    /// # Errors
    /// A file cannot be read.
    pub fn representatives(
        &self,
        gathered: &mut GatheredCorpus,
        selection: &Selection,
    ) -> Result<(ByRule, LeftOut), Failure> {
        let (analysis, judged) =
            (&self.options.analysis, (self.mode, self.settings.scheme.threshold));
        let GatheredCorpus { corpus, outcomes, files, old_outcomes, sources, lengths, .. } =
            gathered;
        if self.rule == RemovalRule::Contained {
            let old = self.old.as_ref().map(|old| (old, old_outcomes.as_slice()));
            let selections: Vec<_> =
                old.into_iter().chain([(selection, outcomes.as_slice())]).collect();
            let meter = Meter::new(analysis.quiet, "reading again", Quantity::Bytes, 0);
            let texts = TextsAgain {
                selections: &selections,
                cutter: &TextCutter::new(self.settings.shingles.clone(), 0),
                threads: analysis.threads(),
                meter: &meter,
            };
            let of = contained(corpus, lengths, &texts)?;
            return Ok((ByRule::Documents(of), LeftOut::default()));
        }
        if self.sources.across {
            let sources = Sources { column: sources.as_ref(), files };
            let (of, left_out) = across(corpus, judged, &sources, analysis.quiet)?;
            return Ok((ByRule::Documents(of), left_out));
        }
        let (of, left_out) = with_progress(analysis.quiet, |progress| {
            corpus.clusters(judged.0, judged.1, self.linkage, progress)
        })?;
        Ok((ByRule::Sets(of), left_out))
    }
}

/// # Errors
/// The rule cannot be kept with these options.
pub fn refuse_rule(
    sources: &SourceOptions,
    rule: RemovalRule,
    keep: &Keep,
    settings: &CollectionSettings,
) -> Result<(), Failure> {
    if rule == RemovalRule::Near {
        return Ok(());
    }
    if settings.shingles.unit != Unit::Word || settings.scheme.kind == Kind::Fields {
        return Err(Failure::new("--rule contained compares texts by words: the unit is word"));
    }
    if *keep == Keep::None || sources.across {
        return Err(Failure::with_hint(
            "--rule contained keeps the document that holds the other, of whatever source: --keep \
             none would lose what it holds, and --across would keep what it holds",
            "--keep none and --across are for --rule near",
        ));
    }
    Ok(())
}
