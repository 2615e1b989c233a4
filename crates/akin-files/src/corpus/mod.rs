//! A corpus in files, for the commands that work without a server.

mod document;
mod dropped;
mod gather;
mod keep;
mod memory;
mod names;
mod pipeline;
mod reading;
mod sources;
mod texts;
mod uncompared;

pub use document::{NotCompared, analysed, value_of};
pub use gather::{
    GatheredCorpus, Gathering, RecordOutcome, changed, check_disk, disk_failed, numbered,
};
pub use keep::Keep;
pub use memory::{PairListing, check_memory};
pub use names::CorpusFiles;
pub use pipeline::work_in_order;
pub use reading::{ReadOptions, bytes_of, cores, each_text, read};
pub use sources::{SourceOptions, Sources};
use texts::FoldOptions;
pub use texts::{TextCutter, TextOptions, WordedText, text_of};
pub use uncompared::{Uncompared, UncomparedCounts};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use serde::Serialize;

use super::failure::Failure;
use super::input::{self, Selection};
use super::meter::{self, Meter};
use super::output::{Inputs, directory};
use crate::memory::available_memory;
use crate::offline::Room;
use akin_core::join::{JoinError, JoinProgress, Stage};
use akin_core::scheme::{Kind, Threshold};
use akin_core::sketch::Method;
use akin_core::text::Unit;
use akin_model::clusters::Incomplete;
use akin_model::settings::CollectionSettings;

const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Reads the settings of collections from a configuration file, or from where it usually is.
pub type Configured = fn(Option<PathBuf>) -> Result<CollectionSettings, Failure>;

/// How documents are read and turned into sets.
#[derive(Args)]
pub struct AnalysisOptions {
    /// The unit that texts are cut into [default: the configuration's]
    #[arg(long, value_name = "UNIT", value_enum)]
    unit: Option<Unit>,
    /// The number of units in a shingle [default: the configuration's]
    #[arg(long, value_name = "N")]
    size: Option<u32>,
    #[command(flatten)]
    fold: FoldOptions,
    /// Use a collection's settings, as `akin export --settings` writes them, instead of the
    /// configuration's
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Configuration file, TOML (see `akin check-config`)
    #[arg(long, value_name = "FILE", env = "AKIN_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Options of reading a corpus and comparing its documents with each other.
#[derive(Args)]
pub struct CorpusOptions {
    #[command(flatten)]
    pub analysis: AnalysisOptions,
    /// Whether several documents may have the same id
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    duplicate_ids: DuplicateIds,
    /// The most memory to use, in MiB; the rest is in temporary files, in the directory of the
    /// output or in TMPDIR [default: half of the available memory]
    #[arg(long, value_name = "MIB")]
    memory_max_mib: Option<u64>,
}

impl CorpusOptions {
    pub fn room(&self, output: Option<&Path>) -> Room {
        let memory = memory_max(self.memory_max_mib);
        let beside = output.filter(|_| std::env::var_os("TMPDIR").is_none());
        Room { directory: beside.map_or_else(std::env::temp_dir, directory), memory }
    }
}

/// Bytes: what `--memory-max-mib` has, or half of the available memory.
pub fn memory_max(mib: Option<u64>) -> usize {
    let chosen = mib.map(|mib| (mib as usize).saturating_mul(1 << 20));
    chosen.unwrap_or_else(|| available_memory() / 2)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DuplicateIds {
    /// Fail, and name the places of both documents
    Refuse,
    /// Keep only the first document
    KeepFirst,
}

impl AnalysisOptions {
    /// The settings, with keys chosen for the threshold, if it is given. For records the threshold
    /// is a share of the most points that a pair can have.
    ///
    /// # Errors
    /// The settings are invalid.
    pub fn collection(
        &self,
        configured: Configured,
        threshold: Option<Threshold>,
    ) -> Result<CollectionSettings, Failure> {
        let mut settings = match &self.settings {
            Some(path) => read_settings(path)?,
            None => configured(self.config.clone())?,
        };
        if settings.sketch.method == Method::Foreign {
            return Err(Failure::with_hint(
                "signatures (sketch.method = foreign) are compared by a server only",
                "`akin import --settings` makes such a collection, and `akin clusters` lists its \
                 clusters",
            ));
        }
        settings.shingles.unit = self.unit.unwrap_or(settings.shingles.unit);
        settings.shingles.size = self.size.unwrap_or(settings.shingles.size);
        settings.shingles = self.fold.shingles(settings.shingles);
        settings.scheme.take_threshold(threshold.unwrap_or(settings.scheme.threshold));
        if let Some((part, fault)) = settings.faults().first() {
            return Err(Failure::new(format!("{part}.{fault}")));
        }
        share_of_points(&mut settings, threshold)?;
        Ok(settings)
    }

    /// The files that the command reads: the documents, and the configuration.
    pub fn inputs<'a>(&'a self, documents: impl IntoIterator<Item = &'a Selection>) -> Inputs {
        let further = [self.settings.as_deref(), self.config.as_deref()];
        self.read.inputs(documents, further.into_iter().flatten())
    }
}

/// Without a threshold, the threshold of records is their points as a share of the most points that
/// a pair can have.
///
/// # Errors
/// The settings of the points make no share.
pub fn share_of_points(
    settings: &mut CollectionSettings,
    threshold: Option<Threshold>,
) -> Result<(), Failure> {
    let scheme = &mut settings.scheme;
    if scheme.kind == Kind::Fields && threshold.is_none() {
        let share = f64::from(scheme.points_min()) / f64::from(scheme.points_max());
        let share = Threshold::new(share).map_err(|error| error.to_string());
        scheme.threshold = share.map_err(Failure::new)?;
    }
    Ok(())
}

/// The similarity of two documents.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    Resemblance(f64),
    /// The points of two records.
    Points(u32),
}

impl Score {
    /// `points_max`: of two records.
    pub fn new(resemblance: f64, points_max: Option<u32>) -> Self {
        match points_max {
            None => Self::Resemblance(resemblance),
            Some(max) => Self::Points((resemblance * f64::from(max)).round() as u32),
        }
    }
}

/// A sentence about pairs that may be missing.
pub fn incomplete_line(Incomplete { documents, example, .. }: &Incomplete) -> String {
    let example = example.as_ref().map_or_else(String::new, |[a, b]| {
        format!(", so '{a}' with '{b}': many documents share the shingles that these two share")
    });
    format!(
        "documents that were not compared with all candidates: {}{example}; --mode exact compares \
         all, however long it takes",
        HumanCount(*documents)
    )
}

/// A sentence with the share of the pairs that is found.
pub fn recall_line(threshold: f64, recall: f64) -> String {
    let percent = recall * 100.0;
    format!(
        "a pair with a Jaccard similarity of {threshold} is found with a chance of {percent:.1} %"
    )
}

fn read_settings(path: &Path) -> Result<CollectionSettings, Failure> {
    serde_json::from_str(&input::read_text_file(path)?)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Shows the progress of `work`, a meter for each stage.
///
/// # Errors
/// A set could not be read back.
pub fn with_progress<T>(
    quiet: bool,
    work: impl FnOnce(&JoinProgress) -> Result<T, JoinError<io::Error>>,
) -> Result<T, Failure> {
    let progress = JoinProgress::default();
    let result = thread::scope(|scope| {
        let (ended, end) = channel::<()>();
        scope.spawn(|| {
            // The receiver moves into the thread; the thread borrows everything else.
            let end = end;
            let mut shown = None;
            while end.recv_timeout(PROGRESS_EVERY) == Err(RecvTimeoutError::Timeout) {
                show(&progress, quiet, &mut shown);
            }
        });
        let result = work(&progress);
        drop(ended);
        result
    });
    result.map_err(|error| Failure::new(format!("the sets cannot be read back: {error}")))
}

fn show(progress: &JoinProgress, quiet: bool, shown: &mut Option<(Stage, Meter)>) {
    let (stage, (done, total)) = (progress.stage(), progress.get());
    if shown.as_ref().is_none_or(|(known, _)| *known != stage) {
        let (doing, unit) = match stage {
            Stage::Reading => ("reading", "documents"),
            Stage::Counting => ("counting shingles", "sets"),
            Stage::Filing => ("filing", "keys"),
            Stage::Joining => ("comparing", "sets"),
            Stage::Giving => ("writing", "documents"),
        };
        *shown = Some((stage, Meter::new(quiet, doing, meter::Quantity::Things(unit), total)));
    }
    if let Some((_, meter)) = shown {
        meter.set(done);
    }
}
