//! The path of every write of this backend, from [`Local::write`] to the acknowledgement:
//!
//! 1. [`WriteGate`](crate::backend::WriteGate) lets the write pass, or makes it wait while a
//!    reindex has paused all writes.
//! 2. [`Store::write_all`](crate::storage::Store::write_all) queues it. The committing thread takes
//!    all queued writes into a transaction, commits it and syncs the log.
//! 3. `applied` runs on the committing thread, in the order of the log: it changes the index, the
//!    catalogue and the clusters.
//! 4. The future ends, and the caller acknowledges the write.

use super::Local;
use crate::backend::BackendError;
use crate::storage::Write;

impl Local {
    /// Makes writes durable in one transaction, then runs `applied` with the sequence of the last
    /// operation. No other method of this backend writes documents.
    ///
    /// # Errors
    /// [`BackendError::Superseded`], [`BackendError::OutOfService`], [`BackendError::Store`];
    /// `applied` does not run then.
    pub(super) async fn write(
        &self,
        writes: Vec<Write>,
        applied: impl FnOnce(u64) + Send + 'static,
    ) -> Result<(), BackendError> {
        let _passed = self.gate.pass().await?;
        Ok(self.store.write_all(writes, applied).await?)
    }
}
