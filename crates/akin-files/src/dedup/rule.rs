//! By which rule documents are removed.

use clap::ValueEnum;
use serde::Serialize;

use super::across::across;
use super::contained::contained;
use super::holders::{Links, undecided};
use super::{Arguments, DedupPlan};
use crate::corpus::{GatheredCorpus, Sources, with_progress};
use crate::failure::Failure;
use akin_core::join::LeftOut;
use akin_core::scheme::Kind;
use akin_core::text::Unit;
use akin_model::settings::CollectionSettings;

/// When a document is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum RemovalRule {
    /// Its Jaccard similarity with a document that is kept reaches the threshold
    Near,
    /// A document that is kept is not shorter and has every shingle of it; a text that is short or
    /// repeats itself has to be a run of the other's words
    Contained,
}

impl DedupPlan {
    /// The representative of each document by its number, or
    /// [`LEFT_OUT`](super::holders::LEFT_OUT); and which sets were not compared with all their
    /// candidates.
    ///
    /// # Errors
    /// A temporary file cannot be read.
    pub fn representatives(
        &self,
        GatheredCorpus { corpus, files, sources, .. }: &mut GatheredCorpus,
    ) -> Result<(Vec<u32>, LeftOut), Failure> {
        let Arguments { mode, rule, linkage, sources: options, .. } = &self.arguments;
        let judged = (*mode, self.settings.scheme.threshold);
        let sources = Sources { column: sources.as_ref(), files };
        if *rule == RemovalRule::Contained {
            let links = if options.across { Links::Across(&sources) } else { Links::All };
            let of = contained(corpus, self.settings.shingles.size as usize, links)?;
            return Ok((of, LeftOut::default()));
        }
        if options.across {
            return across(corpus, judged, &sources, self.quiet());
        }
        let (of_sets, left_out) = with_progress(self.quiet(), |progress| {
            corpus.clusters(judged.0, judged.1, *linkage, progress)
        })?;
        let (documents, mut of) = (corpus.documents(), undecided(corpus));
        for set in 0..documents.sets() {
            let representative = documents.of(of_sets[set as usize])[0];
            documents.of(set).iter().for_each(|number| of[*number as usize] = representative);
        }
        Ok((of, left_out))
    }
}

/// `chosen`: which options were chosen that say how near-duplicates are found.
///
/// # Errors
/// The rule cannot be kept with these settings, or the options say nothing for it.
pub fn refuse_rule(
    rule: RemovalRule,
    settings: &CollectionSettings,
    chosen: &[(&str, bool)],
) -> Result<(), Failure> {
    if rule == RemovalRule::Contained
        && let Some((option, _)) = chosen.iter().find(|(_, is_chosen)| *is_chosen)
    {
        return Err(Failure::with_hint(
            format!("{option} is for --rule near"),
            format!("leave out {option}, or take --rule near"),
        ));
    }
    let is_by_words = settings.shingles.unit == Unit::Word && settings.scheme.kind != Kind::Fields;
    match rule == RemovalRule::Near || is_by_words {
        true => Ok(()),
        false => Err(Failure::with_hint(
            "--rule contained compares texts by words",
            "take --unit word, or --rule near",
        )),
    }
}
