use std::path::PathBuf;

use clap::Args;
use tokio::runtime::Runtime;

use super::failure::Failure;
use super::interrupt;
use crate::app::{self, AppError};
use crate::config::{SettingEntry, SettingSources, Settings};
use crate::engine::CollectionSettings;
use crate::telemetry;

/// Serve near-duplicate search over HTTP until SIGTERM or Ctrl-C
#[derive(Args)]
pub struct Arguments {
    /// Address and port to listen on; port 0 takes a free port [default: 127.0.0.1:2546]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where documents are kept [default: ./akin-data]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<String>,
    /// Disable authentication, also for other machines, and ignore the file of keys
    #[arg(long)]
    no_keys: bool,
    #[command(flatten)]
    config: ConfigFile,
}

/// The configuration file, for every command that reads settings.
#[derive(Args, Clone)]
pub struct ConfigFile {
    /// Configuration file, TOML (see `akin check-config`)
    #[arg(long = "config", value_name = "FILE", env = "AKIN_CONFIG")]
    path: Option<PathBuf>,
}

impl ConfigFile {
    /// The settings of all layers, the given flags uppermost.
    pub fn settings(self, flags: Vec<SettingEntry>) -> Result<Settings, Failure> {
        Ok(SettingSources::new(self.path, flags).load()?)
    }
}

/// The settings of collections in a configuration file.
pub fn collection(path: Option<PathBuf>) -> Result<CollectionSettings, Failure> {
    Ok(ConfigFile { path }.settings(vec![])?.collection)
}

/// The flags that are given.
pub fn flags(listen: Option<String>, data_dir: Option<String>) -> Vec<SettingEntry> {
    let given =
        [("--listen", "server.listen", listen), ("--data-dir", "storage.data_dir", data_dir)];
    given
        .into_iter()
        .filter_map(|(name, key, value)| Some(SettingEntry::of_flag(name, key, value?)))
        .collect()
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut flags = flags(arguments.listen, arguments.data_dir);
    if arguments.no_keys {
        flags.push(SettingEntry::of_flag("--no-keys", "server.no_keys", "true".to_owned()));
    }
    let mut settings = arguments.config.settings(flags)?;
    let _logs = telemetry::start_logs(&settings.log);
    // Each connection is an open file, and the soft limit of a shell is low.
    let limit = rlimit::increase_nofile_limit(u64::MAX).or_else(|error| {
        tracing::warn!(%error, "the limit of open files could not be raised");
        rlimit::Resource::NOFILE.get_soft()
    });
    app::fit_connections(&mut settings, limit.map_err(AppError::Start)?)?;
    let runtime = Runtime::new().map_err(AppError::Start)?;
    let ended = runtime.block_on(async {
        let shutdown = app::stop_signal().map_err(AppError::Start)?;
        let reload = app::reload_signal().map_err(AppError::Start)?;
        interrupt::leave_to_command();
        let listener = app::bind(&settings.server).await?;
        let served = app::run(settings, listener, telemetry::metrics(), shutdown, Some(reload));
        Box::pin(served).await
    });
    // Blocking work that still runs, such as opening a store, may be cut off at any point.
    runtime.shutdown_background();
    ended?;
    Ok(())
}
