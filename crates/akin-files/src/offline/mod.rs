//! Near-duplicate search over documents outside any collection.
//!
//! Ids, sketches and sets are in temporary files, and sorting is external. Memory holds some 36
//! bytes for each document (80 more to find documents that lie in others), keys and buffers up to
//! [`Room::memory`], and the fields of records. (To list pairs, the keys of all sets are in memory,
//! too.)

mod contained;
mod documents;
mod gathering;
mod natural;
mod pair;
mod records;
mod room;
mod rows;
mod set_rows;
mod sets;
mod sorter;
mod state;
mod words;

pub use contained::Rarest;
pub use documents::{OfflineDocuments, Rank};
pub use gathering::OfflineGathering;
pub use natural::natural_order;
pub use pair::SetPair;
pub use room::Room;
pub use sorter::{Sorted, Sorter};
pub use state::{OfflineState, STATE_FILES, StateError};
pub use words::WordsReader;

use std::io;
use std::ops::{ControlFlow, Range};

use self::records::{Comparing, OfflineRecords};
use self::rows::{ContinuedFile, IdReader};
use self::sets::SetReader;
use self::words::read_words;
use akin_core::join::{JoinError, JoinProgress, LeftOut, Linkage, Sets, Stopped};
use akin_core::measure::Overlap;
use akin_core::scheme::Threshold;
use akin_core::text::ShingleSet;
use akin_model::analysis::{Analyser, Mode};
use akin_model::clusters::Incomplete;
use akin_model::document::DocumentId;

/// Bytes of memory for each document, at the peak of the work.
pub const DOCUMENT_BYTES: usize = 36;

/// Further bytes of memory for each document while it is found which documents lie in others: at
/// most 55 of the counters and of [`Rarest`], 8 of the place of its words, 4 of its place in the
/// order, 4 of its survivor, and 8 of the kept documents that have its set.
pub const CONTAINED_BYTES: usize = 80;

/// In place of a number of elements.
const NOT_COUNTED: u32 = u32::MAX;

/// A corpus that can be searched repeatedly. Sets are numbered by the ranks of
/// their documents, then in the natural order of their smallest ids.
pub struct OfflineCorpus {
    analyser: Analyser,
    room: Room,
    documents: OfflineDocuments,
    sets: SetReader,
    ids: IdReader,
    /// The words of all texts, if they are kept.
    words: Option<ContinuedFile>,
    records: Option<OfflineRecords>,
    /// The number of sets of old documents, which come first.
    protected: u32,
    first_new: u32,
    empty: Vec<u32>,
    /// The number of the batch of the state with the same documents, from 1.
    repeats: Option<usize>,
    /// How many elements of each set its representative lacks, if [`Self::clusters`] counted them.
    lacking: Vec<u32>,
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

    /// Reads the words of all documents.
    ///
    /// # Errors
    /// The words could not be read back, or were not added.
    pub fn words(&self) -> io::Result<WordsReader<'_>> {
        let file = self.words.as_ref().ok_or_else(no_words)?;
        Ok(WordsReader::new(file.reader()?))
    }

    /// Reads the words of a document. `range`: their places among the words of all documents.
    ///
    /// # Errors
    /// The words could not be read back, or were not added.
    pub fn read_words(
        &self,
        number: u32,
        range: Range<u64>,
        words: &mut Vec<u64>,
    ) -> io::Result<()> {
        read_words(self.words.as_ref().ok_or_else(no_words)?, number, range, words)
    }

    /// The memory that the work with the corpus may use, and its directory.
    pub fn room(&self) -> &Room {
        &self.room
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
        progress: &JoinProgress,
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

    /// Whether the set of each document, by its number, is to be added by [`Self::add_set`] before
    /// documents are compared; `None` if all sets are kept.
    ///
    /// # Errors
    /// [`JoinError::Stopped`]; a temporary file could not be read.
    pub fn documents_to_read(
        &mut self,
        mode: Mode,
        threshold: Threshold,
        progress: &JoinProgress,
    ) -> Result<Option<Vec<bool>>, JoinError<io::Error>> {
        let memory = self.join_memory();
        let Self { analyser, documents, sets, records, .. } = self;
        if records.is_some() || sets.are_kept() {
            return Ok(None);
        }
        let is_read = analyser.sets_to_read((&mut *sets, memory), (mode, threshold), progress)?;
        let mut to_read = vec![false; documents.numbers() as usize];
        for set in (0..documents.sets()).filter(|set| is_read[*set as usize]) {
            to_read[documents.of(set)[0] as usize] = true;
        }
        Ok(Some(to_read))
    }

    /// Adds the set of a document. Returns whether the set has as many elements as before.
    ///
    /// # Errors
    /// The disk is full.
    pub fn add_set(&mut self, number: u32, set: &ShingleSet) -> io::Result<bool> {
        let place = self.documents.set_of(number);
        let Some(place) = place.filter(|place| self.size(*place) == set.count()) else {
            return Ok(false);
        };
        self.sets.add(place, set).map(|()| true)
    }

    /// Bytes that keys may take.
    fn join_memory(&self) -> usize {
        let taken = self.documents.numbers() as usize * DOCUMENT_BYTES;
        self.room.memory.saturating_sub(taken) / 2
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
        progress: &JoinProgress,
    ) -> Result<(Vec<u32>, LeftOut), JoinError<io::Error>> {
        let memory = self.join_memory();
        let Self { analyser, sets, records, protected, lacking, .. } = self;
        if let Some(records) = records {
            let comparing = Comparing::new(records, sets, analyser, (mode, threshold));
            let comparing = comparing.map_err(JoinError::Sets)?;
            let clusters = comparing.clusters(linkage, *protected, progress)?;
            return Ok((clusters, comparing.left_out()));
        }
        let join = analyser.join(sets, (mode, threshold), progress)?;
        let join = join.protecting(*protected).within(memory);
        let clusters = match linkage {
            Linkage::Single => join.clusters(linkage, sets, progress),
            Linkage::Representative => {
                lacking.resize(sets.count() as usize, NOT_COUNTED);
                join.representatives(sets, progress, |pair| {
                    if let Some(Overlap { shared, b, .. }) = pair.overlap {
                        lacking[pair.b as usize] = (b - shared) as u32;
                    }
                })
            }
        }?;
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

fn no_words() -> io::Error {
    io::Error::other("the corpus has no words")
}

#[cfg(test)]
mod tests;
