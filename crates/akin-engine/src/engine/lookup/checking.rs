//! Checks candidates in blocks and makes the list of matches from them.

use std::cmp::Reverse;

use super::ProbeQuery;
use super::conditions::READ_AT_ONCE;
use super::scoring::{ScoredCandidates, put_first_in_order, put_in_order};
use crate::backend::{CHECKED_AT_ONCE, Candidate, SHINGLES_AT_ONCE_MAX};
use crate::engine::{Engine, EngineError, LimitSettings, Match};

/// Shingles that a lookup compares for candidates that did not match although they should: as many
/// as are in memory at once, a few milliseconds' work. To hide a document, an attacker has to store
/// decoys with more shingles than these.
const DECOY_SHINGLES_MAX: usize = SHINGLES_AT_ONCE_MAX;

/// The list of matches of a query, as far as it is complete.
pub(super) struct Checking {
    /// The matches of all blocks, each block in order up to the query's limit.
    pub scored: Vec<Match>,
    /// Records that come into the list once no unchecked record can have more points.
    pending: Vec<Match>,
    /// Every candidate's set could be read: none was removed in the meantime.
    pub none_gone: bool,
    /// Candidates left unchecked may belong to the matches up to the query's limit.
    pub is_truncated: bool,
    /// Candidates that did not match, although their sketches agree as well as sketches of matches.
    pub decoys: usize,
    /// Shingles that were compared for the decoys.
    decoy_shingles: usize,
    at_once: usize,
    /// Candidates that were taken from the search, including candidates that conditions excluded.
    taken: usize,
    /// Candidates that were scored, without the decoys.
    checked: usize,
    /// Candidates that matched.
    matching: usize,
    checked_max: usize,
    /// Documents for which conditions may still be evaluated.
    to_filter: usize,
}

impl Checking {
    pub fn new(limits: &LimitSettings, query: &ProbeQuery<'_>) -> Self {
        Self {
            scored: Vec::new(),
            pending: Vec::new(),
            none_gone: true,
            is_truncated: false,
            decoys: 0,
            decoy_shingles: 0,
            at_once: if query.conditions.is_some() { READ_AT_ONCE } else { CHECKED_AT_ONCE },
            taken: 0,
            checked: 0,
            matching: 0,
            checked_max: limits.checked_max,
            to_filter: limits.filtered_max,
        }
    }

    /// Whether the list is longer than the limit of the query or has its end.
    pub fn is_over(&self, query: &ProbeQuery<'_>) -> bool {
        self.scored.len() > query.limit || self.has_end()
    }

    /// The list ends once `checked_max` candidates were checked and most of them did not match,
    /// once the decoys have taken their share of work, or once `filtered_max` documents were
    /// filtered. That is the same place for any limit.
    fn has_end(&self) -> bool {
        let is_end_of_decoys =
            self.decoys >= self.checked_max && self.decoy_shingles >= DECOY_SHINGLES_MAX;
        self.checked >= self.checked_max && self.is_in_vain()
            || is_end_of_decoys
            || self.to_filter == 0
    }

    /// Whether most candidates that did not match are decoys: documents that were made to agree.
    pub fn is_deceived(&self) -> bool {
        self.decoys + self.matching > self.checked
    }

    /// Whether most checked candidates did not match, or none agreed enough to be checked.
    pub fn is_in_vain(&self) -> bool {
        2 * self.matching < self.checked.max(1)
    }

    /// How many candidates of a block are scored together.
    fn part_size(&self) -> usize {
        match self.checked_max.saturating_sub(self.checked) {
            0 => self.at_once,
            left => left.min(self.at_once),
        }
    }

    fn add(&mut self, part: &Part, checked: ScoredCandidates, block: &mut Vec<Match>) {
        let missed = part.candidates - checked.matching;
        if part.should_match && missed > 0 {
            self.decoys += missed;
            self.decoy_shingles += part.shingles;
        }
        self.checked += if part.should_match { checked.matching } else { part.candidates };
        self.matching += checked.matching;
        self.none_gone &= checked.none_gone;
        block.extend(checked.scored);
    }

    /// `points_left`: no record that is left unchecked has more points.
    fn append(&mut self, block: Vec<Match>, query: &ProbeQuery<'_>, points_left: u32) {
        self.pending.extend(block);
        // A match beyond the limit shows that there are more.
        let wanted = (query.limit + 1).saturating_sub(self.scored.len()).min(self.pending.len());
        put_first_in_order(&mut self.pending, wanted);
        let is_certain =
            |scored: &Match| scored.similarity.points().is_none_or(|own| own >= points_left);
        let certain = self.pending[..wanted].partition_point(is_certain);
        self.scored.extend(self.pending.drain(..certain));
    }

    /// At the end of the list.
    pub fn append_rest(&mut self) {
        put_in_order(&mut self.pending);
        self.scored.append(&mut self.pending);
    }
}

/// Candidates that are scored together.
struct Part {
    candidates: usize,
    /// The shingles of these sets and, for each of them, of the probe's set.
    shingles: usize,
    /// The sketches agree so well that the sets reach the threshold, by their 95 % intervals.
    should_match: bool,
}

/// Keeps and counts the members for which conditions may still be evaluated. Returns whether some
/// were cut.
pub(super) fn cut_members(candidates: &mut Vec<Candidate>, room: &mut usize) -> bool {
    let mut is_truncated = false;
    candidates.retain_mut(|candidate| {
        is_truncated |= candidate.members.len() > *room;
        candidate.members.truncate(*room);
        *room -= candidate.members.len();
        !candidate.members.is_empty()
    });
    is_truncated
}

impl Engine {
    /// Checks the candidates of a search block by block, best agreement of sketches first, until
    /// [`Checking::is_over`]. `left_out`: no candidate that was compared but not found agrees
    /// better.
    pub(super) async fn check_blocks(
        &self,
        query: &ProbeQuery<'_>,
        mut candidates: Vec<Candidate>,
        left_out: u32,
        checking: &mut Checking,
    ) -> Result<(), EngineError> {
        candidates
            .sort_unstable_by_key(|candidate| (Reverse(candidate.agreeing), candidate.fingerprint));
        let mut rest = candidates.into_iter();
        while !checking.is_over(query) && rest.len() > 0 {
            // As many candidates as all blocks before, so that a long list has few blocks.
            let mut left = checking.taken.max(checking.at_once);
            let mut block = Vec::new();
            while left > 0 && rest.len() > 0 && !checking.has_end() {
                let likely = rest.as_slice().partition_point(|next| self.should_match(query, next));
                let part_size = left.min(checking.part_size());
                let part_size = if likely > 0 { part_size.min(likely) } else { part_size };
                let mut part: Vec<Candidate> = rest.by_ref().take(part_size).collect();
                left -= part.len();
                checking.taken += part.len();
                if let Some(conditions) = query.conditions {
                    checking.is_truncated |= cut_members(&mut part, &mut checking.to_filter);
                    part = self.members_matching(conditions, part).await?;
                }
                let shingles = |set: &Candidate| set.shingles as usize + query.set().count();
                let scored = Part {
                    candidates: part.len(),
                    shingles: part.iter().map(shingles).sum(),
                    should_match: likely > 0,
                };
                checking.add(&scored, self.score(query, part).await?, &mut block);
            }
            let next = rest.as_slice().first().map_or(0, |next| next.agreeing);
            checking.append(block, query, next.max(left_out));
        }
        if let Some(best) = rest.next() {
            let is_unfiltered = checking.to_filter == 0;
            let scored = &checking.scored;
            checking.is_truncated |=
                is_unfiltered || self.may_be_missed(query, scored, best.agreeing);
        }
        Ok(())
    }

    /// Whether the lower bound of the candidate's estimate reaches the threshold. Of records it is
    /// not known.
    fn should_match(&self, query: &ProbeQuery<'_>, candidate: &Candidate) -> bool {
        let low = || self.analyser.estimator.estimate(candidate.agreeing).interval.0;
        query.record.is_none() && low() >= query.threshold.get()
    }

    /// Whether an unchecked candidate that agrees in so many slots, or in fewer, may belong to the
    /// matches up to the limit: the upper bound of its estimate reaches the lowest of these
    /// matches, or the threshold if the list is shorter than the limit. For records, the upper
    /// bound of its points does so, where equal points change nothing.
    pub(super) fn may_be_missed(
        &self,
        query: &ProbeQuery<'_>,
        scored: &[Match],
        agreeing: u32,
    ) -> bool {
        let goes_on = scored.len() > query.limit;
        let reported = scored[..query.limit.min(scored.len())].iter().filter(|_| goes_on);
        if let Some(record) = &query.record {
            let lowest = reported.filter_map(|scored| scored.similarity.points()).min();
            return lowest.map_or(agreeing >= record.points_min, |lowest| agreeing > lowest);
        }
        let lowest = reported.map(Match::resemblance).min_by(f64::total_cmp);
        let lowest = lowest.unwrap_or(query.threshold.get());
        self.analyser.estimator.estimate(agreeing).interval.1 >= lowest
    }
}
