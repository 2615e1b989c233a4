//! The feed of changes, for those who keep a copy of the documents elsewhere.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::engine::{Change, Engine, EngineError, Position};
use crate::storage::Changes;

/// How often a reader that waits looks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Engine {
    /// The position behind the last change that is on disk.
    ///
    /// # Errors
    /// `UnsupportedByBackend`, `Store`.
    pub async fn last_change(&self) -> Result<Position, EngineError> {
        Ok(self.local("changes")?.last_change().await?)
    }

    /// The position before the oldest change that is kept.
    ///
    /// # Errors
    /// `UnsupportedByBackend`, `Store`.
    pub async fn oldest_change(&self) -> Result<Position, EngineError> {
        Ok(self.local("changes")?.oldest_change().await?)
    }

    /// How many operations there were after a position of this store. Cheap.
    pub fn changes_behind(&self, position: Position) -> u64 {
        self.local("changes").map_or(0, |local| local.changes_behind(position))
    }

    /// What happened after a position, from at most `max` operations, and the position behind it.
    /// Without a position nothing, and the position of now. Waits up to `wait` for an operation.
    ///
    /// Of a document that was stored several times only the last is reported for certain: a reader
    /// that applies all changes in their order has the documents that there are.
    ///
    /// # Errors
    /// `ChangesGone`, `UnsupportedByBackend`, `Store`.
    pub async fn changes(
        &self,
        after: Option<Position>,
        max: usize,
        wait: Duration,
    ) -> Result<(Vec<Change>, Position), EngineError> {
        let local = self.local("changes")?;
        let Some(after) = after else { return Ok((Vec::new(), local.last_change().await?)) };
        let deadline = Instant::now() + wait;
        while !local.has_changed_since(after) && Instant::now() < deadline {
            sleep_until(deadline.min(Instant::now() + LOOK_EVERY)).await;
        }
        match local.changes_after(after, max).await? {
            Changes::Some(changes, next) => Ok((changes, next)),
            Changes::Gone => Err(EngineError::ChangesGone),
        }
    }
}
