//! Lookups of the k most similar documents, however unlike they are.
//!
//! Sets are verified in the order of the agreement of their sketches, until a set as similar as the
//! k-th best so far hardly agrees as little as the next ([`NearestPlan`]). The similarity of the
//! k-th best only rises, so this holds for each of the k best, independently of sets that were
//! verified before:
//!
//! 1. The sets that share a key with the probe are verified. If k of them are so similar that
//!    nearly every set of their similarity shares a key, the lookup ends.
//! 2. Otherwise the sketches of all sets are scanned, and the sets that agree best are verified.
//!
//! Below the floor of the plan, sets are verified only until k documents are found, without a
//! promise. With `mode=estimated` the k best are those with the highest estimates: all sketches are
//! scanned, and no set is read.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::checking::cut_members;
use super::conditions::READ_AT_ONCE;
use super::keyed::ATTEMPTS_MAX;
use super::records::MinimumScore;
use super::scoring::put_in_order;
use super::{FoundMatches, PageRange, ProbeQuery};
use crate::backend::{CHECKED_AT_ONCE, Candidate, SketchScanning, SketchSearch};
use crate::background::request::{another, charge};
use crate::budget::cost;
use crate::engine::{
    Answer, Engine, EngineError, FoundBy, Lookup, Match, Mode, Probe, Reach, unsupported,
};
use akin_core::index::{ScanLimits, Search, SearchLimits};
use akin_core::measure::Overlap;
use akin_core::scheme::{Key, NearestPlan, Threshold};

/// Sets that a lookup verifies, at most; and sets that it looks at for the sake of documents below
/// the floor.
const SETS_CHECKED_MAX: usize = 1_000;

/// Documents of a set that are looked at, if that suffices.
const MEMBERS_USUAL_MAX: usize = 64;

/// Memory of a candidate with its documents.
const CANDIDATE_BYTES: usize = 256;

/// The best documents so far.
struct Nearest<'a> {
    query: ProbeQuery<'a>,
    k: usize,
    plan: &'a NearestPlan,
    /// At most k, in the order of the report.
    best: Vec<Match>,
    /// Fingerprints of the sets that were looked at.
    known: HashSet<u64>,
    /// Sets that were compared.
    checked: usize,
    /// Documents for which conditions may still be evaluated.
    to_filter: usize,
    /// Every set could be read: none was removed in the meantime.
    none_gone: bool,
    /// A set that may belong to the best was not compared.
    is_truncated: bool,
}

impl Engine {
    /// The k documents that are most similar to the probe, without itself.
    pub(super) async fn most_similar(
        &self,
        probe: Probe,
        lookup: &Lookup,
        k: usize,
        plan: &NearestPlan,
    ) -> Result<Answer, EngineError> {
        let scanning = self.backend.sketch_scan();
        let scanning =
            scanning.ok_or(unsupported("lookups of the most similar documents ('k')"))?;
        let mode = self.mode_of_nearest(lookup.mode)?;
        let conditions = &lookup.conditions;
        let none = MinimumScore { threshold: Threshold::LEAST, points: None };
        let (analysis, _) = self.analyse_query(&probe, none).await?;
        let members_max = self.members_max(conditions).max(k + 1);
        let query = ProbeQuery {
            own_id: probe.id(),
            limit: k,
            conditions: (!conditions.is_empty()).then_some(conditions),
            ..ProbeQuery::of(&analysis, mode, members_max)
        };
        let (nearest, by, candidates) = self.find_nearest(scanning, query, k, plan).await?;
        // An estimate is of every document.
        let (floor, expected_recall) = match mode {
            Mode::Estimated => (0.0, 1.0),
            Mode::Verified | Mode::Exact => (plan.floor(), NearestPlan::RECALL),
        };
        let found = FoundMatches {
            truncated: nearest.is_truncated || !nearest.none_gone,
            scored: nearest.best,
            candidates,
            expected_recall,
            by,
        };
        let reach = Reach::Nearest { floor, expected_recall };
        Self::answer(found, PageRange::first(k), (mode, reach))
    }

    /// Signatures have no sets, and no sketch promises that nothing is missed.
    fn mode_of_nearest(&self, mode: Option<Mode>) -> Result<Mode, EngineError> {
        match mode {
            Some(Mode::Exact) => Err(EngineError::UnsupportedMode {
                served: "verified or estimated in a lookup of the k most similar documents",
            }),
            None if !self.analyser.takes_signatures() => Ok(Mode::Verified),
            mode => self.mode_of(mode),
        }
    }

    /// Repeats the lookup if sets are removed before they are read.
    async fn find_nearest<'a>(
        &self,
        scanning: &dyn SketchScanning,
        query: ProbeQuery<'a>,
        k: usize,
        plan: &'a NearestPlan,
    ) -> Result<(Nearest<'a>, FoundBy, usize), EngineError> {
        for attempt in 1.. {
            let mut nearest = Nearest {
                query: query.clone(),
                k,
                plan,
                best: Vec::new(),
                known: HashSet::new(),
                checked: 0,
                to_filter: self.settings.limits.filtered_max,
                none_gone: true,
                is_truncated: false,
            };
            let by_keys = self.nearest_by_keys(&mut nearest).await?;
            let (found_by, seen) = match by_keys {
                Some(seen) => (FoundBy::Keys, seen),
                None => (FoundBy::Scan, self.nearest_by_scan(scanning, &mut nearest).await?),
            };
            if nearest.none_gone || attempt == ATTEMPTS_MAX {
                return Ok((nearest, found_by, seen));
            }
        }
        unreachable!("the last attempt returns");
    }

    /// The number of sets that share a key with the probe, if the best of them are the best of all;
    /// otherwise `None`.
    async fn nearest_by_keys(
        &self,
        nearest: &mut Nearest<'_>,
    ) -> Result<Option<usize>, EngineError> {
        let from = nearest.plan.by_keys_from().filter(|_| !nearest.is_estimated());
        let Some(from) = from.and_then(|from| Threshold::new(from).ok()) else { return Ok(None) };
        let query = &nearest.query;
        let keys: Vec<Key> = self.analyser.scheme.all_keys(query.sketch().as_bytes()).collect();
        let limits = SearchLimits {
            postings_max: self.settings.limits.candidates_max.max(SETS_CHECKED_MAX),
            compared_max: usize::MAX,
            found_max: SETS_CHECKED_MAX,
            members_max: query.members_max,
        };
        let agreeing_min = nearest.plan.agreeing_min(from.get());
        let search = Search::new(
            &keys,
            query.sketch(),
            query.analysis.fingerprint,
            from,
            agreeing_min,
            limits,
        );
        let found = self.backend.candidates(std::slice::from_ref(&search)).await?.pop();
        let found = found.expect("a search has a result");
        charge(1 + found.seen / cost::SKETCHES)?;
        // In a crowd the search looks at a part of the sets, for which there is no promise.
        if found.truncated || found.in_crowd {
            return Ok(None);
        }
        self.check_nearest(nearest, found.found).await?;
        let are_all = !nearest.is_truncated && nearest.is_full();
        Ok((are_all && nearest.lowest() >= from.get()).then_some(found.seen))
    }

    /// Scans the sketches, and checks the sets that agree best. Returns the number of sketches.
    async fn nearest_by_scan(
        &self,
        scanning: &dyn SketchScanning,
        nearest: &mut Nearest<'_>,
    ) -> Result<usize, EngineError> {
        let sets = scanning.distinct_sets();
        charge(1 + sets / cost::SKETCHES_SCANNED)?;
        let limits = nearest.scan_limits(self.settings.limits.filtered_max);
        let _held = another(limits.near_max.min(sets).saturating_mul(CANDIDATE_BYTES))?;
        let search = nearest.sketch_search(limits);
        let each_max = search.each_max;
        let candidates = scanning.scan_sketches(search).await?;
        let has_more = |set: &&Candidate| set.members.len() >= each_max;
        let cut = candidates.found.iter().filter(has_more).map(|set| set.agreeing).max();
        let left_out = candidates.left_out.max(cut.filter(|_| nearest.is_filtered()).unwrap_or(0));
        self.check_nearest(nearest, candidates.found).await?;
        let may_belong = left_out > 0 && left_out >= nearest.agreeing_min();
        nearest.is_truncated |= may_belong || candidates.truncated;
        Ok(candidates.seen)
    }

    /// Compares the candidates that may belong to the best, best agreement of sketches first.
    async fn check_nearest(
        &self,
        nearest: &mut Nearest<'_>,
        mut candidates: Vec<Candidate>,
    ) -> Result<(), EngineError> {
        candidates.retain(|candidate| !nearest.known.contains(&candidate.fingerprint));
        candidates
            .sort_unstable_by_key(|candidate| (Reverse(candidate.agreeing), candidate.fingerprint));
        let mut looked_at = 0;
        let mut rest = candidates.into_iter();
        while let Some(next) = rest.as_slice().first() {
            let is_promised = next.agreeing >= nearest.agreeing_min();
            if !is_promised && (nearest.is_full() || looked_at >= SETS_CHECKED_MAX) {
                break;
            }
            let at_once = nearest.at_once();
            if at_once == 0 {
                nearest.is_truncated |= is_promised;
                break;
            }
            let mut block: Vec<Candidate> = rest.by_ref().take(at_once).collect();
            looked_at += block.len();
            nearest.known.extend(block.iter().map(|candidate| candidate.fingerprint));
            if let Some(conditions) = nearest.query.conditions {
                nearest.is_truncated |= cut_members(&mut block, &mut nearest.to_filter);
                block = self.members_matching(conditions, block).await?;
            }
            nearest.retain_reaching(&mut block);
            let checked = self.score(&nearest.query, block).await?;
            nearest.none_gone &= checked.none_gone;
            nearest.add(checked.scored);
        }
        Ok(())
    }
}

impl Nearest<'_> {
    fn is_estimated(&self) -> bool {
        self.query.mode == Mode::Estimated
    }

    fn is_filtered(&self) -> bool {
        self.query.conditions.is_some()
    }

    fn is_full(&self) -> bool {
        self.best.len() >= self.k
    }

    /// The resemblance of the k-th best document; 0 while there are fewer.
    fn lowest(&self) -> f64 {
        self.best.get(self.k - 1).map_or(0.0, Match::resemblance)
    }

    /// Sets with sketches that agree in fewer slots hardly belong to the best.
    fn agreeing_min(&self) -> u32 {
        match (self.is_estimated(), self.is_full()) {
            (false, _) => self.plan.agreeing_min(self.lowest()),
            (true, false) => 1,
            // The sets before it agree at least as well.
            (true, true) => u32::MAX,
        }
    }

    /// How many candidates are looked at together; 0 at the end of the allowed work.
    fn at_once(&self) -> usize {
        let usual = if self.is_filtered() { READ_AT_ONCE } else { CHECKED_AT_ONCE.max(self.k) };
        match (self.is_estimated(), self.to_filter) {
            (_, 0) => 0,
            (true, _) => usual,
            (false, _) => usual.min(SETS_CHECKED_MAX.saturating_sub(self.checked)),
        }
    }

    fn scan_limits(&self, filtered_max: usize) -> ScanLimits {
        // One of them may be the probe's own.
        let usual = SETS_CHECKED_MAX.max(self.k + 1);
        ScanLimits {
            near_min: self.agreeing_min(),
            near_max: if self.is_filtered() { usual.max(filtered_max) } else { usual },
            kept_max: if self.is_full() { 0 } else { usual },
        }
    }

    fn sketch_search(&self, limits: ScanLimits) -> SketchSearch {
        // Of more documents with one set, k and the probe's own are enough.
        let enough = MEMBERS_USUAL_MAX.max(self.k + 1);
        let each_max = if self.is_filtered() { self.query.members_max } else { enough };
        let total_max = self.query.members_max.max(limits.near_max);
        SketchSearch { sketch: self.query.sketch().clone(), limits, each_max, total_max }
    }

    /// Keeps and counts the sets whose sizes allow that they belong to the best.
    fn retain_reaching(&mut self, block: &mut Vec<Candidate>) {
        let lowest = self.lowest().max(Threshold::LEAST.get());
        self.query.threshold = Threshold::new(lowest).unwrap_or(Threshold::LEAST);
        if !self.is_estimated() {
            let count = self.query.set().count();
            block.retain(|set| Overlap::can_reach(count, set.shingles as usize, lowest));
        }
        self.checked += block.len();
    }

    fn add(&mut self, scored: Vec<Match>) {
        self.best.extend(scored);
        put_in_order(&mut self.best);
        // A document that is being replaced may be found in both versions.
        let mut seen = HashSet::new();
        self.best.retain(|scored| seen.insert(scored.id.clone()));
        self.best.truncate(self.k);
    }
}
