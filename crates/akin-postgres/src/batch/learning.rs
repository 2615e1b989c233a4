//! What a batch learns from the database: near sets with their documents, and replaced versions.

use std::collections::HashSet;
use std::sync::Arc;

use akin_core::measure::Overlap;
use akin_engine::backend::{BackendError, Candidate};
use akin_engine::stored::Detail;
use tokio::task::yield_now;
use tokio_postgres::Row;

use super::{InsertBatch, Old, PlannedInsert};
use crate::found::{NearSet, ProbeKeys};
use crate::lookup::of_key;
use crate::pool::parameters;
use crate::rows::COLUMNS;

/// Sets of a document with more shingles together are not compared on a thread of the runtime.
const COMPARED_SHINGLES_MAX: usize = 256 << 10;

impl InsertBatch<'_> {
    /// Takes what a call returned, and reads the documents and the elements of new sets.
    pub async fn learn(&mut self, rows: &[Row]) -> Result<(), BackendError> {
        for row in rows {
            self.seen = self.seen.max(row.get(1));
            match row.get::<_, i32>(0) {
                0 => self.found.add(row, 2),
                _ => {
                    let old = self.old(row);
                    let planned = &mut self.planned[row.get::<_, i64>(4) as usize - 1];
                    (planned.old, planned.is_stale) = (old, true);
                }
            }
        }
        self.read_replaced().await?;
        self.select().await?;
        if self.read_further().await? {
            self.select().await?;
        }
        self.read_found().await
    }

    fn old(&self, row: &Row) -> Option<Old> {
        let entry: i64 = row.get::<_, Option<i64>>(5)?;
        Some(Old {
            ordinal: row.get(7),
            entry,
            keys: self.collection.keys(row.get(6)),
            hash: row.get::<_, i64>(8).cast_unsigned(),
            expires_at_ms: row.get(9),
            record: None,
        })
    }

    /// Reads the versions that are replaced, which the answers compare with the new ones.
    async fn read_replaced(&mut self) -> Result<(), BackendError> {
        let is_replaced = |of: &PlannedInsert<'_>| {
            let is_other = |old: &Old| {
                let version = (old.hash, old.expires_at_ms);
                old.record.is_none() && version != (of.hash, of.times.expires_at_ms)
            };
            of.old.as_ref().is_some_and(is_other) && of.queued.addition.times.is_none()
        };
        let replaced: Vec<usize> =
            (0..self.planned.len()).filter(|n| is_replaced(&self.planned[*n])).collect();
        if replaced.is_empty() {
            return Ok(());
        }
        let id = |n: &usize| self.planned[*n].queued.addition.document.document.id.as_str();
        let ids: Vec<&str> = replaced.iter().map(id).collect();
        let mut rows = self.collection.by_ids(COLUMNS, &ids).await?;
        for (place, n) in replaced.into_iter().enumerate() {
            let Some(row) = rows.remove(&place) else {
                continue;
            };
            // The answer says less of a version that cannot be read; it is replaced all the same.
            let Ok(record) = self.collection.record(&row, Detail::Set) else {
                continue;
            };
            let old = self.planned[n].old.as_mut();
            let ordinal = record.ordinal.get().cast_signed();
            if let Some(old) = old.filter(|old| old.ordinal == ordinal) {
                old.record = Some(Box::new(record));
            }
        }
        Ok(())
    }

    /// Reads more sets of the keys of which not all were read, in one call for all documents with
    /// too few near sets among those: the next lookup of each would read them.
    /// Returns whether it read any.
    async fn read_further(&mut self) -> Result<bool, BackendError> {
        let mut asked = ProbeKeys { keys: Vec::new(), equal: None, of_key: 0 };
        let mut keys = HashSet::<i64>::new();
        for planned in &mut self.planned {
            let Some((search, probe)) = planned.search() else { continue };
            let selection = &planned.selected;
            let may_be_near = |of: &&Candidate| {
                self.collection.estimator.estimate(of.agreeing).value >= search.threshold.get()
            };
            let near = selection.found.iter().filter(may_be_near).count();
            let of_batch = planned.queued.addition.search.as_ref();
            let further = of_batch.and_then(|search| Some(search.candidates?[1]));
            let is_enough = selection.are_compared || near >= search.limits.members_max;
            if is_enough || planned.limits == further {
                continue;
            }
            let is_wanted =
                |key: &i64| !keys.contains(key) && self.found.has_more(*key, probe.of_key);
            let own: Vec<i64> = probe.keys.iter().copied().filter(is_wanted).collect();
            let of_key = further.map_or(0, |limits| of_key(probe.keys.len(), &limits));
            planned.searches_apart = !asked.add_keys(&own, of_key);
            if !planned.searches_apart {
                keys.extend(own);
                planned.limits = further;
                // The database reports new ones of as many sets under the locks.
                if let Some(probe) = &mut planned.probe {
                    probe.of_key = of_key.max(probe.of_key);
                }
            }
        }
        if keys.is_empty() {
            return Ok(false);
        }
        let of_keys = vec![asked.of_key as i32 + 1; asked.keys.len()];
        let parameters = parameters![asked.keys, of_keys];
        let sql = "SELECT * FROM akin.candidates($1, $2, '{}', -1)";
        for row in self.collection.shared.reads.query(sql, parameters).await? {
            self.found.add(&row, 0);
        }
        Ok(true)
    }

    /// Reads the sketches that the cache does not have, and selects the best sets of each document.
    async fn select(&mut self) -> Result<(), BackendError> {
        // The engine looks the sets of records up.
        if self.planned.iter().all(|planned| planned.search().is_none()) {
            return Ok(());
        }
        let missing = self.found.know_of(|entry| self.collection.sketch_of(entry));
        if !missing.is_empty() {
            let (reads, sql) = (&self.collection.shared.reads, "SELECT * FROM akin.sketches($1)");
            for row in reads.query(sql, parameters![missing]).await? {
                for set in NearSet::of(&row, 0) {
                    self.collection.keep_sketch(Arc::clone(&set));
                    self.found.know(set);
                }
            }
        }
        for planned in &mut self.planned {
            let Some((search, probe)) = planned.search() else { continue };
            planned.selected = self.collection.select(&search, probe, &self.found);
        }
        Ok(())
    }

    /// The places among the selected sets of a document that may reach the threshold. The others do
    /// not, by a comparison with the sets that the cache has, so their documents need not be read:
    /// a crowd has many.
    fn near(&self, planned: &PlannedInsert<'_>) -> Vec<usize> {
        let Some((search, _)) = planned.search() else { return Vec::new() };
        let (own, found) =
            (&planned.queued.addition.document.analysis.set, &planned.selected.found);
        let shingles = |of: &Candidate| own.count() + of.shingles as usize;
        let are_long = are_long(found.iter().map(shingles));
        let may_reach = |n: &usize| {
            are_long || !self.collection.has_sets || {
                let set = self.collection.sets.get(found[*n].fingerprint);
                set.is_none_or(|set| Overlap::reaching(own, &set, search.threshold.get()).is_some())
            }
        };
        (0..found.len()).filter(may_reach).collect()
    }

    /// Reads the selected sets for all documents in one call, which also fills the cache of sets.
    async fn read_found(&mut self) -> Result<(), BackendError> {
        let mut members_max = 0;
        for planned in &mut self.planned {
            let Some((search, _)) = planned.search() else {
                // The engine looks records up.
                planned.is_stale |= planned.probe.is_some() && self.seen >= 0;
                continue;
            };
            members_max = search.limits.members_max.max(members_max);
            planned.is_stale |= !planned.selected.found.is_empty();
        }
        let (mut selected, mut compared) = (Vec::<(usize, &Candidate)>::new(), 0);
        for planned in &self.planned {
            let (near, found) = (self.near(planned).into_iter(), &planned.selected.found);
            selected.extend(near.map(|n| (n, &found[n])));
            compared += found.iter().map(|of| of.shingles as usize).sum::<usize>();
            if compared > COMPARED_SHINGLES_MAX {
                compared = 0;
                yield_now().await;
            }
        }
        // The best of each document first: their elements are read, too.
        selected.sort_by_key(|(rank, _)| *rank);
        let mut known = HashSet::new();
        let distinct = selected.into_iter().map(|(_, set)| set);
        let distinct: Vec<&Candidate> =
            distinct.filter(|set| known.insert(set.fingerprint)).collect();
        self.read = self.collection.read(&distinct, members_max, distinct.len()).await?;
        Ok(())
    }
}

/// Whether comparisons of so many shingles each take too long for a thread of the runtime.
fn are_long(comparisons: impl Iterator<Item = usize>) -> bool {
    comparisons.sum::<usize>() > COMPARED_SHINGLES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_many_shingles_are_not_compared() {
        assert!(!are_long([COMPARED_SHINGLES_MAX / 2; 2].into_iter()));
        assert!(are_long([COMPARED_SHINGLES_MAX / 2 + 1; 2].into_iter()));
    }
}
