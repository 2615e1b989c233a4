//! Near-duplicates among documents that no collection holds.
//!
//! In memory are the id of each document and the sketch of each distinct set, of records also their
//! fields; the sets themselves are in a temporary file.

mod records;
mod sets;

use std::io;
use std::ops::ControlFlow;

use self::records::{Comparing, Records};
use super::{Analyser, Analysis, CollectionSettings, Mode};
use crate::document::DocumentId;
use crate::join::{Corpus, CorpusBuilder, Documents, JoinError, Linkage, Pair, Progress, Stopped};
use crate::scheme::{Kind, Threshold};
use crate::text::NormalisedFields;
use sets::{SetReader, SetWriter};

/// Takes documents one by one.
pub struct OfflineGathering {
    analyser: Analyser,
    builder: CorpusBuilder,
    /// The place of each document's set, by the number of the document.
    place_of: Vec<u32>,
    sets: SetWriter,
    /// The record of each distinct set, in the order of arrival; `None` where documents are none.
    records: Option<Vec<NormalisedFields>>,
    points_max: u32,
}

impl OfflineGathering {
    /// # Errors
    /// There cannot be a temporary file.
    pub fn new(settings: &CollectionSettings) -> io::Result<Self> {
        let analyser = Analyser::new(settings);
        Ok(Self {
            builder: CorpusBuilder::new(analyser.scheme.sketch_bytes()),
            analyser,
            place_of: Vec::new(),
            sets: SetWriter::create()?,
            records: (settings.scheme.kind == Kind::Fields).then(Vec::new),
            points_max: settings.scheme.points_max(),
        })
    }

    /// Gives back the document's number: how many there were before it.
    ///
    /// # Errors
    /// The disk is full; or there are as many documents as there are numbers.
    ///
    /// # Panics
    /// If a record comes without its fields.
    pub fn push(
        &mut self,
        id: DocumentId,
        analysis: &Analysis,
        record: Option<NormalisedFields>,
    ) -> io::Result<u32> {
        let too_many = |_| io::Error::other("there are more than 4294967295 documents");
        let number = u32::try_from(self.place_of.len()).map_err(too_many)?;
        let (set, sketch) = (&analysis.set, analysis.sketch.as_bytes());
        let (fingerprint, shingles) = (analysis.fingerprint, set.count() as u32);
        let arrival = self.builder.push((id, number), fingerprint, shingles, sketch);
        // Distinct sets are in the file in the order in which they came.
        if arrival.is_new {
            self.sets.push(set)?;
            if let Some(records) = &mut self.records {
                records.push(record.expect("a record comes with its fields"));
            }
        }
        self.place_of.push(arrival.set);
        Ok(number)
    }

    /// # Errors
    /// The disk is full.
    pub fn finish(self) -> io::Result<OfflineCorpus> {
        let Self { analyser, builder, place_of, sets, records, points_max } = self;
        let (corpus, documents) = builder.finish();
        let first = |set| place_of[documents.of(set)[0].1 as usize];
        let places: Vec<u32> = (0..corpus.count()).map(first).collect();
        let by_number = |records: Vec<NormalisedFields>| {
            places.iter().map(|place| records[*place as usize].clone()).collect()
        };
        let records = records.map(|all| Records { by_number: by_number(all), points_max });
        Ok(OfflineCorpus { analyser, sets: sets.finish(places)?, corpus, documents, records })
    }
}

/// Documents to be gone through as often as wanted. Sets are numbered in the byte order of their
/// smallest ids.
pub struct OfflineCorpus {
    analyser: Analyser,
    corpus: Corpus,
    documents: Documents,
    sets: SetReader,
    records: Option<Records>,
}

impl OfflineCorpus {
    /// The documents behind each set, with their numbers.
    #[must_use]
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// How many distinct sets there are.
    #[must_use]
    pub fn sets(&self) -> u32 {
        self.corpus.count()
    }

    /// The most points that two records can have, if documents are records: their resemblance is
    /// their share of these points.
    #[must_use]
    pub fn points_max(&self) -> Option<u32> {
        self.records.as_ref().map(|records| records.points_max)
    }

    /// The resemblance of two documents with this set: 1, but of records that lack a field less.
    #[must_use]
    pub fn resemblance_of_equal(&self, set: u32) -> f64 {
        self.records.as_ref().map_or(1.0, |records| records.resemblance_of_equal(set))
    }

    /// The chance that a pair at just the threshold is found.
    #[must_use]
    pub fn expected_recall(&self, mode: Mode, threshold: Threshold) -> f64 {
        self.analyser.expected_recall(mode, threshold)
    }

    /// Visits every pair of distinct sets at or over the threshold once, with the documents behind
    /// all sets; always in the same order, until the visitor breaks off.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], also if the visitor broke off; a set could not be read back.
    pub fn pairs(
        &mut self,
        mode: Mode,
        threshold: Threshold,
        progress: &Progress,
        mut visit: impl FnMut(&Documents, SetPair) -> ControlFlow<()>,
    ) -> Result<(), JoinError<io::Error>> {
        let Self { analyser, corpus, documents, sets, records } = self;
        if let Some(records) = records {
            let comparing = Comparing::new(records, corpus, analyser, (mode, threshold));
            return Ok(comparing.pairs(progress, |a, b, resemblance| {
                match visit(documents, SetPair { a, b, resemblance }) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => Err(Stopped),
                }
            })?);
        }
        let join = analyser.join(corpus, sets, (mode, threshold), progress)?;
        join.pairs(sets, progress, |pair| visit(documents, SetPair::of(&pair, analyser)))
    }

    /// The representative of each set, by number: the lowest number in its cluster, its own if it
    /// is alone.
    ///
    /// # Errors
    /// [`JoinError::Stopped`]; a set could not be read back.
    pub fn clusters(
        &mut self,
        mode: Mode,
        threshold: Threshold,
        linkage: Linkage,
        progress: &Progress,
    ) -> Result<Vec<u32>, JoinError<io::Error>> {
        let Self { analyser, corpus, sets, records, .. } = self;
        if let Some(records) = records {
            let comparing = Comparing::new(records, corpus, analyser, (mode, threshold));
            return Ok(comparing.clusters(linkage, progress)?);
        }
        let join = analyser.join(corpus, sets, (mode, threshold), progress)?;
        join.clusters(linkage, sets, progress)
    }
}

/// Two sets at or over the threshold, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetPair {
    pub a: u32,
    pub b: u32,
    /// Exact where it is known, else the estimate; of records the share of the most points.
    pub resemblance: f64,
}

impl SetPair {
    fn of(pair: &Pair, analyser: &Analyser) -> Self {
        let estimate = || analyser.estimator.estimate(pair.agreeing).value;
        let resemblance = pair.overlap.map_or_else(estimate, |overlap| overlap.resemblance());
        Self { a: pair.a, b: pair.b, resemblance }
    }
}

#[cfg(test)]
mod tests;
