use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::StorageBackend;
use crate::engine::EngineError;
use crate::http::TlsError;
use crate::http::key_file::KeyFileError;

/// Why akin could not start, keep serving, or shut down cleanly.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error(
        "{address} can be reached from other machines, and there is no key in {}",
        .keys_file.display()
    )]
    Unprotected { address: SocketAddr, keys_file: PathBuf },
    #[error(transparent)]
    Keys(#[from] KeyFileError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot open the store in {place}: {source}")]
    Open { place: String, backend: StorageBackend, source: EngineError },
    #[error("the store went out of service: {reason}")]
    OutOfService { reason: String },
    #[error("serving failed: {0}")]
    Serve(io::Error),
    #[error("closing the store failed: {0}")]
    Close(EngineError),
    #[error("the limit of open files is {limit}, and akin needs at least {min}")]
    OpenFiles { limit: u64, min: u64 },
    #[error("cannot start: {0}")]
    Start(io::Error),
}
