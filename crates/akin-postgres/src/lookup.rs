//! Lookups: from keys to sets, and from sets to their documents and elements. Lookups that wait at
//! the same time share calls.

use std::collections::HashMap;
use std::sync::Arc;

use akin_core::index::{Search, SearchLimits};
use akin_core::text::ShingleSet;
use akin_engine::backend::{BackendError, CHECKED_AT_ONCE, Candidate, Candidates, Sketched};
use akin_model::document::{DocumentId, Ordinal};
use smallvec::SmallVec;

use crate::backend::PostgresCollection;
use crate::coalescing::{READ_MAX, TOGETHER_MAX, answered};
use crate::found::{FoundSets, NearSet, ProbeKeys};
use crate::reading::{DocumentRow, Read, WantedDocuments, WantedEntries};
use crate::rows::Material;

/// Sets that a search reads under all keys together for each that is looked for.
const READ_FOR_EACH: usize = 5;

/// Sets that the first search of a lookup reads of each key at least: more than an addition
/// reports, so that it needs no further search among near-duplicates.
const OF_KEY_FIRST: usize = 24;

/// Sets that a further search reads of each key at least. Among so many, of which hardly any is
/// near, no further search is worth its work; among fewer, a near set may not have been read.
const OF_KEY_FURTHER: usize = 200;

/// Further sets are read without their elements once the sets have so many shingles: 512 KiB.
const SHINGLES_AT_ONCE: usize = 64 << 10;

/// Larger contents or elements of a document are not read together with its sketch, in bytes.
const SMALL_BYTES: i32 = 8 << 10;

/// How many sets of each key a search compares: a wide search as many as it may, others so few that
/// a lookup in a crowd takes no more time the larger the crowd is.
pub(crate) fn of_key(keys: usize, limits: &SearchLimits) -> usize {
    let (keys, found_max) = (keys.max(1), limits.found_max);
    let is_wide = limits.postings_max > limits.compared_max;
    let least = if found_max > CHECKED_AT_ONCE { OF_KEY_FURTHER } else { OF_KEY_FIRST };
    let few = least.max(found_max.saturating_mul(READ_FOR_EACH) / keys);
    let wanted = if is_wide { limits.compared_max } else { few };
    wanted.min(limits.postings_max).min(READ_MAX / keys)
}

/// Keeps the sets, at least one, that are read at once, and returns the number of their shingles.
fn shingles_at_once(sets: &mut Vec<&Candidate>) -> usize {
    let mut shingles = 0;
    let fits = |set: &&&Candidate| {
        let with = shingles + set.shingles as usize;
        let fits = shingles == 0 || with <= SHINGLES_AT_ONCE;
        shingles = if fits { with } else { shingles };
        fits
    };
    let fitting = sets.iter().take_while(fits).count();
    sets.truncate(fitting);
    shingles
}

impl PostgresCollection {
    pub(crate) fn probe(&self, search: &Search<'_>) -> ProbeKeys {
        ProbeKeys {
            keys: search.keys.iter().map(|key| self.key(*key)).collect(),
            equal: Some(self.entry(search.fingerprint)),
            of_key: of_key(search.keys.len(), &search.limits),
        }
    }

    /// The best of the sets that share a key with a probe, best first, before their documents are
    /// read.
    pub(crate) fn select(
        &self,
        search: &Search<'_>,
        probe: &ProbeKeys,
        found: &FoundSets,
    ) -> Candidates {
        let of_key = of_key(probe.keys.len(), &search.limits);
        let (sharing, are_more) = found.of(probe, of_key);
        let in_crowd = are_more && of_key >= OF_KEY_FURTHER;
        let seen = sharing.len();
        let agreeing = |(near, keys_shared): (Arc<NearSet>, u32)| {
            let agreeing = self.estimator.agreeing(search.sketch.as_bytes(), &near.sketch);
            let fits = agreeing >= search.agreeing_min;
            fits.then(|| self.candidate(near.entry, near.shingles, agreeing, keys_shared))
        };
        let mut found: Vec<Candidate> = sharing.into_iter().filter_map(agreeing).collect();
        found.sort_unstable_by_key(|of| (std::cmp::Reverse(of.agreeing), of.fingerprint));
        let left_out = found.get(search.limits.found_max).map_or(0, |first| first.agreeing);
        found.truncate(search.limits.found_max);
        let truncated = are_more || left_out > 0;
        Candidates { found, seen, truncated, are_compared: !are_more, left_out, in_crowd }
    }

    /// A set before its documents are read.
    pub(crate) fn candidate(
        &self,
        entry: i64,
        shingles: u32,
        agreeing: u32,
        keys_shared: u32,
    ) -> Candidate {
        let (fingerprint, members) = (self.fingerprint(entry), SmallVec::new());
        Candidate { fingerprint, shingles, agreeing, keys_shared, members }
    }

    /// The sketches of documents by their ids. The set of a single document is read, too, as its
    /// lookup needs it next; who asks for many documents may need no set.
    pub(crate) async fn sketched_by_ids(
        &self,
        ids: &[DocumentId],
    ) -> Result<Vec<Option<Sketched>>, BackendError> {
        let ids: Vec<String> = ids.iter().map(|id| id.as_str().to_owned()).collect();
        let bytes_max = (self.has_sets && ids.len() == 1).then_some(SMALL_BYTES);
        let (collection, now_ms) = (self.number, self.now_ms());
        let wanted = WantedDocuments { collection, ids, now_ms, bytes_max };
        let rows = answered(self.shared.documents.push(wanted)).await?;
        let materials = rows.iter().flatten().filter_map(|of| {
            let fingerprint = self.fingerprint(of.row.get(2));
            Some((fingerprint, Arc::clone(of.material.as_ref()?)))
        });
        let is_missing = |(of, _): &(u64, Arc<Material>)| self.sets.get(*of).is_none();
        self.made(materials.filter(is_missing).collect()).await?;
        let sketched = |of: &Option<DocumentRow>| {
            of.as_ref().map(|of| self.sketched_of(&of.row, of.row.get(5))).transpose()
        };
        rows.iter().map(sketched).collect()
    }

    pub(crate) async fn search(&self, search: &Search<'_>) -> Result<Candidates, BackendError> {
        let probe = self.probe(search);
        let asked = ProbeKeys { keys: probe.keys.clone(), ..probe };
        let found = answered(self.shared.probes.push(asked)).await?;
        let selected = self.select(search, &probe, &found);
        let sets: Vec<&Candidate> = selected.found.iter().collect();
        let read = self.read(&sets, search.limits.members_max, CHECKED_AT_ONCE).await?;
        Ok(self.with_members(selected, &read, search.limits.members_max))
    }

    /// Reads the documents of sets, and keeps the elements of the first `sets_max` sets in the
    /// cache, as many as are read at once and none of large contents.
    pub(crate) async fn read(
        &self,
        sets: &[&Candidate],
        members_max: usize,
        sets_max: usize,
    ) -> Result<Arc<Read>, BackendError> {
        if sets.is_empty() {
            return Ok(Arc::default());
        }
        let best = &sets[..if self.has_sets { sets_max.min(sets.len()) } else { 0 }];
        let mut missing = best.to_vec();
        missing.retain(|of| self.sets.get(of.fingerprint).is_none());
        let shingles = shingles_at_once(&mut missing);
        let materials: Vec<i64> = missing.iter().map(|of| self.entry(of.fingerprint)).collect();
        let wanted = WantedEntries {
            entries: sets.iter().map(|of| self.entry(of.fingerprint)).collect(),
            // Whether there are more.
            members_max: members_max.saturating_add(1),
            now_ms: self.now_ms(),
            materials: materials.clone(),
            shingles,
            are_whole: false,
        };
        let read = answered(self.shared.readings.push(wanted)).await?;
        self.made(self.materials(&materials, &read)).await?;
        Ok(read)
    }

    /// The sets of the candidates that are in the cache, or are read.
    pub(crate) async fn sets_of(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<ShingleSet>>, BackendError> {
        let mut sets: HashMap<u64, ShingleSet> = HashMap::new();
        let mut missing = Vec::new();
        for of in candidates {
            match self.sets.get(of.fingerprint) {
                Some(set) => drop(sets.insert(of.fingerprint, set)),
                None => missing.push(of),
            }
        }
        for some in missing.chunks(TOGETHER_MAX) {
            sets.extend(self.sets_read(some, false).await?);
            // Large contents one after the other, each in a call that reads few.
            for of in some {
                if !sets.contains_key(&of.fingerprint) {
                    sets.extend(self.sets_read(&[*of], true).await?);
                }
            }
        }
        Ok(candidates.iter().map(|of| sets.get(&of.fingerprint).cloned()).collect())
    }

    /// Reads sets: of large contents only if they are `whole`.
    async fn sets_read(
        &self,
        of: &[&Candidate],
        are_whole: bool,
    ) -> Result<Vec<(u64, ShingleSet)>, BackendError> {
        let entries: Vec<i64> = of.iter().map(|of| self.entry(of.fingerprint)).collect();
        let wanted = WantedEntries {
            materials: entries.clone(),
            entries: entries.clone(),
            members_max: 1,
            now_ms: self.now_ms(),
            shingles: of.iter().map(|of| of.shingles as usize).sum(),
            are_whole,
        };
        let read = answered(self.shared.readings.push(wanted)).await?;
        self.made(self.materials(&entries, &read)).await
    }

    fn materials(&self, entries: &[i64], read: &Read) -> Vec<(u64, Arc<Material>)> {
        let material =
            |entry: &i64| Some((self.fingerprint(*entry), Arc::clone(read.materials.get(entry)?)));
        entries.iter().filter_map(material).collect()
    }

    /// Makes sets of the rows, and keeps them in the cache.
    async fn made(
        &self,
        materials: Vec<(u64, Arc<Material>)>,
    ) -> Result<Vec<(u64, ShingleSet)>, BackendError> {
        let made = self.sets_made(materials).await?;
        for (fingerprint, set) in &made {
            self.sets.insert(*fingerprint, set.clone());
        }
        Ok(made)
    }

    /// The selected sets with their documents, but for the sets that have none. The documents of
    /// sets that do not reach the threshold need not have been read.
    pub(crate) fn with_members(
        &self,
        mut selected: Candidates,
        read: &Read,
        members_max: usize,
    ) -> Candidates {
        let Candidates { found, truncated, left_out, .. } = &mut selected;
        found.retain_mut(|candidate| {
            let Some(members) = read.members.get(&self.entry(candidate.fingerprint)) else {
                return true;
            };
            if members.len() > members_max {
                *truncated = true;
                *left_out = candidate.agreeing.max(*left_out);
            }
            candidate.members = members.iter().take(members_max).cloned().collect();
            !members.is_empty()
        });
        selected
    }
}

/// All sets of a search that counted so many.
pub(crate) fn complete(found: Vec<Candidate>, seen: usize) -> Candidates {
    let (truncated, are_compared, in_crowd) = (false, true, false);
    Candidates { found, seen, truncated, are_compared, left_out: 0, in_crowd }
}

pub(crate) fn ordinal(ordinal: i64) -> Ordinal {
    Ordinal::try_from(ordinal.cast_unsigned()).unwrap_or(Ordinal::MAX)
}

/// # Errors
/// `Store`: another program wrote the row.
pub(crate) fn document_id(id: &str) -> Result<DocumentId, BackendError> {
    let unfit = |_| BackendError::Store { reason: format!("the id '{id}' is no document's id") };
    DocumentId::new(id).map_err(unfit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elements_that_are_read_at_once_are_limited() {
        let set = |shingles| Candidate {
            fingerprint: 1,
            shingles,
            agreeing: 0,
            keys_shared: 0,
            members: SmallVec::new(),
        };
        for (shingles, kept, sum) in [
            (&[100_u32; 40][..], 40, 4_000),
            (&[30_000; 3], 2, 60_000),
            (&[1_000_000, 1, 1], 1, 1_000_000),
            (&[], 0, 0),
        ] {
            let sets: Vec<Candidate> = shingles.iter().copied().map(set).collect();
            let mut read: Vec<&Candidate> = sets.iter().collect();
            assert_eq!((shingles_at_once(&mut read), read.len()), (sum, kept));
        }
    }

    #[test]
    fn a_search_reads_a_limited_number_of_sets() {
        let limits = |found_max, of_each: usize| SearchLimits {
            postings_max: 10_000 * of_each,
            compared_max: 10_000,
            found_max,
            members_max: 21,
        };
        for (keys, limits, sets) in [
            (1, limits(40, 1), 200),
            (9, limits(40, 1), 24),
            (32, limits(40, 1), 24),
            (32, limits(200, 1), 200),
            (32, limits(10_000, 1), 1_562),
            (32, limits(40, 8), 2_048),
        ] {
            assert_eq!(of_key(keys, &limits), sets, "{keys} keys, {limits:?}");
        }
    }
}
