//! Many documents removed at once: those that meet conditions, those that have expired.

use crate::engine::{Conditions, Engine, EngineError};

/// Documents removed before it is looked whether to go on.
const REMOVED_AT_ONCE: usize = 1_024;

/// What removing by conditions did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Documents that met the conditions.
    pub matched: u64,
    /// Of those, the ones that were there still: neither removed nor replaced by others.
    pub removed: u64,
}

impl Engine {
    /// Removes the documents that meet the conditions at this moment, in one consistent view. What
    /// is stored meanwhile stays. Dropping the future stops it; what is removed by then is gone.
    ///
    /// # Errors
    /// `NoConditions`: to remove everything is to remove the collection. `OutOfService`, `Store`.
    pub async fn remove_where(&self, conditions: Conditions) -> Result<Removed, EngineError> {
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

    /// Removes what has expired, of which nobody knows any more, for good; how many.
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
