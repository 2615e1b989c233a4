//! Collects the documents of a corpus.

use std::io;

use xxhash_rust::xxh3::Xxh3Default;

use super::documents::{Rank, SetNumbering, SortKey};
use super::records::OfflineRecords;
use super::rows::{RowWriter, row_files};
use super::state::{OfflineState, Saved};
use super::{OfflineCorpus, Room};
use akin_core::scheme::Kind;
use akin_core::text::NormalisedFields;
use akin_model::analysis::{Analyser, Analysis};
use akin_model::document::DocumentId;
use akin_model::settings::CollectionSettings;

/// Bytes of the sets that are kept, though most of them are never read: computing a set again takes
/// longer than writing and reading it.
const SETS_BYTES_MAX: u64 = 256 << 20;

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
    has_words: bool,
}

impl OfflineGathering {
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
        let files = row_files(|_| room.file())?;
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
            has_words: false,
        })
    }

    /// Also keeps the order of all documents, which takes 4 bytes for each.
    pub fn keep_order(&mut self) {
        self.ordering.keeps_order = true;
    }

    /// Keeps no set once all sets have more than `SETS_BYTES_MAX`, or more than a share of the
    /// memory. The sets that [`OfflineCorpus::documents_to_read`] names are then to be added again.
    pub fn drop_many_sets(&mut self) {
        self.rows.keep_sets_within(SETS_BYTES_MAX.min(self.room.share() as u64));
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

    /// Also keeps the words of all texts, which are pushed before their documents. A state has them
    /// for all its documents, too.
    pub fn keep_words(&mut self) {
        self.has_words = true;
    }

    /// Adds the words of the document that is pushed next, if words are kept.
    ///
    /// # Errors
    /// The disk is full.
    pub fn push_words(&mut self, words: &[u64]) -> io::Result<()> {
        self.digest.update(self.rows.push_words(words)?);
        Ok(())
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

    /// `left_out`: ascending numbers of documents that do not count.
    ///
    /// # Errors
    /// The disk is full.
    pub fn finish(self, left_out: &[u32]) -> io::Result<OfflineCorpus> {
        let Self { analyser, room, rows, ordering, count, records, points_max, .. } = self;
        let (mut empty, old, saved, has_words) = (self.empty, self.old, self.saved, self.has_words);
        let digest = format!("{:032x}", self.digest.digest128());
        let repeats = saved.batches.iter().position(|batch| batch.digest == digest);
        // The documents of later batches, and of this batch itself, are not compared.
        let before =
            repeats.map(|at| at.checked_sub(1).map_or(0, |at| saved.batches[at].ends.documents));
        let forgotten = before.unwrap_or(saved.ends.documents)..saved.ends.documents;
        let is_left_out =
            |number: &u32| forgotten.contains(number) || left_out.binary_search(number).is_ok();
        let documents = ordering.finish(count, is_left_out)?;
        let (sets, ids, words) = rows.finish((saved.ends, saved.files), &documents, &room)?;
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
            words: has_words.then_some(words),
            records,
            protected,
            first_new,
            empty,
            repeats: repeats.map(|at| at + 1),
            lacking: Vec::new(),
            digest,
        })
    }
}
