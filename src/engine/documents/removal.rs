//! Bulk removal of documents: those matching conditions, and expired ones.

use serde::Serialize;
use utoipa::ToSchema;

use crate::engine::{Conditions, Engine, EngineError};

/// Documents removed in one call of the backend.
const REMOVED_AT_ONCE: usize = 1_024;

/// The outcome of a removal by conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Removed {
    /// Documents that met the conditions.
    pub matched: u64,
    /// Documents removed: fewer than `matched` if others removed or replaced some meanwhile.
    pub removed: u64,
}

impl Engine {
    pub(super) async fn remove_where_here(
        &self,
        conditions: Conditions,
    ) -> Result<Removed, EngineError> {
        if conditions.is_empty() {
            return Err(EngineError::NoConditions);
        }
        let selected = self.backend.select(Box::new(move |of| conditions.hold(of))).await?;
        let mut removed = 0;
        for batch in selected.chunks(REMOVED_AT_ONCE) {
            removed += self.backend.remove_selected(batch.to_vec()).await?;
        }
        Ok(Removed { matched: selected.len() as u64, removed })
    }

    /// Removes expired documents from disk and memory; returns their number.
    ///
    /// # Errors
    /// `OutOfService`, `Closed`, `Store`.
    pub async fn remove_expired(&self) -> Result<u64, EngineError> {
        let mut all = 0;
        loop {
            match self.backend.remove_expired(REMOVED_AT_ONCE).await? {
                0 => return Ok(all),
                removed => all += removed,
            }
        }
    }
}
