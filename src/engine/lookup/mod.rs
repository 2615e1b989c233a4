//! Finds and scores near-duplicates of a set: shared by lookups and by adding documents.

pub(crate) mod cluster;
pub(crate) mod collapse;
pub(crate) mod conditions;
mod exact;
pub(crate) mod filter;
mod keyed;
pub(crate) mod records;
mod similar;

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::backend::{Candidate, Candidates, Member, Version};
use crate::budget::Reservation;
use crate::document::{Content, DocumentId, Metadata, Ordinal};
use crate::engine::analysis::Similarity;
use crate::engine::lookup::conditions::metadata_bytes;
use crate::engine::lookup::records::RecordQuery;
use crate::engine::{
    Conditions, Engine, EngineError, FoundBy, Lookup, Match, MatchContainment, MatchDetails, Mode,
};
use crate::measure::Overlap;
use crate::scheme::Threshold;
use crate::sketch::Sketch;
use crate::text::{Sampling, ShingleSet};

/// Comparisons of more shingles (about a millisecond's work) run off the runtime's thread.
pub(crate) const SHINGLES_INLINE_MAX: usize = 500_000;

/// Shingles of candidates in memory at once for verification (32 MiB), unless one candidate alone
/// has more.
pub(crate) const SHINGLES_AT_ONCE_MAX: usize = 4 << 20;

/// Bytes reserved for a match and its JSON, without metadata.
const MATCH_BYTES: usize = 1_024;

/// The metadata of a match, and its JSON in a vector that grows by doubling.
const COPIES_OF_METADATA: usize = 3;

/// Contents read at once for matches: any may be as long as a document can be.
const CONTENTS_AT_ONCE: usize = 4;

/// A lookup to be executed.
pub(crate) struct Query<'a> {
    pub set: &'a ShingleSet,
    pub fingerprint: u64,
    pub sketch: &'a Sketch,
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
    /// Where the memory of the answer is counted; `None` if nothing but limits bounds it.
    pub memory: Option<&'a Reservation>,
    /// Documents listed per distinct set, at most.
    pub members_max: usize,
}

/// Which of the best matches are reported, and what is read of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub offset: usize,
    pub limit: usize,
    pub include: MatchDetails,
}

impl Page {
    /// The first matches with their metadata.
    pub fn first(limit: usize) -> Self {
        Self { offset: 0, limit, include: MatchDetails::default() }
    }

    /// How many of the best matches are needed.
    pub fn end(self) -> usize {
        self.offset.saturating_add(self.limit)
    }
}

impl From<Lookup> for Page {
    fn from(lookup: Lookup) -> Self {
        Self { offset: lookup.offset, limit: lookup.limit, include: lookup.include }
    }
}

/// Where the metadata of a match is: at hand, or in the store.
pub(crate) enum MetadataAt {
    Here(Option<Metadata>),
    Stored,
}

impl MetadataAt {
    pub fn of(member: &Member) -> Self {
        if member.has_metadata { Self::Stored } else { Self::Here(None) }
    }
}

pub(crate) struct Scored {
    pub found: Match,
    /// `None` for a document in flight.
    pub ordinal: Option<Ordinal>,
    pub metadata: MetadataAt,
}

impl Scored {
    pub fn id(&self) -> &DocumentId {
        &self.found.id
    }

    /// The stored version; `None` for a document in flight.
    pub fn version(&self) -> Option<Version> {
        Some(Version { id: self.found.id.clone(), ordinal: self.ordinal? })
    }
}

pub(crate) struct Found {
    pub scored: Vec<Scored>,
    /// Distinct sets that shared a key, or all sets in a scan.
    pub candidates: usize,
    pub truncated: bool,
    /// The chance that a document at just the threshold is found.
    pub expected_recall: f64,
    pub by: FoundBy,
}

/// The result of verifying candidates.
pub(crate) struct Checked {
    pub scored: Vec<Scored>,
    /// Every candidate's set could be read: none was removed in the meantime.
    pub none_gone: bool,
    /// Candidates left unchecked may belong to the reported matches.
    pub is_cut: bool,
}

impl Default for Checked {
    fn default() -> Self {
        Self { scored: Vec::new(), none_gone: true, is_cut: false }
    }
}

impl Match {
    /// A match without `keys_shared`, metadata and points.
    pub(crate) fn of(id: DocumentId, similarity: Similarity) -> Self {
        let Similarity { resemblance, estimated, interval, exact: overlap } = similarity;
        Self {
            id,
            resemblance,
            estimated,
            interval,
            exact: overlap.map(|overlap| overlap.resemblance()),
            containment: overlap.map(MatchContainment::from),
            shared: overlap.map(|overlap| overlap.shared),
            union: overlap.map(|overlap| overlap.union()),
            keys_shared: 0,
            metadata: None,
            text: None,
            tokens: None,
            fields: None,
            signature: None,
            points: None,
            field_points: None,
        }
    }

    fn include(&mut self, content: Content) {
        match content {
            Content::Text(text) => self.text = Some(text),
            Content::Tokens(tokens) => self.tokens = Some(tokens),
            Content::Fields(fields) => self.fields = Some(fields),
            Content::Signature(values) => self.signature = Some(values),
        }
    }
}

impl Engine {
    /// Stored documents at or over the threshold, unordered.
    pub(crate) async fn find(&self, query: &Query<'_>) -> Result<Found, EngineError> {
        self.find_from(query, None).await
    }

    /// `looked_up`: the query's result of [`candidates_of_all`](Self::candidates_of_all), if any.
    pub(crate) async fn find_from(
        &self,
        query: &Query<'_>,
        looked_up: Option<Candidates>,
    ) -> Result<Found, EngineError> {
        match self.goes_by_keys(query) {
            true => self.find_by_keys(query, looked_up).await,
            false => self.find_exactly(query).await,
        }
    }

    /// A page of the best matches, by falling resemblance and then by id, with what is read of
    /// each; and whether there were more.
    pub(crate) async fn best(
        &self,
        mut scored: Vec<Scored>,
        page: Page,
        memory: Option<&Reservation>,
    ) -> Result<(Vec<Match>, bool), EngineError> {
        // A document that is being replaced may be found in both versions, one of them in flight.
        if has_repeated_ids(&scored) {
            put_in_order(&mut scored);
            let mut seen = HashSet::new();
            scored.retain(|scored| seen.insert(scored.found.id.clone()));
        }
        let end = page.end();
        let more = scored.len() > end;
        if more {
            scored.select_nth_unstable_by(end, in_order);
            scored.truncate(end);
        }
        put_in_order(&mut scored);
        scored.drain(..page.offset.min(scored.len()));
        reserve(memory, scored.len().saturating_mul(MATCH_BYTES))?;
        if page.include.metadata {
            self.read_metadata(&mut scored, memory).await?;
        }
        if page.include.content {
            self.read_contents(&mut scored, memory).await?;
        }
        Ok((scored.into_iter().map(|scored| scored.found).collect(), more))
    }

    pub(crate) async fn verify(
        &self,
        query: &Query<'_>,
        mut candidates: Vec<Candidate>,
    ) -> Result<Checked, EngineError> {
        let (shingles, threshold) = (query.set.count(), query.threshold.get());
        let mut checked = Checked::default();
        let sampling = self.analyser.shingler.sampling();
        let is_whole = sampling.is_whole(query.set);
        candidates.retain(|candidate| {
            Overlap::can_reach(shingles, candidate.shingles as usize, threshold)
        });
        let mut rest = &candidates[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest));
            rest = later;
            let sets = self.backend.sets(now).await?;
            checked.none_gone &= sets.iter().all(Option::is_some);
            let overlaps = overlaps(query.set, sets, query.threshold, sampling).await?;
            for (candidate, overlap) in now.iter().zip(overlaps) {
                let Some((overlap, other_is_whole)) = overlap else { continue };
                let are_whole = is_whole && other_is_whole;
                let similarity = self.analyser.verified(overlap, candidate.agreeing, are_whole);
                score_members(query, candidate, similarity, &mut checked.scored);
            }
        }
        Ok(checked)
    }

    fn estimate(&self, query: &Query<'_>, candidates: &[Candidate]) -> Checked {
        let mut scored = Vec::new();
        for candidate in candidates {
            let sizes = (query.set.count() as u32, candidate.shingles);
            let similarity = self.analyser.estimated(candidate.agreeing, sizes);
            if similarity.resemblance >= query.threshold.get() {
                score_members(query, candidate, similarity, &mut scored);
            }
        }
        Checked { scored, ..Checked::default() }
    }

    async fn read_metadata(
        &self,
        scored: &mut [Scored],
        memory: Option<&Reservation>,
    ) -> Result<(), EngineError> {
        let is_stored = |scored: &&Scored| matches!(scored.metadata, MetadataAt::Stored);
        let versions = scored.iter().filter(is_stored).filter_map(Scored::version);
        let versions: Vec<Version> = versions.collect();
        let mut read = Vec::with_capacity(versions.len());
        for versions in versions.chunks(self.metadata_at_once()) {
            let details = self.backend.details(versions).await?;
            let bytes: usize = details.iter().flatten().map(metadata_bytes).sum();
            reserve(memory, bytes.saturating_mul(COPIES_OF_METADATA))?;
            read.extend(details);
        }
        let mut read = read.into_iter();
        for scored in scored {
            scored.found.metadata = match &mut scored.metadata {
                MetadataAt::Here(metadata) => metadata.take(),
                MetadataAt::Stored => read.next().flatten().and_then(|of| of.metadata),
            };
        }
        Ok(())
    }

    /// A document that was removed in the meantime is left without its content.
    async fn read_contents(
        &self,
        scored: &mut [Scored],
        memory: Option<&Reservation>,
    ) -> Result<(), EngineError> {
        for some in scored.chunks_mut(CONTENTS_AT_ONCE) {
            let versions = some.iter().filter_map(Scored::version);
            let groups: Vec<Vec<Version>> = versions.map(|version| vec![version]).collect();
            let mut contents = self.backend.contents(&groups).await?.into_iter();
            for scored in some.iter_mut().filter(|scored| scored.ordinal.is_some()) {
                let Some(content) = contents.next().flatten() else { continue };
                reserve(memory, content.weight().saturating_mul(COPIES_OF_METADATA))?;
                scored.found.include(content);
            }
        }
        Ok(())
    }
}

/// Reserves memory, if it is counted.
fn reserve(memory: Option<&Reservation>, bytes: usize) -> Result<(), EngineError> {
    Ok(memory.map_or(Ok(()), |memory| memory.grow(bytes))?)
}

/// A scored match for each member of the candidate but the probe itself.
fn score_members(
    query: &Query<'_>,
    candidate: &Candidate,
    similarity: Similarity,
    scored: &mut Vec<Scored>,
) {
    let others = candidate.members.iter().filter(|member| Some(&member.id) != query.own_id);
    scored.extend(others.map(|member| Scored {
        found: Match {
            keys_shared: candidate.keys_shared,
            ..Match::of(member.id.clone(), similarity)
        },
        ordinal: Some(member.ordinal),
        metadata: MetadataAt::of(member),
    }));
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

/// The overlap of each set that reaches the threshold, and whether the set is whole (no sample).
pub(crate) async fn overlaps(
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

fn has_repeated_ids(scored: &[Scored]) -> bool {
    let mut seen = HashSet::with_capacity(scored.len());
    !scored.iter().all(|scored| seen.insert(&scored.found.id))
}

/// Sorts by falling resemblance, then by id.
pub(crate) fn put_in_order(scored: &mut [Scored]) {
    scored.sort_unstable_by(in_order);
}

/// By resemblance, then by id.
fn in_order(a: &Scored, b: &Scored) -> Ordering {
    let (a, b) = (&a.found, &b.found);
    b.resemblance.total_cmp(&a.resemblance).then_with(|| a.id.cmp(&b.id))
}
