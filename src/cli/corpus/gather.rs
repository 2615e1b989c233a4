//! From files to a corpus in which near-duplicates are found.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use indicatif::{HumanBytes, HumanCount};

use super::keep::{Keep, LAST};
use super::memory::Memory;
use super::names::{Names, Repeated};
use super::pipeline::{Analysed, analyse};
use super::{CorpusOptions, DuplicateIds};
use crate::cli::failure::Failure;
use crate::cli::input::{Cancelled, Emit, Origin, Selection, read_inputs};
use crate::cli::meter::{Meter, Unit};
use crate::document::DocumentId;
use crate::engine::{Analyser, CollectionSettings, OfflineCorpus, OfflineGathering, Room};

/// Failures beyond these are only counted.
const FAILURES_SHOWN_MAX: u64 = 10;

/// A corpus that was read.
pub struct Gathered {
    pub corpus: OfflineCorpus,
    /// Whether each document of the input is in the corpus, in their order. Those that are, also
    /// those that are left out because of their ids, have ascending numbers from
    /// [`OfflineCorpus::first_new`].
    pub are_numbered: Vec<bool>,
    /// Lines and files that could not be read as documents.
    pub failed: u64,
}

/// What a corpus is made of.
pub struct Gathering<'g> {
    pub settings: &'g CollectionSettings,
    pub options: &'g CorpusOptions,
    /// Says which documents are rather kept.
    pub keep: &'g Keep,
    /// What is written of it, if that is a file: temporary files are beside it.
    pub output: Option<&'g Path>,
    /// Whether all pairs are listed, whose keys are in memory.
    pub lists_pairs: bool,
}

impl Gathering<'_> {
    /// # Errors
    /// Two documents have one id; or the temporary files cannot be written. Whatever is not a
    /// document is reported and counted.
    pub fn gather(
        &self,
        old: Option<&Selection>,
        selection: &Selection,
    ) -> Result<Gathered, Failure> {
        let analyser = Analyser::new(self.settings);
        let sizes =
            [old, Some(selection)].into_iter().flatten().map(|s| s.bytes(|| true).unwrap_or(0));
        let total = sizes.sum();
        let room = self.options.room(self.output);
        check_disk(&room, total)?;
        let meter = Meter::new(self.options.analysis.quiet, "reading", Unit::Bytes, total);
        let names = Names::new(&room, old.is_some());
        let memory = Memory::new(&room, self.lists_pairs);
        let gathering = OfflineGathering::within(self.settings, room);
        let mut gatherer = Gatherer {
            gathering: gathering.map_err(|error| disk_failed(&error))?,
            meter: &meter,
            names,
            duplicate_ids: self.options.duplicate_ids,
            are_numbered: Vec::new(),
            failed: 0,
            keep: self.keep,
            is_ranked: false,
            memory,
        };
        let (how, threads) = ((&analyser, self.keep), self.options.analysis.threads());
        if let Some(old) = old {
            analyse(read(old), how, threads, &meter, |analysed| gatherer.take(analysed))?;
            gatherer.end_old();
        }
        analyse(read(selection), how, threads, &meter, |analysed| gatherer.take(analysed))?;
        gatherer.finish()
    }
}

fn read(
    selection: &Selection,
) -> impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send {
    |bytes_read, emit| read_inputs(selection, bytes_read, emit)
}

/// Sets take about as much as the texts that they are made of.
fn check_disk(room: &Room, input_bytes: u64) -> Result<(), Failure> {
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
    gathering: OfflineGathering,
    meter: &'a Meter,
    names: Names,
    duplicate_ids: DuplicateIds,
    are_numbered: Vec<bool>,
    failed: u64,
    keep: &'a Keep,
    /// A document says what the one to keep is chosen by.
    is_ranked: bool,
    memory: Memory,
}

impl Gatherer<'_> {
    /// Ids need not differ from those of old documents.
    fn end_old(&mut self) {
        self.gathering.end_old();
        self.names.end_old();
        self.are_numbered = Vec::new();
    }

    fn take(&mut self, analysed: Analysed) -> Result<(), Failure> {
        match analysed {
            Analysed::Unread { origin, reason } => self.fail(&origin, &reason),
            Analysed::Invalid { origin, reason } => {
                self.fail(&origin, &reason);
                self.are_numbered.push(false);
            }
            Analysed::Document { id, origin, analysis, record, rank } => {
                self.memory.take(&id)?;
                self.is_ranked |= rank != LAST;
                let is_first = *self.keep == Keep::First;
                let rank = if is_first { self.are_numbered.len() as u64 } else { rank };
                let number = match analysis {
                    Some(analysis) => self.gathering.push(&id, &analysis, record, rank),
                    None => self.gathering.push_empty(&id),
                };
                let number = number.map_err(|error| disk_failed(&error))?;
                let named = self.names.push(&id, number, &origin);
                named.map_err(|error| disk_failed(&error))?;
                self.are_numbered.push(true);
            }
        }
        Ok(())
    }

    fn fail(&mut self, origin: &Origin, reason: &str) {
        self.failed += 1;
        if self.failed <= FAILURES_SHOWN_MAX {
            self.meter.print(&format!("failed: {origin}: {reason}"));
        }
    }

    fn finish(self) -> Result<Gathered, Failure> {
        let Self { mut gathering, meter, names, duplicate_ids, are_numbered, failed, .. } = self;
        let (keep, is_ranked) = (self.keep, self.is_ranked);
        if !are_numbered.contains(&true) {
            return Err(Failure::with_hint(
                "there is no document in the inputs",
                "a file in a directory is skipped if it is in no format that is read; named by \
                 itself it is refused with a reason",
            ));
        }
        if !is_ranked && let Some(members) = keep.members() {
            return Err(Failure::with_hint(
                format!("no document has a number or a date as its {members}"),
                "--keep takes id, first, longest, newest, or the name of such a member",
            ));
        }
        let repeated = names.finish().map_err(|error| disk_failed(&error))?;
        if let (Some(first), DuplicateIds::Refuse) = (repeated.first(), duplicate_ids) {
            let id = gathering.id(first.number).map_err(|error| disk_failed(&error))?;
            return Err(repeated_id(&id, first));
        }
        let left_out: Vec<u32> = repeated.iter().map(|repeated| repeated.number).collect();
        let corpus = gathering.finish(&left_out).map_err(|error| disk_failed(&error))?;
        if failed > FAILURES_SHOWN_MAX {
            meter.print(&format!("failed: {} more", HumanCount(failed - FAILURES_SHOWN_MAX)));
        }
        if !left_out.is_empty() {
            let repeated = HumanCount(left_out.len() as u64);
            meter.print(&format!("left out, with the id of an earlier document: {repeated}"));
        }
        Ok(Gathered { corpus, are_numbered, failed })
    }
}

fn repeated_id(id: &DocumentId, Repeated { first, again, .. }: &Repeated) -> Failure {
    Failure::with_hint(
        format!("the id '{id}' stands twice: {first} and {again}"),
        "--duplicate-ids keep-first leaves out the later documents",
    )
}

pub fn disk_failed(error: &io::Error) -> Failure {
    Failure::with_hint(
        format!("the corpus cannot be kept in temporary files: {error}"),
        "set TMPDIR to a directory with more room",
    )
}
