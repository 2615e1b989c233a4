//! From files to a corpus in which near-duplicates are found.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use indicatif::HumanCount;
use xxhash_rust::xxh3::xxh3_128;

use super::keep::Keep;
use super::memory::Memory;
use super::pipeline::{Analysed, analyse};
use super::{CorpusOptions, DuplicateIds};
use crate::cli::failure::Failure;
use crate::cli::input::{Cancelled, Emit, Origin, Selection, read_inputs};
use crate::cli::meter::{Meter, Unit};
use crate::document::DocumentId;
use crate::engine::{Analyser, CollectionSettings, OfflineCorpus, OfflineGathering};

/// Failures beyond these are only counted.
const FAILURES_SHOWN_MAX: u64 = 10;

/// What became of each document that was read, in the order of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has this number in the corpus.
    Document(u32),
    /// It has nothing to make a set of, and this id.
    Empty(DocumentId),
    /// It is invalid, or has the id of an earlier one.
    LeftOut,
}

/// A corpus that was read.
pub struct Gathered {
    pub corpus: OfflineCorpus,
    pub fates: Vec<Fate>,
    /// Lines and files that could not be read as documents.
    pub failed: u64,
}

/// # Errors
/// Two documents have one id; or the temporary file cannot be written. Whatever is not a document
/// is reported and counted.
pub fn gather(
    selection: &Selection,
    settings: &CollectionSettings,
    options: &CorpusOptions,
) -> Result<Gathered, Failure> {
    gather_against(None, selection, settings, options, &Keep::default())
}

/// The fates are those of the new documents; `keep` says which of them are rather kept.
///
/// # Errors
/// As [`gather`].
pub fn gather_against(
    old: Option<&Selection>,
    selection: &Selection,
    settings: &CollectionSettings,
    options: &CorpusOptions,
    keep: &Keep,
) -> Result<Gathered, Failure> {
    let analyser = Analyser::new(settings);
    let sizes = [old, Some(selection)].into_iter().flatten().map(|s| s.bytes(|| true).unwrap_or(0));
    let total = sizes.sum();
    let meter = Meter::new(options.analysis.quiet, "reading", Unit::Bytes, total);
    let mut gatherer = Gatherer {
        gathering: OfflineGathering::new(settings).map_err(|error| disk_failed(&error))?,
        meter: &meter,
        origins: Origins::default(),
        duplicate_ids: options.duplicate_ids,
        fates: Vec::new(),
        failed: 0,
        repeated: 0,
        keeps_first: *keep == Keep::First,
        memory: Memory::new(options, analyser.sketch_bytes()),
    };
    let (how, threads) = ((&analyser, keep), options.analysis.threads());
    if let Some(old) = old {
        analyse(read(old), how, threads, &meter, |analysed| gatherer.take(analysed))?;
        gatherer.end_old();
    }
    analyse(read(selection), how, threads, &meter, |analysed| gatherer.take(analysed))?;
    gatherer.finish()
}

fn read(
    selection: &Selection,
) -> impl FnOnce(&AtomicU64, &mut Emit<'_>) -> Result<(), Cancelled> + Send {
    |bytes_read, emit| read_inputs(selection, bytes_read, emit)
}

struct Gatherer<'a> {
    gathering: OfflineGathering,
    meter: &'a Meter,
    origins: Origins,
    duplicate_ids: DuplicateIds,
    fates: Vec<Fate>,
    failed: u64,
    repeated: u64,
    keeps_first: bool,
    memory: Memory,
}

impl Gatherer<'_> {
    /// Ids need not differ from those of old documents.
    fn end_old(&mut self) {
        self.gathering.end_old();
        self.origins = Origins::default();
        self.fates = Vec::new();
    }

    fn take(&mut self, analysed: Analysed) -> Result<(), Failure> {
        let fate = match analysed {
            Analysed::Unread { origin, reason } => {
                self.fail(&origin, &reason);
                return Ok(());
            }
            Analysed::Invalid { origin, reason } => {
                self.fail(&origin, &reason);
                Fate::LeftOut
            }
            Analysed::Document { id, origin, analysis, record, rank } => {
                self.memory.take(&id)?;
                match (self.origins.insert(&id, &origin), self.duplicate_ids, analysis) {
                    (Some(first), DuplicateIds::Refuse, _) => {
                        return Err(repeated_id(&id, &first, &origin));
                    }
                    (Some(_), DuplicateIds::KeepFirst, _) => {
                        self.repeated += 1;
                        Fate::LeftOut
                    }
                    (None, _, None) => Fate::Empty(id),
                    (None, _, Some(analysis)) => {
                        let rank = if self.keeps_first { self.fates.len() as u64 } else { rank };
                        let number = self.gathering.push(id, &analysis, record, rank);
                        Fate::Document(number.map_err(|error| disk_failed(&error))?)
                    }
                }
            }
        };
        self.fates.push(fate);
        Ok(())
    }

    fn fail(&mut self, origin: &Origin, reason: &str) {
        self.failed += 1;
        if self.failed <= FAILURES_SHOWN_MAX {
            self.meter.print(&format!("failed: {origin}: {reason}"));
        }
    }

    fn finish(self) -> Result<Gathered, Failure> {
        let Self { gathering, meter, fates, failed, repeated, .. } = self;
        if fates.iter().all(|fate| *fate == Fate::LeftOut) {
            return Err(Failure::with_hint(
                "there is no document in the inputs",
                "a file in a directory is skipped if it is in no format that is read; named by \
                 itself it is refused with a reason",
            ));
        }
        let corpus = gathering.finish().map_err(|error| disk_failed(&error))?;
        if failed > FAILURES_SHOWN_MAX {
            meter.print(&format!("failed: {} more", HumanCount(failed - FAILURES_SHOWN_MAX)));
        }
        if repeated > 0 {
            let repeated = HumanCount(repeated);
            meter.print(&format!("left out, with the id of an earlier document: {repeated}"));
        }
        Ok(Gathered { corpus, fates, failed })
    }
}

fn repeated_id(id: &DocumentId, first: &Origin, second: &Origin) -> Failure {
    Failure::with_hint(
        format!("the id '{id}' stands twice: {first} and {second}"),
        "--duplicate-ids keep-first leaves out the later documents",
    )
}

/// Where each id was first seen. An id is known by its hash of 128 bits.
#[derive(Default)]
struct Origins {
    files: Vec<Arc<str>>,
    /// The number of the file, and the line.
    first: HashMap<u128, (u32, Option<NonZeroU64>)>,
}

impl Origins {
    /// The origin of an earlier document with this id.
    fn insert(&mut self, id: &DocumentId, origin: &Origin) -> Option<Origin> {
        if self.files.last().is_none_or(|file| *file != origin.file) {
            self.files.push(Arc::clone(&origin.file));
        }
        match self.first.entry(xxh3_128(id.as_str().as_bytes())) {
            Entry::Vacant(free) => {
                let line = origin.line.and_then(NonZeroU64::new);
                free.insert((self.files.len() as u32 - 1, line));
                None
            }
            Entry::Occupied(known) => {
                let (file, line) = *known.get();
                let file = Arc::clone(&self.files[file as usize]);
                Some(Origin { file, line: line.map(NonZeroU64::get) })
            }
        }
    }
}

fn disk_failed(error: &io::Error) -> Failure {
    Failure::with_hint(
        format!("the sets cannot be kept in a temporary file: {error}"),
        "set TMPDIR to a directory with more room",
    )
}
