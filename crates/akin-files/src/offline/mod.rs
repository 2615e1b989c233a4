//! Near-duplicate search over documents outside any collection.
//!
//! Ids, sketches and sets are in temporary files, and sorting is external. Memory holds some 30
//! bytes for each document, keys and buffers up to [`Room::memory`], and the fields of records.
//! (To list pairs, the keys of all sets are in memory, too.)

mod contained;
mod documents;
mod natural;
mod pair;
mod records;
mod room;
mod rows;
mod sets;
mod sorter;
mod state;

pub use contained::{Containment, Settlement};
pub use documents::{OfflineDocuments, Rank};
pub use natural::natural_order;
pub use pair::SetPair;
pub use room::Room;
pub use sorter::Sorter;
pub use state::{OfflineState, STATE_FILES, StateError};

use std::io;
use std::ops::ControlFlow;

use xxhash_rust::xxh3::Xxh3Default;

use self::documents::{SetNumbering, SortKey};
use self::records::{Comparing, OfflineRecords};
use self::rows::{IdReader, RowFiles, RowWriter};
use self::sets::SetReader;
use self::state::Saved;
use akin_core::join::{JoinError, LeftOut, Linkage, Progress, Sets, Stopped};
use akin_core::measure::Overlap;
use akin_core::scheme::{Kind, Threshold};
use akin_core::text::NormalisedFields;
use akin_model::analysis::{Analyser, Analysis, Mode};
use akin_model::clusters::Incomplete;
use akin_model::document::DocumentId;
use akin_model::settings::CollectionSettings;

/// Bytes of memory for each document, at the peak of the work.
pub const DOCUMENT_BYTES: usize = 32;

/// Collects the documents of an [`OfflineCorpus`].
pub struct OfflineGathering {
    analyser: Analyser,
    room: Room,
    rows: RowWriter,
    ordering: SetNumbering,
    count: u32,
    /// The record of each document; `None` if documents are not records.
    records: Option<Vec<Option<NormalisedFields>>>,
    points_max: u32,
    /// Numbers of documents with nothing to make a set of.
    empty: Vec<u32>,
    /// The number of old documents; `None` until [`Self::end_old`].
    old: Option<u32>,
    saved: Saved,
    digest: Xxh3Default,
}

impl OfflineGathering {
    /// # Errors
    /// The temporary files cannot be created.
    pub fn new(settings: &CollectionSettings) -> io::Result<Self> {
        Self::within(settings, Room::default())
    }

    /// # Errors
    /// The temporary files cannot be created.
    pub fn within(settings: &CollectionSettings, room: Room) -> io::Result<Self> {
        Self::after(settings, room, Saved::default())
    }

    /// With the documents of a state as old documents; a state has no records.
    ///
    /// # Errors
    /// The temporary files cannot be created, or the state cannot be read.
    pub fn continuing(
        settings: &CollectionSettings,
        room: Room,
        state: &OfflineState,
    ) -> io::Result<Self> {
        let mut gathering = Self::after(settings, room, state.saved()?)?;
        let ordering = &mut gathering.ordering;
        state.visit(|place, fingerprint, number| ordering.push(place, fingerprint, number))?;
        gathering.old = Some(state.documents());
        Ok(gathering)
    }

    fn after(settings: &CollectionSettings, room: Room, saved: Saved) -> io::Result<Self> {
        let analyser = Analyser::new(settings);
        let files = RowFiles::of(|_| room.file())?;
        Ok(Self {
            rows: RowWriter::new(files, saved.ends, analyser.scheme.sketch_bytes()),
            ordering: SetNumbering::new(&room),
            analyser,
            room,
            count: saved.ends.documents,
            records: (settings.scheme.kind == Kind::Fields).then(Vec::new),
            points_max: settings.scheme.points_max(),
            empty: Vec::new(),
            old: None,
            saved,
            digest: Xxh3Default::new(),
        })
    }

    /// Also keeps the order of all documents, which takes 4 bytes for each.
    pub fn keep_order(&mut self) {
        self.ordering.keeps_order = true;
    }

    /// Declares the documents so far old: each represents itself, and later documents are compared
    /// with all old documents. Returns the number of old documents.
    pub fn end_old(&mut self) -> u32 {
        *self.old.insert(self.count)
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
        id: &DocumentId,
        analysis: &Analysis,
        record: Option<NormalisedFields>,
        rank: impl Into<Rank>,
    ) -> io::Result<u32> {
        let number = self.push_row(id, Some(analysis))?;
        let Rank { source, value: rank } = rank.into();
        let place = SortKey { is_new: self.old.is_some(), source, rank, id: id.as_str() };
        self.ordering.push(place, analysis.fingerprint, number)?;
        if let Some(records) = &mut self.records {
            let record = record.expect("the caller passes the fields of a record");
            records.push(Some(record));
        }
        Ok(number)
    }

    /// Adds a document with nothing to make a set of.
    ///
    /// # Errors
    /// The errors of [`Self::push`].
    pub fn push_empty(&mut self, id: &DocumentId) -> io::Result<u32> {
        let number = self.push_row(id, None)?;
        self.empty.push(number);
        if let Some(records) = &mut self.records {
            records.push(None);
        }
        Ok(number)
    }

    fn push_row(&mut self, id: &DocumentId, analysis: Option<&Analysis>) -> io::Result<u32> {
        let number = self.count;
        let too_many = || io::Error::other("there are more than 4294967294 documents");
        self.count = number.checked_add(1).filter(|next| *next < u32::MAX).ok_or_else(too_many)?;
        let fingerprint = analysis.map_or(0, |analysis| analysis.fingerprint);
        self.digest.update(id.as_str().as_bytes());
        // No id has this byte.
        self.digest.update(&[0]);
        self.digest.update(&fingerprint.to_le_bytes());
        let set = analysis.map(|it| (it.sketch.as_bytes(), &it.set, it.fingerprint));
        self.rows.push(id, set)?;
        Ok(number)
    }

    /// # Errors
    /// The id could not be written or read back.
    pub fn id(&mut self, number: u32) -> io::Result<DocumentId> {
        let files = self.saved.files.as_ref().map(RowFiles::try_clone).transpose()?;
        self.rows.reader((self.saved.ends, files))?.id(number)
    }

    /// `left_out`: ascending numbers of documents that do not count.
    ///
    /// # Errors
    /// The disk is full.
    pub fn finish(self, left_out: &[u32]) -> io::Result<OfflineCorpus> {
        let Self { analyser, room, rows, ordering, count, records, points_max, .. } = self;
        let (mut empty, old, saved) = (self.empty, self.old, self.saved);
        let digest = format!("{:032x}", self.digest.digest128());
        let repeats = saved.batches.iter().position(|batch| batch.digest == digest);
        // The documents of later batches, and of this batch itself, are not compared.
        let before =
            repeats.map(|at| at.checked_sub(1).map_or(0, |at| saved.batches[at].ends.documents));
        let forgotten = before.unwrap_or(saved.ends.documents)..saved.ends.documents;
        let is_left_out =
            |number: &u32| forgotten.contains(number) || left_out.binary_search(number).is_ok();
        let documents = ordering.finish(count, is_left_out)?;
        let (sets, ids) = rows.finish((saved.ends, saved.files), &documents, &room)?;
        let first_new = old.unwrap_or(0);
        let is_old = |set: &u32| documents.of(*set)[0] < first_new;
        let protected = (0..documents.sets()).take_while(is_old).count() as u32;
        let records = records.map(|mut by_document| {
            let record = |set| by_document[documents.of(set)[0] as usize].take();
            let by_number = (0..documents.sets()).map(record);
            let by_number = by_number.map(|record| record.expect("it has a set")).collect();
            OfflineRecords { by_number, points_max }
        });
        empty.retain(|number| left_out.binary_search(number).is_err());
        Ok(OfflineCorpus {
            analyser,
            room,
            documents,
            sets,
            ids,
            records,
            protected,
            first_new,
            empty,
            repeats: repeats.map(|at| at + 1),
            digest,
        })
    }
}

/// A corpus that can be searched repeatedly. Sets are numbered by the ranks of
/// their documents, then in the natural order of their smallest ids.
pub struct OfflineCorpus {
    analyser: Analyser,
    room: Room,
    documents: OfflineDocuments,
    sets: SetReader,
    ids: IdReader,
    records: Option<OfflineRecords>,
    /// The number of sets of old documents, which come first.
    protected: u32,
    first_new: u32,
    empty: Vec<u32>,
    /// The number of the batch of the state with the same documents, from 1.
    repeats: Option<usize>,
    /// Of the new documents.
    digest: String,
}

impl OfflineCorpus {
    /// The numbers of the documents of each set.
    pub fn documents(&self) -> &OfflineDocuments {
        &self.documents
    }

    /// Number of distinct sets.
    pub fn sets(&self) -> u32 {
        self.documents.sets()
    }

    /// The number of elements of a set.
    pub fn size(&self, set: u32) -> usize {
        self.sets.shingles(set)
    }

    /// The number of the first document that is not old.
    pub fn first_new(&self) -> u32 {
        self.first_new
    }

    /// Whether a document has nothing to make a set of.
    pub fn is_empty(&self, number: u32) -> bool {
        self.empty.binary_search(&number).is_ok()
    }

    /// The number of the batch that has the same documents, from 1, if the state has it already.
    pub fn repeats(&self) -> Option<usize> {
        self.repeats
    }

    /// # Errors
    /// The id could not be read back.
    pub fn id(&self, number: u32) -> io::Result<DocumentId> {
        self.ids.id(number)
    }

    /// The ids of all documents by number.
    ///
    /// # Errors
    /// An id could not be read back.
    pub fn ids(&self) -> io::Result<Vec<DocumentId>> {
        (0..self.documents.numbers()).map(|number| self.id(number)).collect()
    }

    /// The maximum score of a pair of records, if documents are records: resemblance is the score
    /// divided by it.
    pub fn points_max(&self) -> Option<u32> {
        self.records.as_ref().map(|records| records.points_max)
    }

    /// The resemblance of two documents with this set: 1, or less for records that lack a field.
    pub fn resemblance_of_equal(&self, set: u32) -> f64 {
        self.records.as_ref().map_or(1.0, |records| records.resemblance(set, set, 1))
    }

    /// The exact resemblance of two sets.
    ///
    /// # Errors
    /// A set could not be read back.
    pub fn resemblance(&mut self, a: u32, b: u32) -> io::Result<f64> {
        match &self.records {
            Some(records) => Ok(records.resemblance(a, b, self.analyser.edit_penalty)),
            None if a == b => Ok(1.0),
            None => Ok(Overlap::of(&self.sets.set(a)?, &self.sets.set(b)?).resemblance()),
        }
    }

    /// The probability that a pair exactly at the threshold is found.
    pub fn expected_recall(&self, mode: Mode, threshold: Threshold) -> f64 {
        self.analyser.expected_recall(mode, threshold)
    }

    /// Visits every pair of distinct sets at or over the threshold once, in a deterministic order,
    /// until the visitor breaks. The visitor also gets the documents of all sets. Returns which
    /// sets were not compared with all their candidates.
    ///
    /// # Errors
    /// [`JoinError::Stopped`], also if the visitor breaks; a set could not be read back.
    pub fn pairs(
        &mut self,
        mode: Mode,
        threshold: Threshold,
        progress: &Progress,
        mut visit: impl FnMut(&OfflineDocuments, SetPair) -> ControlFlow<()>,
    ) -> Result<LeftOut, JoinError<io::Error>> {
        let Self { analyser, documents, sets, records, .. } = self;
        if let Some(records) = records {
            let comparing = Comparing::new(records, sets, analyser, (mode, threshold));
            let comparing = comparing.map_err(JoinError::Sets)?;
            comparing.pairs(progress, |a, b, resemblance| {
                match visit(documents, SetPair { a, b, resemblance }) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => Err(Stopped),
                }
            })?;
            return Ok(comparing.left_out());
        }
        let join = analyser.join(sets, (mode, threshold), progress)?;
        join.pairs(sets, progress, |pair| visit(documents, SetPair::of(&pair, analyser)))?;
        Ok(join.left_out())
    }

    /// The representative of each set, by number: the lowest number in its cluster. And which sets
    /// were not compared with all their candidates.
    ///
    /// # Errors
    /// [`JoinError::Stopped`]; a set could not be read back.
    pub fn clusters(
        &mut self,
        mode: Mode,
        threshold: Threshold,
        linkage: Linkage,
        progress: &Progress,
    ) -> Result<(Vec<u32>, LeftOut), JoinError<io::Error>> {
        let Self { analyser, room, documents, sets, records, protected, .. } = self;
        if let Some(records) = records {
            let comparing = Comparing::new(records, sets, analyser, (mode, threshold));
            let comparing = comparing.map_err(JoinError::Sets)?;
            let clusters = comparing.clusters(linkage, *protected, progress)?;
            return Ok((clusters, comparing.left_out()));
        }
        let join = analyser.join(sets, (mode, threshold), progress)?;
        let taken = documents.numbers() as usize * DOCUMENT_BYTES;
        let memory = room.memory.saturating_sub(taken) / 2;
        let join = join.protecting(*protected).within(memory);
        let clusters = join.clusters(linkage, sets, progress)?;
        Ok((clusters, join.left_out()))
    }

    /// Describes the sets that a join left out by their documents; `None` if there are none.
    ///
    /// # Errors
    /// An id could not be read back.
    pub fn incomplete(&self, left_out: &LeftOut) -> io::Result<Option<Incomplete>> {
        let id = |set| self.id(self.documents.of(set)[0]);
        let example = left_out.example.map(|(a, b)| Ok::<_, io::Error>([id(a)?, id(b)?]));
        let ids = left_out.named.iter().map(|set| id(*set)).collect::<io::Result<_>>()?;
        let documents = u64::from(left_out.sets);
        let incomplete = Incomplete { documents, ids, example: example.transpose()?, shared: None };
        Ok((documents > 0).then_some(incomplete))
    }
}

#[cfg(test)]
mod tests;
