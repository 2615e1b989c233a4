//! The threads for work that the runtime's threads must not do.

use crate::background;
use crate::storage::StorageError;

/// Runs long work in the background, where clients take turns: on threads of their own, hundreds of
/// long lists would take the cores from other requests for half a second.
pub(super) async fn long<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    background::compute(work).await.unwrap_or(Err(StorageError::Closed))
}

/// Runs blocking work on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    // Fails if the runtime is shutting down, or if the work panicked, which was reported then.
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StorageError::Closed))
}
