//! Near-duplicate search over documents outside any collection.
//!
//! Memory holds the id of each document, the sketch of each distinct set and, if documents are
//! records, their fields; the sets themselves are in a temporary file.

mod bands;
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

/// Collects the documents of an [`OfflineCorpus`].
pub struct OfflineGathering {
    analyser: Analyser,
    builder: CorpusBuilder,
    /// The position of each document's set in the file, by the document's number.
    position_of: Vec<u32>,
    sets: SetWriter,
    /// The record of each distinct set, in order of arrival; `None` if documents are not records.
    records: Option<Vec<NormalisedFields>>,
    points_max: u32,
    /// Of each document: the lower, the rather it is kept.
    ranks: Vec<u64>,
    /// How many documents are old.
    old: u32,
}

impl OfflineGathering {
    /// # Errors
    /// The temporary file cannot be created.
    pub fn new(settings: &CollectionSettings) -> io::Result<Self> {
        let analyser = Analyser::new(settings);
        Ok(Self {
            builder: CorpusBuilder::new(analyser.scheme.sketch_bytes()),
            analyser,
            position_of: Vec::new(),
            sets: SetWriter::create()?,
            records: (settings.scheme.kind == Kind::Fields).then(Vec::new),
            points_max: settings.scheme.points_max(),
            ranks: Vec::new(),
            old: 0,
        })
    }

    /// The documents so far are old: each represents itself, and further ones are compared with all
    /// of them. Returns how many there are.
    pub fn end_old(&mut self) -> u32 {
        self.old = self.ranks.len() as u32;
        self.ranks.fill(0);
        self.old
    }

    /// Adds a document and returns its number; numbers are consecutive from 0. Of a cluster, the
    /// document with the lowest rank is the representative.
    ///
    /// # Errors
    /// The disk is full, or there are more documents than 32-bit numbers.
    ///
    /// # Panics
    /// If documents are records and `record` is `None`.
    pub fn push(
        &mut self,
        id: DocumentId,
        analysis: &Analysis,
        record: Option<NormalisedFields>,
        rank: u64,
    ) -> io::Result<u32> {
        let too_many = |_| io::Error::other("there are more than 4294967295 documents");
        let number = u32::try_from(self.position_of.len()).map_err(too_many)?;
        let (set, sketch) = (&analysis.set, analysis.sketch.as_bytes());
        let (fingerprint, shingles) = (analysis.fingerprint, set.count() as u32);
        let arrival = self.builder.push((id, number.into()), fingerprint, shingles, sketch);
        // The file holds distinct sets in order of arrival.
        if arrival.is_new {
            self.sets.push(set)?;
            if let Some(records) = &mut self.records {
                records.push(record.expect("the caller passes the fields of a record"));
            }
        }
        self.position_of.push(arrival.set);
        self.ranks.push(if self.old > 0 { rank.max(1) } else { rank });
        Ok(number)
    }

    /// # Errors
    /// The disk is full.
    pub fn finish(self) -> io::Result<OfflineCorpus> {
        let Self { analyser, builder, position_of, sets, records, points_max, ranks, old } = self;
        let (corpus, documents) = builder.finish_ranked(|number| ranks[number as usize]);
        drop(ranks);
        let is_old = |set: &u32| documents.of(*set)[0].1 < u64::from(old);
        let protected = (0..corpus.count()).take_while(is_old).count() as u32;
        let first = |set| position_of[documents.of(set)[0].1 as usize];
        let positions: Vec<u32> = (0..corpus.count()).map(first).collect();
        let by_number = |records: Vec<NormalisedFields>| {
            positions.iter().map(|position| records[*position as usize].clone()).collect()
        };
        let records = records.map(|all| Records { by_number: by_number(all), points_max });
        let sets = sets.finish(positions)?;
        Ok(OfflineCorpus { analyser, corpus, documents, sets, records, protected })
    }
}

/// A corpus that can be searched repeatedly. Sets are numbered by the ranks of
/// their documents, then in the byte order of their smallest ids.
pub struct OfflineCorpus {
    analyser: Analyser,
    corpus: Corpus,
    documents: Documents,
    sets: SetReader,
    records: Option<Records>,
    /// The first sets are those of old documents.
    protected: u32,
}

impl OfflineCorpus {
    /// The documents of each set, with their numbers.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Number of distinct sets.
    pub fn sets(&self) -> u32 {
        self.corpus.count()
    }

    /// The maximum score of a pair of records, if documents are records: resemblance is the score
    /// divided by it.
    pub fn points_max(&self) -> Option<u32> {
        self.records.as_ref().map(|records| records.points_max)
    }

    /// The resemblance of two documents with this set: 1, or less for records that lack a field.
    pub fn resemblance_of_equal(&self, set: u32) -> f64 {
        self.records.as_ref().map_or(1.0, |records| records.resemblance_of_equal(set))
    }

    /// The probability that a pair exactly at the threshold is found.
    pub fn expected_recall(&self, mode: Mode, threshold: Threshold) -> f64 {
        self.analyser.expected_recall(mode, threshold)
    }

    /// Visits every pair of distinct sets at or over the threshold once, in a deterministic order,
    /// until the visitor breaks. The visitor also gets the documents of all sets.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], also if the visitor breaks; a set could not be read back.
    pub fn pairs(
        &mut self,
        mode: Mode,
        threshold: Threshold,
        progress: &Progress,
        mut visit: impl FnMut(&Documents, SetPair) -> ControlFlow<()>,
    ) -> Result<(), JoinError<io::Error>> {
        let Self { analyser, corpus, documents, sets, records, .. } = self;
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

    /// The representative of each set, by number: the lowest number in its cluster.
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
        let Self { analyser, corpus, sets, records, protected, .. } = self;
        if let Some(records) = records {
            let comparing = Comparing::new(records, corpus, analyser, (mode, threshold));
            return Ok(comparing.clusters(linkage, *protected, progress)?);
        }
        let join = analyser.join(corpus, sets, (mode, threshold), progress)?;
        join.protecting(*protected).clusters(linkage, sets, progress)
    }
}

/// Two sets at or over the threshold, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetPair {
    pub a: u32,
    pub b: u32,
    /// Exact if known, else the estimate; for records, the score divided by the maximum.
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
