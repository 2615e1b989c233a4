use std::io;
use std::path::PathBuf;

use crate::engine::EngineError;

/// Why akin could not start, keep serving, or shut down cleanly.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error("cannot open the store in {}: {source}", .dir.display())]
    Open { dir: PathBuf, source: EngineError },
    #[error("the store went out of service: {reason}")]
    OutOfService { reason: String },
    #[error("serving failed: {0}")]
    Serve(io::Error),
    #[error("closing the store failed: {0}")]
    Close(EngineError),
    #[error("cannot start: {0}")]
    Start(io::Error),
}
