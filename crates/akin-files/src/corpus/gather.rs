//! From files to a corpus in which near-duplicates are found.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicU64;

use indicatif::{HumanBytes, HumanCount};

use super::document::{GatheredDocument, NotCompared};
use super::keep::{Keep, NO_RANK};
use super::memory::{CorpusMemory, PairListing};
use super::names::{CorpusFiles, DocumentNames, Repeated};
use super::pipeline::work_in_order;
use super::reading::{bytes_of, read};
use super::sources::{SourceColumn, SourceOptions};
use super::uncompared::Uncompared;
use super::{CorpusOptions, DuplicateIds};
use crate::failure::Failure;
use crate::input::{
    Cancelled, Emit, Event, Item, OnInvalid, Origin, Screening, Selection, WordCounter,
    read_documents,
};
use crate::meter::{Meter, Quantity};
use crate::offline::{OfflineCorpus, OfflineGathering, OfflineState, Rank, Room};
use akin_model::analysis::Analyser;
use akin_model::document::DocumentId;
use akin_model::settings::CollectionSettings;

/// A corpus that was read.
pub struct GatheredCorpus {
    pub corpus: OfflineCorpus,
    /// The outcome of each record, in the order of the input.
    pub outcomes: Vec<RecordOutcome>,
    pub files: CorpusFiles,
    /// The documents that are left out because of their ids, and for each the first document with
    /// this id.
    pub repeated: Vec<(u32, u32)>,
    pub uncompared: Uncompared,
    /// The outcomes of the old records.
    pub old_outcomes: Vec<RecordOutcome>,
    /// The sources, if a column has them.
    pub sources: Option<SourceColumn>,
}

/// The outcome of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// The record is a document of the corpus, also if it is left out because of its id. The
    /// documents have ascending numbers from [`OfflineCorpus::first_new`].
    Numbered,
    /// The record is not a document, and is copied unchanged.
    Copied,
    LeftOut,
}

/// The settings and collaborators of gathering a corpus.
pub struct Gathering<'g> {
    pub settings: &'g CollectionSettings,
    pub options: &'g CorpusOptions,
    /// Ranks the documents of a cluster.
    pub keep: &'g Keep,
    /// The file of the output, if there is one: temporary files go to its directory.
    pub output: Option<&'g Path>,
    /// Has old documents.
    pub state: Option<&'g OfflineState>,
    /// How pairs are listed; `None` if they are not listed.
    pub listing: Option<PairListing>,
    pub sources: &'g SourceOptions,
    /// Shingles that do not count.
    pub ignored: &'g [u64],
    /// Whether the rule `contained` needs the words of texts.
    pub needs_words: bool,
    /// Whether many sets are dropped. [`Self::add_dropped`] adds the sets that are read.
    pub drops_sets: bool,
}

impl<'g> Gathering<'g> {
    /// Of the documents of files, in which no document is special. `output`: the file of the
    /// output, if there is one.
    pub fn new(
        settings: &'g CollectionSettings,
        options: &'g CorpusOptions,
        sources: &'g SourceOptions,
        output: Option<&'g Path>,
    ) -> Self {
        Self {
            settings,
            options,
            keep: &Keep::LowestId,
            output,
            state: None,
            listing: None,
            sources,
            ignored: &[],
            needs_words: false,
            drops_sets: false,
        }
    }

    /// # Errors
    /// Two documents have the same id; or the temporary files cannot be written. Records that are
    /// not documents are reported and counted.
    pub fn gather(
        &self,
        old: Option<&Selection>,
        selection: &Selection,
    ) -> Result<GatheredCorpus, Failure> {
        let reading = &self.options.analysis.read;
        let total = bytes_of(old.into_iter().chain([selection]));
        let meter = Meter::new(reading.quiet, "reading", Quantity::Bytes, total);
        let mut gatherer = self.gatherer(&meter, reading.screening, old.is_some(), total)?;
        if let Some(old) = old {
            self.analyse(read(old), &mut gatherer, None)?;
            gatherer.end_old()?;
        }
        self.analyse(read(selection), &mut gatherer, None)?;
        gatherer.finish()
    }

    /// Gathers an export, in which damaged documents are reported and counted. `damage`: why the
    /// line of a damaged document is none.
    ///
    /// # Errors
    /// As [`Self::gather`]; and the export broke off.
    pub fn gather_export(
        &self,
        export: impl Read + Send,
        damage: fn(&Item) -> Option<String>,
    ) -> Result<GatheredCorpus, Failure> {
        let meter = self.options.analysis.read.meter("reading", []);
        let screening = Screening { on_invalid: OnInvalid::Skip, ..Screening::default() };
        let mut gatherer = self.gatherer(&meter, screening, false, 0)?;
        gatherer.may_be_empty = true;
        let read = |bytes_read: &AtomicU64, emit: &mut Emit<'_>| {
            read_documents("the export", export, bytes_read, emit)
        };
        self.analyse(read, &mut gatherer, Some(damage))?;
        gatherer.finish()
    }

    pub(super) fn analyser(&self) -> Analyser {
        let mut analyser = Analyser::new(self.settings);
        if !self.ignored.is_empty() {
            analyser.shingler = analyser.shingler.ignoring(self.ignored);
        }
        analyser
    }

    fn gatherer<'m>(
        &'m self,
        meter: &'m Meter,
        screening: Screening,
        has_old: bool,
        input_bytes: u64,
    ) -> Result<Gatherer<'m>, Failure> {
        let room = self.options.room(self.output);
        check_disk(&room, input_bytes)?;
        let mut memory = CorpusMemory::new(&room, self.listing, self.needs_words);
        let saved = self.state.map_or(0, OfflineState::documents);
        memory.take_saved(saved)?;
        let names = DocumentNames::new(&room, has_old);
        let gathering = match self.state {
            Some(state) => OfflineGathering::continuing(self.settings, room, state),
            None => OfflineGathering::within(self.settings, room),
        };
        let mut gathering = gathering.map_err(|error| disk_failed(&error))?;
        if self.sources.across {
            gathering.keep_order();
        }
        if self.needs_words {
            gathering.keep_words();
        }
        if self.drops_sets {
            gathering.drop_many_sets();
        }
        Ok(Gatherer {
            of: self,
            gathering,
            names,
            memory,
            meter,
            outcomes: Vec::new(),
            uncompared: Uncompared::default(),
            screening,
            is_ranked: false,
            may_be_empty: false,
            old_outcomes: Vec::new(),
            occurring: vec![false; self.sources.sources.len()],
            sources: self.sources.source_column.as_ref().map(|_| SourceColumn::after_state(saved)),
        })
    }

    /// `damage`: of an export, which has to be whole.
    fn analyse(
        &self,
        read: impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send,
        gatherer: &mut Gatherer<'_>,
        damage: Option<fn(&Item) -> Option<String>>,
    ) -> Result<(), Failure> {
        let words = WordCounter::new(gatherer.screening.min_words);
        let analyser = self.analyser();
        let work = |item: &Item| match damage.and_then(|damage| damage(item)) {
            Some(damage) => Err(NotCompared::Invalid(damage)),
            None => self.document(item, &analyser, &words),
        };
        let (threads, meter) = (self.options.analysis.read.threads(), gatherer.meter);
        work_in_order(read, threads, meter, work, |event, document| match event {
            Event::Failed { reason, .. } if damage.is_some() => Err(broke_off(&reason)),
            event => gatherer.take(event, document),
        })
    }
}

/// The outcome of each record of the input, and its number if it is a document of the corpus.
pub fn numbered(
    outcomes: &[RecordOutcome],
    first: u32,
) -> impl Iterator<Item = (RecordOutcome, u32)> + Clone + '_ {
    let mut next = first;
    outcomes.iter().map(move |outcome| {
        let number = next;
        next += u32::from(*outcome == RecordOutcome::Numbered);
        (*outcome, number)
    })
}

/// The input of two passes has changed.
pub fn changed() -> Failure {
    Failure::new("the input changed while it was read: the output is not complete")
}

fn broke_off(reason: &str) -> Failure {
    Failure::with_hint(format!("the export broke off: {reason}"), "the server's log may say why")
}

/// Sets take about as much as the texts that they are made of.
///
/// # Errors
/// The disk has less room.
pub fn check_disk(room: &Room, input_bytes: u64) -> Result<(), Failure> {
    let free = room.disk_free().map_err(|error| disk_failed(&error))?;
    if free >= input_bytes {
        return Ok(());
    }
    let directory = room.directory.display();
    let (free, wanted) = (HumanBytes(free), HumanBytes(input_bytes));
    Err(Failure::with_hint(
        format!("{directory} has {free} left for temporary files, and the input has {wanted}"),
        "set TMPDIR to a directory with more room",
    ))
}

struct Gatherer<'a> {
    of: &'a Gathering<'a>,
    gathering: OfflineGathering,
    meter: &'a Meter,
    names: DocumentNames,
    outcomes: Vec<RecordOutcome>,
    uncompared: Uncompared,
    screening: Screening,
    /// A document has the member that `--keep` names.
    is_ranked: bool,
    memory: CorpusMemory,
    /// A corpus without documents is no mistake.
    may_be_empty: bool,
    old_outcomes: Vec<RecordOutcome>,
    /// Whether each source of `--sources` occurs.
    occurring: Vec<bool>,
    sources: Option<SourceColumn>,
}

impl Gatherer<'_> {
    /// An id may occur among the old documents and among the new documents.
    fn end_old(&mut self) -> Result<(), Failure> {
        self.gathering.end_old();
        self.names.end_old();
        self.old_outcomes = std::mem::take(&mut self.outcomes);
        // An old document with nothing to compare is no loss, but an old record that cannot be read
        // is.
        self.uncompared.check(self.screening, self.meter)?;
        self.uncompared = Uncompared::default();
        Ok(())
    }

    fn take(
        &mut self,
        event: Event,
        document: Option<Result<GatheredDocument, NotCompared>>,
    ) -> Result<(), Failure> {
        let drop_empty = self.screening.drop_empty;
        let why = match (&event, document) {
            (Event::Item(item), Some(Ok(document)))
                if document.analysis.is_some() || !drop_empty =>
            {
                return self.add(document, &item.origin);
            }
            (_, Some(Ok(_))) => Some(NotCompared::Empty),
            (_, document) => document.and_then(Result::err),
        };
        let outcome = |why: &NotCompared| match why.is_copied(self.screening) {
            true => RecordOutcome::Copied,
            false => RecordOutcome::LeftOut,
        };
        self.outcomes.extend(why.as_ref().map(outcome));
        self.uncompared.take(event, why, self.meter);
        Ok(())
    }

    fn add(&mut self, document: GatheredDocument, origin: &Origin) -> Result<(), Failure> {
        let GatheredDocument { id, analysis, record, rank, source, text_words } = document;
        let shingles = analysis.as_ref().map_or(0, |analysis| analysis.set.count());
        self.memory.take(&id, shingles)?;
        self.is_ranked |= rank != NO_RANK;
        let is_first = matches!(self.of.keep, Keep::First | Keep::None);
        let value = if is_first { self.outcomes.len() as u64 } else { rank };
        let source_rank = self.of.sources.rank(source.as_deref().unwrap_or(&origin.file));
        if let Some(occurs) = self.occurring.get_mut(usize::from(source_rank)) {
            *occurs = true;
        }
        let rank = Rank { source: source_rank, value };
        if let (Some(sources), Some(source)) = (&mut self.sources, &source) {
            sources.push(source);
        }
        if let Some(words) = text_words {
            self.gathering.push_words(&words).map_err(|error| disk_failed(&error))?;
        }
        let number = match &analysis {
            Some(analysis) => self.gathering.push(&id, analysis, record, rank),
            None => self.gathering.push_empty(&id),
        };
        let number = number.map_err(|error| disk_failed(&error))?;
        self.names.push(&id, number, origin).map_err(|error| disk_failed(&error))?;
        self.outcomes.push(RecordOutcome::Numbered);
        self.uncompared.counts.empty += u64::from(analysis.is_none());
        Ok(())
    }

    fn finish(self) -> Result<GatheredCorpus, Failure> {
        let Self { of, gathering, meter, names, outcomes, uncompared, is_ranked, .. } = self;
        if !self.may_be_empty && !outcomes.iter().any(|outcome| *outcome != RecordOutcome::LeftOut)
        {
            return Err(uncompared.nothing_else());
        }
        if !is_ranked
            && outcomes.contains(&RecordOutcome::Numbered)
            && let Some(members) = of.keep.members()
        {
            return Err(Failure::with_hint(
                format!("no document has a number or a date as its {members}"),
                "--keep takes id, first, none, longest, newest, or a member with numbers or dates",
            ));
        }
        let (repeated, files) = names.finish().map_err(|error| disk_failed(&error))?;
        if let (Some(first), DuplicateIds::Refuse) = (repeated.first(), of.options.duplicate_ids) {
            let corpus = gathering.finish(&[]).map_err(|error| disk_failed(&error))?;
            let id = corpus.id(first.number).map_err(|error| disk_failed(&error))?;
            return Err(repeated_id(&id, first));
        }
        uncompared.check(self.screening, meter)?;
        for (source, occurs) in of.sources.sources.iter().zip(self.occurring) {
            if !occurs {
                meter.print(&format!("no document is of the source {source} of --sources"));
            }
        }
        let left_out: Vec<u32> = repeated.iter().map(|repeated| repeated.number).collect();
        let corpus = gathering.finish(&left_out).map_err(|error| disk_failed(&error))?;
        if !left_out.is_empty() {
            let repeated = HumanCount(left_out.len() as u64);
            meter.print(&format!("left out, with the id of an earlier document: {repeated}"));
        }
        let repeated = repeated.iter().map(|it| (it.number, it.first_number)).collect();
        let (old_outcomes, sources) = (self.old_outcomes, self.sources);
        Ok(GatheredCorpus { corpus, outcomes, files, repeated, uncompared, old_outcomes, sources })
    }
}

fn repeated_id(id: &DocumentId, Repeated { first, again, .. }: &Repeated) -> Failure {
    Failure::with_hint(
        format!("the id '{id}' occurs twice: {first} and {again}"),
        "--duplicate-ids keep-first leaves out the later documents",
    )
}

pub fn disk_failed(error: &io::Error) -> Failure {
    Failure::with_hint(
        format!("the corpus cannot be kept in temporary files: {error}"),
        "set TMPDIR to a directory that has room and can be written to",
    )
}
