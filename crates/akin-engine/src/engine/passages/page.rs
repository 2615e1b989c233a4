//! A page of the matches of a search for passages, with the places of their passages.

use std::sync::Arc;

use akin_core::passages::PassageSettings;
use akin_core::text::CharOffsets;
use akin_model::passages::{
    Chance, Guarantee, PassageAnswer, PassageMatch, PassagePlace, PassageProbe, PassageShares,
    SharedPassage,
};

use super::ProbeText;
use super::query::{PassageQuery, share};
use crate::backend::{FoundPassages, LocatedPassages, PassageSearch, SharedPassages, Version};
use crate::background::request::{self, reserve};
use crate::engine::lookup::PageRange;
use crate::engine::{Engine, EngineError, compute_if};

/// Bytes reserved for a match and for each of its passages, in memory and as JSON.
const MATCH_BYTES: usize = 1_024;
const PASSAGE_BYTES: usize = 512;

/// Matches that were selected and located.
pub(super) struct PassagePage {
    matches: Vec<PassageMatch>,
    more: bool,
    truncated: bool,
}

impl PassagePage {
    /// The memory of the matches and of their JSON.
    pub fn bytes(&self) -> usize {
        let passages: usize = self.matches.iter().map(|found| found.passages.len()).sum();
        self.matches.len() * MATCH_BYTES + passages * PASSAGE_BYTES
    }

    pub fn answer(
        self,
        settings: PassageSettings,
        words_min: usize,
        words: usize,
    ) -> PassageAnswer {
        PassageAnswer {
            matches: self.matches,
            probe: PassageProbe { words },
            guarantee: Guarantee::new(settings, words_min),
            chances: Chance::of(settings, words_min),
            more: self.more,
            truncated: self.truncated,
        }
    }
}

impl Engine {
    /// `None` if a document of the page was replaced or removed before its text was read;
    /// `is_last`: documents without passages are left out.
    pub(super) async fn passage_page(
        &self,
        search: &dyn PassageSearch,
        probe: &ProbeText,
        found: FoundPassages,
        query: &PassageQuery,
        is_last: bool,
    ) -> Result<Option<PassagePage>, EngineError> {
        let range = PageRange { offset: query.offset, limit: query.limit };
        let FoundPassages { matches: mut selected, mut truncated } = found;
        selected.retain(|shared| {
            share(query.of, &shared.comparison).containment() >= query.containment_min
        });
        let more = selected.len() > range.end();
        selected.truncate(range.end());
        selected.drain(..range.offset.min(selected.len()));
        let passages: usize = selected.iter().map(|it| it.comparison.passages.len()).sum();
        reserve(selected.len() * MATCH_BYTES + passages * PASSAGE_BYTES)?;
        let located = request::apart(search.locate_passages(selected.clone())).await?;
        if located.iter().any(Option::is_none) {
            if !is_last {
                return Ok(None);
            }
            truncated = true;
        }
        let mut matches = located_matches(probe, selected, located).await?;
        if query.metadata {
            self.add_metadata(&mut matches).await?;
        }
        let matches = matches.into_iter().map(|(_, found)| found).collect();
        Ok(Some(PassagePage { matches, more, truncated }))
    }

    async fn add_metadata(
        &self,
        matches: &mut [(Version, PassageMatch)],
    ) -> Result<(), EngineError> {
        for block in matches.chunks_mut(self.metadata_at_once()) {
            let versions: Vec<Version> = block.iter().map(|(version, _)| version.clone()).collect();
            let read = self.metadata_of(&versions).await?;
            for ((_, found), metadata) in block.iter_mut().zip(read) {
                found.metadata = metadata;
            }
        }
        Ok(())
    }
}

/// Matches with the places of their passages, without documents that are gone.
async fn located_matches(
    probe: &ProbeText,
    selected: Vec<SharedPassages>,
    located: Vec<LocatedPassages>,
) -> Result<Vec<(Version, PassageMatch)>, EngineError> {
    let (text, words) = (Arc::clone(&probe.text), Arc::clone(&probe.words));
    let is_long = text.len() > crate::engine::CONTENT_INLINE_BYTES_MAX;
    compute_if(is_long, move || {
        let chars = CharOffsets::new(&text);
        let place = |range: &std::ops::Range<usize>| {
            let places = chars.range(words.bytes(range.clone()));
            PassagePlace { start: places.start, end: places.end, words: range.len() }
        };
        let found = |(shared, spans): (SharedPassages, LocatedPassages)| {
            let comparison = &shared.comparison;
            let both = comparison.passages.iter().zip(spans?);
            let passage = |(passage, span): (&akin_core::passages::Passage, _)| SharedPassage {
                probe: place(&passage.probe),
                r#match: PassagePlace::from(&span),
                words_equal: passage.equal,
            };
            let found = PassageMatch {
                id: shared.member.id.clone(),
                words_shared: comparison.of_probe.shared,
                longest: comparison.longest,
                containment: PassageShares::from(&**comparison),
                passages: both.map(passage).collect(),
                metadata: None,
            };
            Some((shared.member.version(), found))
        };
        selected.into_iter().zip(located).filter_map(found).collect()
    })
    .await
}
