//! A corpus in files, for the commands that need no server.

mod gather;
mod pipeline;
mod watch;

pub use gather::{Fate, Gathered, gather};
pub use watch::watched;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as DeserializeError;
use serde_json::Value;

use super::failure::Failure;
use super::import::{self, Format, Selection};
use super::serve::ConfigFile;
use crate::engine::{self, CollectionSettings};
use crate::scheme::Threshold;
use crate::text::Unit;

/// How documents become sets.
#[derive(Args)]
pub struct Shaping {
    /// What texts are cut into: word, character, token or stopword [default: the configuration's]
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    unit: Option<Unit>,
    /// How many of them make a shingle [default: the configuration's]
    #[arg(long, value_name = "N")]
    size: Option<u32>,
    /// A collection's settings, as `akin export --settings` writes them, instead of the
    /// configuration's
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFile,
}

/// How files are read.
#[derive(Args)]
pub struct Reading {
    /// Read everything as this, whatever its name
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Threads that cut texts into shingles [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// How near-duplicates are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// By their keys, each checked exactly: a few may be missed
    Verified,
    /// By their keys, judged by their sketches alone
    Estimated,
    /// By their rarest shingles, each checked exactly: none is missed
    Exact,
}

impl From<Mode> for engine::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Verified => Self::Verified,
            Mode::Estimated => Self::Estimated,
            Mode::Exact => Self::Exact,
        }
    }
}

fn unit(text: &str) -> Result<Unit, String> {
    Unit::deserialize(text.into_deserializer()).map_err(|error: DeserializeError| error.to_string())
}

impl Shaping {
    /// Settings for which keys are chosen that suit the threshold, if one is given.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn settings(self, threshold: Option<Threshold>) -> Result<CollectionSettings, Failure> {
        let mut settings = match &self.settings {
            Some(path) => read_settings(path)?,
            None => self.config.settings(vec![])?.collection,
        };
        settings.shingles.unit = self.unit.unwrap_or(settings.shingles.unit);
        settings.shingles.size = self.size.unwrap_or(settings.shingles.size);
        settings.scheme.threshold = threshold.unwrap_or(settings.scheme.threshold);
        match settings.faults().first() {
            Some((part, fault)) => Err(Failure::new(format!("{part}.{fault}"))),
            None => Ok(settings),
        }
    }
}

fn read_settings(path: &Path) -> Result<CollectionSettings, Failure> {
    let told = |error: serde_json::Error| Failure::new(format!("{}: {error}", path.display()));
    let given: Value = serde_json::from_str(&import::read_text_file(path)?).map_err(told)?;
    serde_json::from_value(CollectionSettings::completed(given)).map_err(told)
}

impl Reading {
    pub fn selection(&self, paths: Vec<PathBuf>) -> Selection {
        Selection { paths, format: self.format, extensions: Vec::new() }
    }

    pub fn threads(&self) -> usize {
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(cores).get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_settings() {
        assert_eq!(unit("character"), Ok(Unit::Character));
        let refused = unit("letter").unwrap_err();
        assert!(refused.contains("letter") && refused.contains("word"), "{refused}");
    }
}
