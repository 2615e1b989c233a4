//! Measures the recall and precision of lookups against a full scan.

use std::collections::HashSet;

use futures_util::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::SHINGLES_AT_ONCE_MAX;
use crate::background;
use crate::background::request::{self, charge, reserve};
use crate::budget::cost;
use crate::document::{DocumentId, Ordinal};
use crate::engine::lookup::ProbeQuery;
use crate::engine::{Analysis, Engine, EngineError, Mode, stopped};
use crate::stored::{Detail, Order, Record};
use akin_core::measure::Overlap;
use akin_core::scheme::Threshold;

/// Stored documents compared per batch.
const RECORDS_AT_ONCE_MAX: usize = 1_024;

/// Sampled documents with more near-duplicates are left out, to bound the memory.
const NEAR_MAX: usize = 1_000;

/// Recall and precision of lookups, measured on a random sample.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Recall {
    #[schema(value_type = f64, example = 0.8)]
    pub threshold: Threshold,
    /// Documents drawn at random and looked up.
    pub sampled: usize,
    /// Sampled documents that do not count, since they have over a thousand near-duplicates or
    /// their lookup was `truncated`.
    pub left_out: usize,
    /// All documents, with which each sampled document was compared.
    pub documents: u64,
    /// Pairs of a sampled document and another document with a similarity of at least the
    /// threshold.
    pub pairs: u64,
    /// The share of the pairs that was found; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.996)]
    pub recall: Option<f64>,
    /// Pairs of sets that differ.
    pub pairs_unequal: u64,
    /// The share of these pairs that was found. Equal sets are always found, so `recall` hides
    /// missed pairs where most pairs are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0.994)]
    pub recall_unequal: Option<f64>,
    /// The share of the found pairs with a similarity of at least the threshold; absent if none was
    /// found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1.0)]
    pub precision: Option<f64>,
    /// The chance to find a document with a similarity of exactly the threshold. A document with a
    /// higher similarity is found more surely.
    #[schema(example = 0.991)]
    pub expected_recall: f64,
}

/// How many documents a measurement draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    Exactly(usize),
    /// Fewer if the request may not cost more.
    AtMost(usize),
}

/// The counts of a running measurement.
#[derive(Default)]
struct Counted {
    left_out: usize,
    pairs: u64,
    found: u64,
    /// The pairs of different sets.
    pairs_unequal: u64,
    found_unequal: u64,
    /// Pairs found that are below the threshold.
    false_positives: u64,
}

/// A share; `None` of nothing.
fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// Allows a single recall measurement of a collection at a time, as each reads every set, and keeps
/// the last result.
#[derive(Default)]
pub(crate) struct RecallMeter {
    in_progress: tokio::sync::Mutex<()>,
    last: Mutex<Option<Recall>>,
}

impl RecallMeter {
    /// The last measurement at the collection's threshold.
    pub fn last(&self) -> Option<Recall> {
        self.last.lock().clone()
    }
}

/// A document of the sample, in the version that was drawn.
struct Sampled {
    id: DocumentId,
    analysis: Analysis,
    /// Near-duplicates found by brute force; `None` if there are more than `NEAR_MAX`.
    near: Option<Vec<Near>>,
}

struct Near {
    id: DocumentId,
    ordinal: Ordinal,
    fingerprint: u64,
}

impl Engine {
    /// Looks up documents drawn at random at a threshold (the collection's if `None`), and compares
    /// them with every stored set of a consistent view. Documents written in the meantime are not
    /// counted. Takes as long as reading all sets, in the background; dropping the future stops it.
    ///
    /// # Errors
    /// `ThresholdTooLow`, `SampleTooCostly`, `OverBudget`, `NotForRecords`, `NotForSignatures`,
    /// `MeasurementUnderWay`, `OutOfService`, `Store`.
    pub async fn measure_recall(
        &self,
        sample: Sample,
        threshold: Option<Threshold>,
    ) -> Result<Recall, EngineError> {
        self.refuse_records()?;
        self.refuse_signatures()?;
        let wanted = threshold.unwrap_or(self.settings.scheme.threshold);
        self.refuse_unindexed(wanted, Mode::Verified)?;
        // Held here, so that a dropped measurement makes room at once.
        let alone = self.recall_meter.in_progress.try_lock();
        let _alone = alone.map_err(|_| EngineError::MeasurementUnderWay)?;
        let sample = self.charge_sample(sample).await?;
        let engine = self.clone();
        let measuring = async move { engine.measure_recall_here(sample, threshold).await };
        background::run(measuring).await.map_err(stopped)?
    }

    /// Charges the comparison of a sample with all documents, and returns the size of the sample.
    async fn charge_sample(&self, sample: Sample) -> Result<usize, EngineError> {
        let (Sample::Exactly(wanted) | Sample::AtMost(wanted)) = sample;
        let documents = self.backend.documents().await? as usize;
        let cost = |sample: usize| {
            let pairs = documents.saturating_mul(sample.min(documents));
            documents / cost::DOCUMENTS + pairs / cost::SAMPLED_PAIRS
        };
        let units_left = request::current().and_then(|memory| memory.units_left());
        let units_left = units_left.unwrap_or(u64::MAX);
        let most = largest(wanted, |sample| cost(sample) as u64 <= units_left);
        if most == 0 || (most < wanted && matches!(sample, Sample::Exactly(_))) {
            return Err(EngineError::SampleTooCostly { documents, sample: wanted, most });
        }
        charge(cost(most))?;
        Ok(most)
    }

    async fn measure_recall_here(
        &self,
        sample: usize,
        threshold: Option<Threshold>,
    ) -> Result<Recall, EngineError> {
        let own = self.settings.scheme.threshold;
        let threshold = threshold.unwrap_or(own);
        let sampled = self.draw(sample).await?;
        // Lookups follow the scan, so that the documents it read are indexed by then.
        let (sampled, documents) = self.scan(sampled, threshold).await?;
        let mut counted = Counted::default();
        for document in &sampled {
            self.evaluate(document, threshold, &mut counted).await?;
        }
        let Counted { left_out, pairs, pairs_unequal, found, .. } = counted;
        let recall = Recall {
            threshold,
            sampled: sampled.len(),
            left_out,
            documents,
            pairs,
            recall: share(found, pairs),
            pairs_unequal,
            recall_unequal: share(counted.found_unequal, pairs_unequal),
            precision: share(found, found + counted.false_positives),
            expected_recall: self.analyser.scheme.plan(threshold).expected_recall,
        };
        if threshold == own {
            let mut last = self.recall_meter.last.lock();
            *last = Some(recall.clone());
        }
        Ok(recall)
    }

    /// Draws at most `sample` documents, as many as fit in memory, sorted by the size of their
    /// sets.
    async fn draw(&self, sample: usize) -> Result<Vec<Sampled>, EngineError> {
        let mut drawn = Vec::new();
        let mut shingles = 0;
        for id in self.backend.sample(sample).await? {
            // It may have been removed in the meantime.
            let Some(analysis) = self.stored(&id).await? else { continue };
            shingles += analysis.set.count();
            if shingles > SHINGLES_AT_ONCE_MAX && !drawn.is_empty() {
                break;
            }
            drawn.push(Sampled { id, analysis, near: Some(vec![]) });
        }
        drawn.sort_by_key(Sampled::shingles);
        Ok(drawn)
    }

    /// Compares the sample with every stored document; returns their number.
    async fn scan(
        &self,
        mut sampled: Vec<Sampled>,
        threshold: Threshold,
    ) -> Result<(Vec<Sampled>, u64), EngineError> {
        let mut records = self.backend.export(Detail::Set, Order::Stored).await;
        let mut documents = 0;
        loop {
            let batch: Vec<Record> =
                records.by_ref().take(RECORDS_AT_ONCE_MAX).try_collect().await?;
            if batch.is_empty() {
                return Ok((sampled, documents));
            }
            documents += batch.len() as u64;
            let compare = move || {
                let bytes = batch.iter().map(|record| compare(&mut sampled, record, threshold));
                (bytes.sum(), sampled)
            };
            let bytes;
            (bytes, sampled) = crate::engine::compute_if(true, compare).await?;
            reserve(bytes)?;
        }
    }

    async fn evaluate(
        &self,
        document: &Sampled,
        threshold: Threshold,
        counted: &mut Counted,
    ) -> Result<(), EngineError> {
        let found = self.found(document, threshold).await?;
        let (Some(near), Some(mut found)) = (&document.near, found) else {
            counted.left_out += 1;
            return Ok(());
        };
        // A document that was written during the scan may be indexed only now: it is missed if a
        // second lookup, before and after which the same version is stored, does not find it.
        let mut stored = HashSet::new();
        for near in near.iter().filter(|near| !found.contains(&near.id)) {
            if self.ordinal(&near.id).await? == Some(near.ordinal) {
                stored.insert(near.ordinal);
            }
        }
        if !stored.is_empty() {
            found.extend(self.found(document, threshold).await?.unwrap_or_default());
        }
        for near in near {
            let is_found = found.remove(&near.id);
            let is_stored = stored.contains(&near.ordinal);
            if !is_found && (!is_stored || self.ordinal(&near.id).await? != Some(near.ordinal)) {
                continue;
            }
            counted.pairs += 1;
            counted.found += u64::from(is_found);
            if near.fingerprint != document.analysis.fingerprint {
                counted.pairs_unequal += 1;
                counted.found_unequal += u64::from(is_found);
            }
        }
        // All other results were added after the scan, or are false positives.
        for id in found {
            let wrong = self.is_false_positive(&id, document, threshold).await?;
            counted.false_positives += u64::from(wrong);
        }
        Ok(())
    }

    /// The ids that a lookup finds; `None` if a work limit truncated it.
    async fn found(
        &self,
        document: &Sampled,
        threshold: Threshold,
    ) -> Result<Option<HashSet<DocumentId>>, EngineError> {
        let (mode, max) = (self.mode_of(None)?, self.settings.limits.candidates_max);
        let of = ProbeQuery::of(&document.analysis, mode, max);
        let query = ProbeQuery { own_id: Some(&document.id), threshold, ..of };
        // Its work is a part of the sample's, which is charged.
        let found = request::within(None, self.find(&query, None)).await?;
        let ids = found.scored.iter().map(|scored| scored.id.clone()).collect();
        Ok((!found.truncated).then_some(ids))
    }

    async fn ordinal(&self, id: &DocumentId) -> Result<Option<Ordinal>, EngineError> {
        let sketched = self.backend.sketched(std::slice::from_ref(id)).await?;
        let listed = sketched.into_iter().flatten().next();
        Ok(listed.and_then(|listed| Some(listed.candidate.members.first()?.ordinal)))
    }

    /// Whether a document is found although it is below the threshold and was not replaced in the
    /// meantime.
    async fn is_false_positive(
        &self,
        id: &DocumentId,
        document: &Sampled,
        threshold: Threshold,
    ) -> Result<bool, EngineError> {
        let before = self.ordinal(id).await?;
        let Some(known) = self.stored(id).await? else { return Ok(false) };
        if Overlap::reaching(&document.analysis.set, &known.set, threshold.get()).is_some() {
            return Ok(false);
        }
        let found = self.found(document, threshold).await?;
        let is_found = found.is_some_and(|found| found.contains(id));
        Ok(is_found && before.is_some() && before == self.ordinal(id).await?)
    }
}

/// The largest number up to `most` that fits, or 0. If a number fits, all smaller numbers fit.
fn largest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut beyond) = (0, most + 1);
    while beyond - fitting > 1 {
        let middle = usize::midpoint(fitting, beyond);
        *if fits(middle) { &mut fitting } else { &mut beyond } = middle;
    }
    fitting
}

/// Notes the record as a near-duplicate of each similar document of the sample, which is sorted by
/// size. Returns the bytes that the notes take.
fn compare(sampled: &mut [Sampled], record: &Record, threshold: Threshold) -> usize {
    let set = record.set.as_ref().expect("the export reads sets");
    let (count, threshold) = (set.count(), threshold.get());
    let too_small = |other: &Sampled| {
        let other = other.shingles();
        other < count && !Overlap::can_reach(other, count, threshold)
    };
    let not_too_large = |other: &Sampled| {
        let other = other.shingles();
        other <= count || Overlap::can_reach(other, count, threshold)
    };
    let start = sampled.partition_point(too_small);
    let end = sampled.partition_point(not_too_large);
    let mut bytes = 0;
    for document in sampled[start..end].iter_mut().filter(|document| document.id != record.id) {
        let own = &document.analysis.set;
        let is_near = document.near.is_some() && Overlap::reaching(own, set, threshold).is_some();
        if is_near {
            document.note(record);
            bytes += size_of::<Near>() + record.id.as_str().len();
        }
    }
    bytes
}

impl Sampled {
    fn shingles(&self) -> usize {
        self.analysis.set.count()
    }

    fn note(&mut self, record: &Record) {
        let Some(near) = &mut self.near else { return };
        let Record { ordinal, fingerprint, .. } = *record;
        near.push(Near { id: record.id.clone(), ordinal, fingerprint });
        if near.len() > NEAR_MAX {
            self.near = None;
        }
    }
}
