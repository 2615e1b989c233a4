//! Bulk removal of documents: those matching conditions, and expired ones.

use crate::engine::{Conditions, Engine, EngineError, Removed};

/// Expired documents removed in one call of the backend.
const REMOVED_AT_ONCE: usize = 1_024;

impl Engine {
    pub(super) async fn remove_where_here(
        &self,
        conditions: Conditions,
    ) -> Result<Removed, EngineError> {
        if conditions.is_empty() {
            return Err(EngineError::NoConditions);
        }
        Ok(self.backend.remove_where(Box::new(move |of| conditions.hold(of))).await?)
    }

    /// Removes expired documents from disk and memory; returns their number.
    ///
    /// # Errors
    /// `OutOfService`, `Closed`, `Store`.
    pub async fn remove_expired(&self) -> Result<u64, EngineError> {
        let local = self.local("scheduled removals")?;
        let mut all = 0;
        loop {
            match local.remove_expired(REMOVED_AT_ONCE).await? {
                0 => return Ok(all),
                removed => all += removed,
            }
        }
    }
}
