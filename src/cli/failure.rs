use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::app::AppError;
use crate::config::ConfigError;
use crate::http::key_file::KeyFileError;
use crate::telemetry;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// What failed, and what to do about it.
    Reported { what: String, hint: Option<String> },
    /// The reader of the output has gone, which is not an error.
    PipeClosed,
}

impl Failure {
    pub fn new(what: impl Into<String>) -> Self {
        Self::Reported { what: what.into(), hint: None }
    }

    pub fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Reported { what: what.into(), hint: Some(hint.into()) }
    }

    pub fn unreadable(path: &Path, why: impl Display) -> Self {
        Self::new(format!("cannot read {}: {why}", path.display()))
    }

    /// Writes it to stderr.
    pub fn report(self) -> ExitCode {
        let Self::Reported { what, hint } = self else { return ExitCode::SUCCESS };
        let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        telemetry::say_last(format!("error: {what}\n{hint}"));
        ExitCode::FAILURE
    }
}

/// For errors of writing the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::new(format!("cannot write the output: {error}")),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = match error {
            ConfigError::File { .. } => "name a readable TOML file by --config or AKIN_CONFIG",
            ConfigError::Faults(_) => {
                "`akin check-config` without a file shows every key and its default"
            }
        };
        Self::with_hint(error.to_string(), hint)
    }
}

impl From<KeyFileError> for Failure {
    fn from(error: KeyFileError) -> Self {
        let hint = match error {
            KeyFileError::Damaged { .. } => "restore the file, or remove it and make new keys",
            KeyFileError::Read { .. } | KeyFileError::Write { .. } => {
                "server.keys_file names the file; the server's user must be able to read it"
            }
        };
        Self::with_hint(error.to_string(), hint)
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        let what = error.to_string();
        match error {
            AppError::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Self::with_hint(what, "another akin may be running; choose a port by --listen")
            }
            AppError::Listen { .. } => {
                Self::with_hint(what, "--listen takes an address and a port: 127.0.0.1:2546")
            }
            AppError::Unprotected { .. } => Self::with_hint(
                what,
                "make a key by `akin keys create --name NAME --actions read,write,admin`; or serve \
                 everyone who can connect, by --no-keys",
            ),
            AppError::Keys(error) => error.into(),
            AppError::Tls(_) => Self::with_hint(
                what,
                "server.tls_cert and server.tls_key name PEM files of a certificate and its key",
            ),
            AppError::Cluster(_) => Self::with_hint(
                what,
                "cluster.nodes names nodes of a running Valkey or Redis Cluster; cluster.username, \
                 cluster.password (or password_file) and cluster.tls are as these ask for",
            ),
            AppError::Open { .. } => Self::with_hint(
                what,
                "use the settings it was created with or another directory by --data-dir; `akin \
                 verify` says what is wrong with this one",
            ),
            AppError::OutOfService { .. } => {
                Self::with_hint(what, "what was acknowledged is stored; start akin again")
            }
            AppError::OpenFiles { .. } => {
                Self::with_hint(what, "raise the hard limit of open files (ulimit -Hn)")
            }
            AppError::Serve(_)
            | AppError::Close(_)
            | AppError::Start(_)
            | AppError::Webhooks(_) => Self::new(what),
        }
    }
}
