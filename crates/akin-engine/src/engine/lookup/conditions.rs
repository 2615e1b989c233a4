//! Conditions on the metadata and the time of documents.

use std::collections::HashSet;
use std::sync::Arc;

use crate::backend::{Candidate, Member, Sketched, Version};
use crate::background::request::{another, charge};
use crate::budget::{Exhausted, Reservation, cost, decoded_json_bytes, json_values};
use crate::document::{DocumentId, Ordinal};
use crate::engine::lookup::details::version_of;
use crate::engine::{Engine, EngineError, Filter, Match};
use crate::stored::DocumentDetails;

/// Documents that are examined before the number of matches is compared with the limit.
pub(crate) const READ_AT_ONCE: usize = 128;

/// Evaluating a filter on more bytes of metadata than this leaves the runtime's thread.
const METADATA_INLINE_BYTES_MAX: usize = 65_536;

/// So does a filter that visits more values: these take a quarter of a millisecond.
const VISITS_INLINE_MAX: usize = 20_000;

/// Conditions on a document, all of which must hold. Times are milliseconds since the epoch, both
/// exclusive.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    pub filter: Option<Arc<Filter>>,
    pub stored_after_ms: Option<i64>,
    pub stored_before_ms: Option<i64>,
}

impl Conditions {
    /// Whether there is no condition, so that every document matches.
    pub fn is_empty(&self) -> bool {
        let Self { filter, stored_after_ms, stored_before_ms } = self;
        filter.is_none() && stored_after_ms.is_none() && stored_before_ms.is_none()
    }

    /// Whether a document without metadata can match.
    pub(crate) fn hold_without_metadata(&self) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(None))
    }

    /// For each document, whether it meets the conditions. The documents are decoded one at a time,
    /// so memory is reserved for the largest decoded metadata.
    fn evaluate(
        &self,
        details: Vec<Option<DocumentDetails>>,
        held: Option<&Reservation>,
    ) -> Result<Vec<bool>, Exhausted> {
        let mut reserved = 0;
        let mut meets = |details: Option<DocumentDetails>| {
            let Some(details) = details else { return Ok(false) };
            if let (Some(held), Some(metadata)) = (held, &details.metadata) {
                let decoded = decoded_json_bytes(metadata.as_json().as_bytes());
                held.grow(decoded.saturating_sub(reserved))?;
                reserved = reserved.max(decoded);
            }
            Ok(self.hold(&details))
        };
        details.into_iter().map(&mut meets).collect()
    }

    /// [`Self::hold`], with the work and the memory of reading and examining one document.
    pub(crate) fn hold_within(&self, of: &DocumentDetails) -> Result<bool, Exhausted> {
        let metadata = of.metadata.as_ref().filter(|_| self.filter.is_some());
        let metadata = metadata.map_or(&b""[..], |metadata| metadata.as_json().as_bytes());
        charge(1 + metadata.len() / cost::METADATA_BYTES)?;
        let _held = another(decoded_json_bytes(metadata))?;
        Ok(self.hold(of))
    }

    pub(crate) fn hold(&self, of: &DocumentDetails) -> bool {
        self.stored_after_ms.is_none_or(|after| of.stored_at_ms > after)
            && self.stored_before_ms.is_none_or(|before| of.stored_at_ms < before)
            && self.filter.as_ref().is_none_or(|filter| filter.matches(of.metadata.as_ref()))
    }
}

impl Engine {
    /// Removes the members that do not match the conditions, and candidates left without members.
    pub(super) async fn members_matching(
        &self,
        conditions: &Conditions,
        mut candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, EngineError> {
        let members = candidates.iter().flat_map(|candidate| &candidate.members);
        let versions: Vec<Version> = members
            .filter(|member| member.has_metadata || conditions.hold_without_metadata())
            .map(Member::version)
            .collect();
        let matching = self.versions_matching(conditions, &versions).await?;
        for candidate in &mut candidates {
            candidate.members.retain(|member| matching.contains(&member.ordinal));
        }
        candidates.retain(|candidate| !candidate.members.is_empty());
        Ok(candidates)
    }

    /// The first `limit` matches for which the conditions hold, in their order, and whether
    /// `limits.filtered_max` cut the search short.
    pub(super) async fn filter_matches(
        &self,
        scored: Vec<Match>,
        limit: usize,
        conditions: &Conditions,
    ) -> Result<(Vec<Match>, bool), EngineError> {
        let filtered_max = self.settings.limits.filtered_max;
        let is_truncated = scored.len() > filtered_max;
        let mut rest = scored.into_iter().take(filtered_max);
        let mut matching = Vec::new();
        while matching.len() < limit {
            let next: Vec<Match> = rest.by_ref().take(READ_AT_ONCE).collect();
            if next.is_empty() {
                return Ok((matching, is_truncated));
            }
            let versions: Vec<Version> = next.iter().filter_map(version_of).collect();
            let found = self.versions_matching(conditions, &versions).await?;
            let meets =
                |scored: &Match| scored.stored.is_some_and(|it| found.contains(&it.ordinal));
            matching.extend(next.into_iter().filter(meets));
        }
        matching.truncate(limit);
        Ok((matching, false))
    }

    /// The ids of the documents that match the conditions, in their order.
    pub(crate) async fn ids_matching(
        &self,
        conditions: &Conditions,
        ids: Vec<DocumentId>,
    ) -> Result<Vec<DocumentId>, EngineError> {
        let documents = self.backend.sketched(&ids).await?;
        let version = |document: Sketched| document.candidate.members[0].version();
        let stored: Vec<Version> = documents.into_iter().flatten().map(version).collect();
        let matching = self.versions_matching(conditions, &stored).await?;
        let meets = |version: &Version| matching.contains(&version.ordinal);
        Ok(stored.into_iter().filter(meets).map(|version| version.id).collect())
    }

    /// The documents for which the conditions hold. A document removed in the meantime does not
    /// match.
    pub(crate) async fn versions_matching(
        &self,
        conditions: &Conditions,
        versions: &[Version],
    ) -> Result<HashSet<Ordinal>, EngineError> {
        let mut matching = HashSet::new();
        for versions in versions.chunks(self.metadata_at_once()) {
            charge(1 + versions.len() / cost::DOCUMENTS)?;
            let details = self.backend.details(versions).await?;
            let bytes: usize = details.iter().flatten().map(metadata_bytes).sum();
            let values = details.iter().flatten().map(metadata_values).sum();
            let visits = conditions.filter.as_ref().map(|filter| filter.visits(values));
            if let Some(visits) = visits {
                charge(bytes / cost::METADATA_BYTES + visits / cost::VALUES_VISITED)?;
            }
            let is_long = bytes > METADATA_INLINE_BYTES_MAX
                || visits.is_some_and(|visits| visits > VISITS_INLINE_MAX);
            let is_counted = is_long && conditions.filter.is_some();
            let held = if is_counted { another(bytes)? } else { None };
            let conditions = conditions.clone();
            let evaluate = move || conditions.evaluate(details, held.as_ref());
            let met = crate::engine::compute_if(is_long, evaluate).await??;
            let met = versions.iter().zip(met).filter(|(_, met)| *met);
            matching.extend(met.map(|(version, _)| version.ordinal));
        }
        Ok(matching)
    }
}

fn metadata_values(of: &DocumentDetails) -> usize {
    of.metadata.as_ref().map_or(0, |metadata| json_values(metadata.as_json().as_bytes()))
}

pub(crate) fn metadata_bytes(of: &DocumentDetails) -> usize {
    of.metadata.as_ref().map_or(0, |metadata| metadata.as_json().len())
}
