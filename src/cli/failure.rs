use std::io;
use std::process::ExitCode;

use super::client::ServerProblem;
use crate::app::AppError;
use crate::backend::BackendError;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::http::TlsError;
use crate::http::key_file::KeyFileError;
use crate::telemetry;
pub use akin_files::failure::Failure;

/// Writes the error and the hint to stderr.
pub fn report(failure: Failure) -> ExitCode {
    let Failure::Reported { what, hint } = failure else { return ExitCode::SUCCESS };
    let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
    telemetry::say_last(format!("error: {what}\n{hint}"));
    ExitCode::FAILURE
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
            KeyFileError::Damaged { .. } => "restore the file, or remove it and create new keys",
            KeyFileError::Read { .. } => {
                "server.keys_file names the file; the server's user must be able to read it"
            }
            KeyFileError::Write { .. } => {
                "its directory must be writable for the user that creates keys; --keys-file and \
                 --data-dir name another directory"
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
            AppError::Listen { source, .. } => {
                Self::with_hint(what, hint_for_listening(source.kind()))
            }
            AppError::Unprotected { keys_file, .. } => Self::with_hint(
                what,
                format!(
                    "create a key by `akin keys create --name NAME --actions read,write,admin \
                     --keys-file {}`; or disable authentication by --no-keys",
                    keys_file.display()
                ),
            ),
            AppError::Keys(error) => error.into(),
            AppError::Tls(error) => Self::with_hint(what, hint_for_tls(&error)),
            AppError::Open { backend, source, .. } => {
                let verify =
                    "`akin verify` finds the damage in the directory; --data-dir names another";
                let hint = backend.hint().or_else(|| hint_for_directory(&source));
                Self::with_hint(what, hint.unwrap_or(verify))
            }
            AppError::OutOfService { .. } => {
                Self::with_hint(what, "acknowledged documents are stored; start akin again")
            }
            AppError::OpenFiles { .. } => {
                Self::with_hint(what, "raise the hard limit of open files (ulimit -Hn)")
            }
            AppError::Serve(_) | AppError::Close(_) | AppError::Start(_) => Self::new(what),
        }
    }
}

fn hint_for_listening(error: io::ErrorKind) -> &'static str {
    match error {
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 are for root: choose another by --listen, or permit it \
             (CAP_NET_BIND_SERVICE)"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have the address: --listen takes one of its own, or 0.0.0.0 for \
             all of them"
        }
        _ => "--listen takes an address and a port: 127.0.0.1:2546",
    }
}

fn hint_for_tls(error: &TlsError) -> &'static str {
    match error {
        TlsError::Read { .. } => {
            "server.tls_cert and server.tls_key name PEM files that the server's user can read"
        }
        _ => {
            "server.tls_cert names certificates in PEM, the server's own first, and server.tls_key \
             its private key, which is not encrypted"
        }
    }
}

/// The failure of an operation on a data directory.
#[expect(clippy::needless_pass_by_value, reason = "the callers map an error to it")]
pub fn of_engine(error: EngineError) -> Failure {
    let what = error.to_string();
    match error {
        EngineError::Backup { .. } => Failure::with_hint(
            what,
            "nothing was restored; --collection chooses a collection, --as another name for it",
        ),
        _ => match hint_for_directory(&error) {
            Some(hint) => Failure::with_hint(what, hint),
            None => Failure::new(what),
        },
    }
}

/// The hint for a cause that the operator of a data directory can remove.
pub fn hint_for_directory(error: &EngineError) -> Option<&'static str> {
    Some(match error {
        EngineError::Backend(BackendError::InUse { .. }) => {
            "another akin has it open: stop it, or name another directory by --data-dir"
        }
        EngineError::Backend(BackendError::OtherSettings { .. }) => {
            "use the settings that it was created with, or another directory by --data-dir"
        }
        EngineError::Backend(BackendError::NotPermitted { .. }) => {
            "the user that runs akin must own the directory, on a disk that can be written: \
             `chown`, or another directory by --data-dir"
        }
        EngineError::Backend(BackendError::NoRoom { .. }) => {
            "free some space, or name a directory on another disk by --data-dir"
        }
        EngineError::CollectionSettings { .. } | EngineError::TooManyCollections { .. } => {
            "`akin check-config` shows the settings in force"
        }
        _ => return None,
    })
}

/// The hint for a problem that a server answers with.
pub fn hint_for_problem(problem: &ServerProblem) -> Option<&'static str> {
    match problem.code.as_str() {
        "" => Some(
            "--url or AKIN_URL must be the address of an akin server, not of a proxy or another \
             server",
        ),
        "key_required" => {
            Some("put the key into AKIN_API_KEY, or into a file that --key-file names")
        }
        "invalid_key" => Some(
            "the server does not know the key in AKIN_API_KEY, or in the file of --key-file: `akin \
             keys list` on the server's machine shows the names of its keys",
        ),
        "not_permitted" => Some(
            "`akin keys list` on the server's machine shows what each key permits; `akin keys \
             create --actions ACTIONS --collections NAMES` creates a key that permits this",
        ),
        "collection_not_found" => Some(
            "`akin collections list` shows all collections; `akin collections create` creates one",
        ),
        "host_not_served" => {
            Some("call the server by a name in its server.hosts, or add this name")
        }
        _ => None,
    }
}

impl From<ServerProblem> for Failure {
    fn from(problem: ServerProblem) -> Self {
        let hint = hint_for_problem(&problem).map(str::to_owned);
        Self::Reported { what: problem.to_string(), hint }
    }
}
