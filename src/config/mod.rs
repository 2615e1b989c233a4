//! Settings: compiled-in defaults < file < environment < flags.

mod backends;
mod layers;
mod settings;

pub use backends::{StorageBackend, collections_dir};
pub use layers::{Fault, SettingEntry, SettingSources};
pub use settings::{LogFormat, LogSettings, Settings};

use std::fmt;
use std::path::PathBuf;

/// The defaults, with an explanation of every key.
pub const DEFAULT_TOML: &str = include_str!("../../config/default.toml");

/// Why settings could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration file {}: {reason}", .path.display())]
    File { path: PathBuf, reason: String },
    #[error("the configuration has {}", Faults(.0))]
    Faults(Vec<Fault>),
}

struct Faults<'a>(&'a [Fault]);

impl fmt::Display for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [one] => write!(f, "a fault: {one}"),
            many => {
                write!(f, "{} faults:", many.len())?;
                many.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
