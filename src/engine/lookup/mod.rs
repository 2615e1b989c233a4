//! From a set and a threshold to scored near-duplicates: what adding and looking up have in common.

pub(in crate::engine) mod collapse;
pub(in crate::engine) mod conditions;
mod exact;
pub(in crate::engine) mod filter;
pub(in crate::engine) mod records;
mod similar;

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::backend::{Candidate, Candidates, Member};
use crate::document::{DocumentId, Metadata, Ordinal};
use crate::engine::analysis::Likeness;
use crate::engine::lookup::records::SoughtRecord;
use crate::engine::{Engine, EngineError, FoundBy, Match, Mode};
use crate::index::Search;
use crate::measure::Overlap;
use crate::scheme::{Key, ProbePlan, Scheme, Threshold};
use crate::sketch::Sketch;
use crate::text::{Sampling, ShingleSet};

/// Checking more shingles than this against each other (about a millisecond's work) leaves the
/// runtime's thread.
pub(in crate::engine) const SHINGLES_INLINE_MAX: usize = 500_000;

/// Shingles of candidates that are in memory at once to be checked (32 MiB), unless one candidate
/// alone has more.
pub(in crate::engine) const SHINGLES_AT_ONCE_MAX: usize = 4 << 20;

/// A candidate whose documents are gone once its set is read may have been replaced by one as near,
/// so it is looked again, this many times at most.
pub(in crate::engine) const LOOKS_MAX: usize = 4;

/// What is looked for.
pub(in crate::engine) struct Sought<'a> {
    pub set: &'a ShingleSet,
    pub fingerprint: u64,
    pub sketch: &'a Sketch,
    /// A document is not its own near-duplicate.
    pub own_id: Option<&'a DocumentId>,
    pub threshold: Threshold,
    pub mode: Mode,
    /// Documents that are told, at most.
    pub limit: usize,
    /// In place of set, sketch and threshold, what a record is scored by.
    pub record: Option<SoughtRecord>,
    /// Documents of one and the same set that are worth knowing.
    pub members_max: usize,
}

/// Where a match's metadata is.
pub(in crate::engine) enum MetadataAt {
    Here(Option<Metadata>),
    Stored(Ordinal),
}

impl MetadataAt {
    pub fn of(member: &Member) -> Self {
        if member.has_metadata { Self::Stored(member.ordinal) } else { Self::Here(None) }
    }
}

pub(in crate::engine) struct Scored {
    pub found: Match,
    /// `None` for a document in flight.
    pub ordinal: Option<Ordinal>,
    pub metadata: MetadataAt,
}

impl Scored {
    /// The same, with its metadata read already.
    pub fn with_metadata(self, metadata: Option<Metadata>) -> Self {
        Self { metadata: MetadataAt::Here(metadata), ..self }
    }

    pub fn id(&self) -> &DocumentId {
        &self.found.id
    }
}

pub(in crate::engine) struct Found {
    pub scored: Vec<Scored>,
    /// Distinct sets that shared a key, or all that were looked at.
    pub candidates: usize,
    pub truncated: bool,
    /// The chance that a document at just the threshold is found.
    pub expected_recall: f64,
    pub by: FoundBy,
}

/// What became of candidates.
pub(in crate::engine) struct Checked {
    pub scored: Vec<Scored>,
    /// The set of every candidate could be read.
    pub none_gone: bool,
}

impl Match {
    /// Still without what is known of the document beside its set.
    pub(in crate::engine) fn of(id: DocumentId, likeness: Likeness) -> Self {
        let Likeness { resemblance, estimated, interval, exact } = likeness;
        let (keys_shared, metadata, points) = (0, None, None);
        Self { id, resemblance, estimated, interval, exact, keys_shared, metadata, points }
    }
}

impl Engine {
    /// Stored documents at or over the threshold, in no order.
    pub(in crate::engine) async fn find(&self, sought: &Sought<'_>) -> Result<Found, EngineError> {
        self.find_from(sought, None).await
    }

    /// `looked`: what [`look_for_all`](Self::look_for_all) has found.
    pub(in crate::engine) async fn find_from(
        &self,
        sought: &Sought<'_>,
        looked: Option<Candidates>,
    ) -> Result<Found, EngineError> {
        match self.goes_by_keys(sought) {
            true => self.find_by_keys(sought, looked).await,
            false => self.find_exactly(sought).await,
        }
    }

    /// The candidates of each that goes by keys, looked up all at once; `None` for others, and if
    /// the backend fails, which each will come to know when it looks by itself.
    pub(in crate::engine) async fn look_for_all(
        &self,
        all: &[Option<Sought<'_>>],
    ) -> Vec<Option<Candidates>> {
        let by_keys = |sought: &&Sought<'_>| self.goes_by_keys(sought);
        let keyed = |sought| {
            let plan = self.plan(sought);
            (sought, plan, self.keys(sought, plan))
        };
        let keyed: Vec<_> = all.iter().flatten().filter(by_keys).map(keyed).collect();
        let searches: Vec<_> =
            keyed.iter().map(|(sought, plan, keys)| self.search(sought, *plan, keys)).collect();
        let found = self.backend.candidates_of_all(&searches).await;
        let mut found = found.unwrap_or_default().into_iter();
        let candidates = |sought: &Option<Sought<'_>>| {
            sought.as_ref().filter(by_keys).and_then(|_| found.next())
        };
        all.iter().map(candidates).collect()
    }

    fn goes_by_keys(&self, sought: &Sought<'_>) -> bool {
        sought.mode != Mode::Exact && !matches!(self.analyser.scheme, Scheme::Prefix(_))
    }

    fn plan(&self, sought: &Sought<'_>) -> ProbePlan {
        self.analyser.scheme.plan(sought.threshold)
    }

    fn keys(&self, sought: &Sought<'_>, plan: ProbePlan) -> Vec<Key> {
        self.analyser.scheme.keys(sought.sketch.as_bytes(), plan.bands).collect()
    }

    fn search<'a>(&self, sought: &Sought<'a>, plan: ProbePlan, keys: &'a [Key]) -> Search<'a> {
        Search {
            keys,
            sketch: sought.sketch,
            fingerprint: sought.fingerprint,
            agreeing_min: plan.agreeing_min,
            postings_max: self.settings.limits.candidates_max,
            // One is who is asking, and one more tells whether there are more.
            found_max: self.settings.limits.checked_max.max(sought.limit + 2),
            members_max: sought.members_max,
        }
    }

    async fn find_by_keys(
        &self,
        sought: &Sought<'_>,
        mut looked: Option<Candidates>,
    ) -> Result<Found, EngineError> {
        let plan = self.plan(sought);
        for looks in 1.. {
            let candidates = match looked.take() {
                Some(looked) => looked,
                None => {
                    let keys = self.keys(sought, plan);
                    self.backend.candidates(&self.search(sought, plan, &keys)).await?
                }
            };
            let found = candidates.found;
            let (checked, expected_recall) = match (&sought.record, sought.mode) {
                (Some(record), _) => {
                    (self.score_records(sought, record, &found).await?, plan.expected_recall)
                }
                (None, Mode::Estimated) => {
                    (self.estimate(sought, &found), plan.expected_recall_estimated)
                }
                (None, _) => (self.verify(sought, found).await?, plan.expected_recall),
            };
            if checked.none_gone || looks == LOOKS_MAX {
                return Ok(Found {
                    scored: checked.scored,
                    candidates: candidates.seen,
                    truncated: candidates.truncated || !checked.none_gone,
                    expected_recall,
                    by: FoundBy::Keys,
                });
            }
        }
        unreachable!("the last look returns");
    }

    /// The best `limit`, in the order of the contract, with their metadata; whether there were
    /// more.
    pub(in crate::engine) async fn best(
        &self,
        mut scored: Vec<Scored>,
        limit: usize,
    ) -> Result<(Vec<Match>, bool), EngineError> {
        // A document that was in flight may have been found in the index as well: as what it is, or
        // as what it is about to replace.
        if scored.iter().any(|scored| scored.ordinal.is_none()) {
            put_in_order(&mut scored);
            let mut told = HashSet::new();
            scored.retain(|scored| told.insert(scored.found.id.clone()));
        }
        let more = scored.len() > limit;
        if more {
            scored.select_nth_unstable_by(limit, in_order);
            scored.truncate(limit);
        }
        put_in_order(&mut scored);
        self.read_metadata(&mut scored).await?;
        Ok((scored.into_iter().map(|scored| scored.found).collect(), more))
    }

    pub(in crate::engine) async fn verify(
        &self,
        sought: &Sought<'_>,
        candidates: Vec<Candidate>,
    ) -> Result<Checked, EngineError> {
        let (shingles, threshold) = (sought.set.count(), sought.threshold.get());
        let mut checked = Checked { scored: Vec::new(), none_gone: true };
        // Of an equal set, such as the probe's own, there is nothing to read or to count.
        let is_equal = |candidate: &Candidate| candidate.fingerprint == sought.fingerprint;
        let (equal, mut others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(is_equal);
        let whole = Overlap { shared: shingles, a: shingles, b: shingles };
        let sampling = self.analyser.shingler.sampling();
        let is_whole = sampling.is_whole(sought.set);
        for candidate in &equal {
            let likeness = self.analyser.verified(whole, candidate.agreeing, is_whole);
            self.score_members(sought, candidate, likeness, &mut checked.scored);
        }
        others.retain(|candidate| {
            Overlap::can_reach(shingles, candidate.shingles as usize, threshold)
        });
        let mut rest = &others[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest));
            rest = later;
            let sets = self.backend.sets(now).await?;
            checked.none_gone &= sets.iter().all(Option::is_some);
            let overlaps = overlaps(sought.set, sets, sought.threshold, sampling).await?;
            for (candidate, overlap) in now.iter().zip(overlaps) {
                let Some((overlap, other_is_whole)) = overlap else { continue };
                let are_whole = is_whole && other_is_whole;
                let likeness = self.analyser.verified(overlap, candidate.agreeing, are_whole);
                self.score_members(sought, candidate, likeness, &mut checked.scored);
            }
        }
        Ok(checked)
    }

    fn estimate(&self, sought: &Sought<'_>, candidates: &[Candidate]) -> Checked {
        let mut scored = Vec::new();
        for candidate in candidates {
            let sizes = (sought.set.count() as u32, candidate.shingles);
            let likeness = self.analyser.estimated(candidate.agreeing, sizes);
            if likeness.resemblance >= sought.threshold.get() {
                self.score_members(sought, candidate, likeness, &mut scored);
            }
        }
        Checked { scored, none_gone: true }
    }

    pub(in crate::engine) fn score_members(
        &self,
        sought: &Sought<'_>,
        candidate: &Candidate,
        likeness: Likeness,
        scored: &mut Vec<Scored>,
    ) {
        let others = candidate.members.iter().filter(|member| Some(&member.id) != sought.own_id);
        scored.extend(others.map(|member| Scored {
            found: Match {
                keys_shared: candidate.keys_shared,
                ..Match::of(member.id.clone(), likeness)
            },
            ordinal: Some(member.ordinal),
            metadata: MetadataAt::of(member),
        }));
    }

    async fn read_metadata(&self, scored: &mut [Scored]) -> Result<(), EngineError> {
        let ordinal = |scored: &Scored| match scored.metadata {
            MetadataAt::Stored(ordinal) => Some(ordinal),
            MetadataAt::Here(_) => None,
        };
        let ordinals: Vec<Ordinal> = scored.iter().filter_map(ordinal).collect();
        let mut read = Vec::new();
        if !ordinals.is_empty() {
            read = self.backend.details(ordinals).await?;
        }
        let mut read = read.into_iter();
        for scored in scored {
            scored.found.metadata = match &mut scored.metadata {
                MetadataAt::Here(metadata) => metadata.take(),
                MetadataAt::Stored(_) => read.next().flatten().and_then(|of| of.metadata),
            };
        }
        Ok(())
    }
}

/// How many of the candidates, at least one, are checked at once.
fn fitting(candidates: &[Candidate]) -> usize {
    let mut shingles = 0;
    let fits = |candidate: &&Candidate| {
        shingles += candidate.shingles as usize;
        shingles <= SHINGLES_AT_ONCE_MAX
    };
    candidates.iter().take_while(fits).count().max(1)
}

/// The overlaps with the sets that reach the threshold, and whether those are whole.
async fn overlaps(
    probe: &ShingleSet,
    sets: Vec<Option<ShingleSet>>,
    threshold: Threshold,
    sampling: Sampling,
) -> Result<Vec<Option<(Overlap, bool)>>, EngineError> {
    let shingles: usize = sets.iter().flatten().map(|set| set.count() + probe.count()).sum();
    let probe = probe.clone();
    let check = move || {
        let reaching = |set: Option<ShingleSet>| {
            let set = set?;
            let overlap = Overlap::reaching(&probe, &set, threshold.get())?;
            Some((overlap, sampling.is_whole(&set)))
        };
        sets.into_iter().map(reaching).collect()
    };
    crate::engine::off_runtime_if(shingles > SHINGLES_INLINE_MAX, check).await
}

/// In the order of the contract.
pub(in crate::engine) fn put_in_order(scored: &mut [Scored]) {
    scored.sort_unstable_by(in_order);
}

/// By resemblance, then by id.
fn in_order(a: &Scored, b: &Scored) -> Ordering {
    let (a, b) = (&a.found, &b.found);
    b.resemblance.total_cmp(&a.resemblance).then_with(|| a.id.cmp(&b.id))
}
