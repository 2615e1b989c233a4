//! Finds and scores near-duplicates of a set: shared by lookups and by adding documents.

pub(crate) mod charging;
mod checking;
pub(crate) mod collapse;
pub(crate) mod conditions;
mod containment;
mod details;
mod exact;
pub(crate) mod filter;
mod keyed;
mod nearest;
pub(crate) mod records;
mod scoring;
mod similar;

pub(crate) use scoring::{overlaps, put_in_order};

use std::collections::HashSet;

use crate::backend::Candidates;
use crate::background::request::{charge, reserve};
use crate::document::DocumentId;
use crate::engine::lookup::records::RecordQuery;
use crate::engine::{
    Analysis, Answer, Conditions, Engine, EngineError, FoundBy, Lookup, Match, Mode, Reach,
    Searched,
};
use akin_core::scheme::{Key, Threshold};
use akin_core::sketch::Sketch;
use akin_core::text::ShingleSet;

/// Comparisons of more shingles (about a millisecond's work) run off the runtime's thread.
pub(crate) const SHINGLES_INLINE_MAX: usize = 500_000;

/// Bytes reserved for a match and its JSON, without metadata.
const MATCH_BYTES: usize = 1_024;

/// A lookup to be executed.
#[derive(Clone)]
pub(crate) struct ProbeQuery<'a> {
    pub analysis: &'a Analysis,
    /// All keys of the sketch, in the order of their tables, if they were computed before.
    pub keys: Option<&'a [Key]>,
    /// The probe's own id, which is left out of the matches.
    pub own_id: Option<&'a DocumentId>,
    pub threshold: Threshold,
    pub mode: Mode,
    /// Matches reported, at most.
    pub limit: usize,
    /// Conditions on reported documents; `None` if every document matches.
    pub conditions: Option<&'a Conditions>,
    /// Records are scored by this instead of set, sketch and threshold.
    pub record: Option<RecordQuery>,
    /// Documents listed per distinct set, at most.
    pub members_max: usize,
}

impl<'a> ProbeQuery<'a> {
    /// A lookup of all documents that share anything with the probe, without conditions.
    pub fn of(analysis: &'a Analysis, mode: Mode, members_max: usize) -> Self {
        Self {
            analysis,
            keys: None,
            own_id: None,
            threshold: Threshold::LEAST,
            mode,
            limit: members_max,
            conditions: None,
            record: None,
            members_max,
        }
    }

    pub fn set(&self) -> &'a ShingleSet {
        &self.analysis.set
    }

    pub fn sketch(&self) -> &'a Sketch {
        &self.analysis.sketch
    }
}

/// Which of the best matches are reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRange {
    pub offset: usize,
    pub limit: usize,
}

impl PageRange {
    pub fn first(limit: usize) -> Self {
        Self { offset: 0, limit }
    }

    /// How many of the best matches are needed.
    pub fn end(self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

impl From<&Lookup> for PageRange {
    fn from(lookup: &Lookup) -> Self {
        Self { offset: lookup.offset, limit: lookup.limit }
    }
}

pub(crate) struct FoundMatches {
    /// In the order of the report, up to the query's limit and one further match.
    pub scored: Vec<Match>,
    /// Distinct sets that shared a key, or all sets in a scan.
    pub candidates: usize,
    pub truncated: bool,
    /// The chance that a document at just the threshold is found; by containment there is none.
    pub expected_recall: f64,
    pub by: FoundBy,
}

impl Engine {
    /// Stored documents at or over the threshold, in the order in which they are reported.
    /// `looked_up`: the result of the first search by keys, if it is known.
    pub(crate) async fn find(
        &self,
        query: &ProbeQuery<'_>,
        looked_up: Option<Candidates>,
    ) -> Result<FoundMatches, EngineError> {
        match self.goes_by_keys(query.mode) {
            true => self.find_by_keys(query, looked_up).await,
            false => Box::pin(self.find_exactly(query)).await,
        }
    }

    /// How many documents of a set are found: with conditions as many as are examined, as any of
    /// them may be the only one that meets the conditions.
    fn members_max(&self, conditions: &Conditions) -> usize {
        let limits = &self.settings.limits;
        let examined = if conditions.is_empty() { 0 } else { limits.filtered_max };
        limits.candidates_max.max(examined)
    }

    /// Keeps the matches that meet the conditions, as many as the page needs.
    async fn keep_meeting(
        &self,
        found: &mut FoundMatches,
        page: PageRange,
        conditions: &Conditions,
    ) -> Result<(), EngineError> {
        if conditions.is_empty() {
            return Ok(());
        }
        let scored = std::mem::take(&mut found.scored);
        let (met, is_truncated) = self.filter_matches(scored, page.end() + 1, conditions).await?;
        found.scored = met;
        found.truncated |= is_truncated;
        Ok(())
    }

    /// A page of the matches as an answer.
    fn answer(
        found: FoundMatches,
        page: PageRange,
        (mode, reach): (Mode, Reach),
    ) -> Result<Answer, EngineError> {
        let FoundMatches { scored, candidates, truncated, by: found_by, .. } = found;
        let (matches, more) = Self::page(scored, page)?;
        let searched = Searched { candidates, more, truncated, reach, mode, found_by };
        Ok(Answer { matches, searched })
    }

    /// A page of matches that are in order; and whether there were more.
    pub(crate) fn page(
        mut scored: Vec<Match>,
        page: PageRange,
    ) -> Result<(Vec<Match>, bool), EngineError> {
        // A document that is being replaced may be found in both versions, one of them in flight.
        if has_repeated_ids(&scored) {
            let mut seen = HashSet::new();
            scored.retain(|scored| seen.insert(scored.id.clone()));
        }
        let end = page.end();
        let more = scored.len() > end;
        scored.truncate(end);
        scored.drain(..page.offset.min(scored.len()));
        charge(scored.len())?;
        reserve(scored.len().saturating_mul(MATCH_BYTES))?;
        Ok((scored, more))
    }
}

/// So many matches are compared with each other, which takes less than hashing their ids.
const COMPARED_MAX: usize = 32;

fn has_repeated_ids(scored: &[Match]) -> bool {
    if scored.len() <= COMPARED_MAX {
        let is_repeated =
            |(at, one): (usize, &Match)| scored[..at].iter().any(|it| it.id == one.id);
        return scored.iter().enumerate().any(is_repeated);
    }
    let mut seen = HashSet::with_capacity(scored.len());
    !scored.iter().all(|scored| seen.insert(&scored.id))
}
