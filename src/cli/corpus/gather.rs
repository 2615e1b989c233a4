//! From files to what near-duplicates are found in.

use std::io;

use indicatif::HumanCount;

use super::pipeline::{Understood, understand};
use crate::cli::failure::Failure;
use crate::cli::import::{Origin, Selection};
use crate::cli::meter::{Meter, Unit};
use crate::engine::{Analyser, CollectionSettings, OfflineCorpus, OfflineGathering};

/// Failures that are told one by one; the others are only counted.
const FAILURES_TOLD_MAX: u64 = 10;

/// What became of something that was read as a document, in the order of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has this number.
    Document(u32),
    /// It has nothing to make a set of.
    Empty,
    Failed,
}

/// A corpus that was read.
pub struct Gathered {
    pub corpus: OfflineCorpus,
    pub fates: Vec<Fate>,
    /// Lines and files that could not be read as documents.
    pub failed: u64,
}

/// # Errors
/// The temporary file cannot be made or is full. What is no document is told, and counted.
pub fn gather(
    selection: &Selection,
    settings: &CollectionSettings,
    threads: usize,
    quiet: bool,
) -> Result<Gathered, Failure> {
    let analyser = Analyser::new(settings);
    let mut gathering = OfflineGathering::new(settings).map_err(|error| spoiled(&error))?;
    let (mut fates, mut failed) = (Vec::new(), 0);
    let meter = Meter::new(quiet, "reading", Unit::Bytes, selection.bytes(|| true).unwrap_or(0));
    let mut fail = |origin: &Origin, reason: &str| {
        failed += 1;
        if failed <= FAILURES_TOLD_MAX {
            meter.tell(&format!("failed: {origin}: {reason}"));
        }
    };
    understand(selection, &analyser, threads, &meter, |understood| {
        match understood {
            Understood::Document(id, analysis) => {
                fates.push(Fate::Document(gathering.push(id, &analysis)?));
            }
            Understood::Empty => fates.push(Fate::Empty),
            Understood::Failed { origin, reason } => {
                fail(&origin, &reason);
                fates.push(Fate::Failed);
            }
            Understood::Unread { origin, reason } => fail(&origin, &reason),
        }
        Ok(())
    })
    .and_then(|()| gathering.finish())
    .map(|corpus| Gathered { corpus, fates, failed })
    .map_err(|error: io::Error| spoiled(&error))
    .inspect(|gathered| {
        if gathered.failed > FAILURES_TOLD_MAX {
            let more = HumanCount(gathered.failed - FAILURES_TOLD_MAX);
            meter.tell(&format!("failed: {more} more"));
        }
    })
}

fn spoiled(error: &io::Error) -> Failure {
    Failure::with_hint(
        format!("the sets cannot be kept in a temporary file: {error}"),
        "TMPDIR names a directory with more room",
    )
}
