//! The feed of changes, for clients that keep a copy of the documents elsewhere.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::backend::{ChangeFeed, ChangesUpTo, ClusterNote, ClusterPosition};
use crate::document::DocumentId;
use crate::engine::{Change, Engine, EngineError, Position, unsupported};
use crate::stored::Changes;

/// How often a reader that waits looks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Engine {
    fn change_feed(&self) -> Result<&dyn ChangeFeed, EngineError> {
        self.backend.change_feed().ok_or(unsupported("changes"))
    }

    /// The position behind the last change that is on disk.
    ///
    /// # Errors
    /// `Unsupported`, `Store`.
    pub async fn last_change(&self) -> Result<Position, EngineError> {
        Ok(self.change_feed()?.last_change(ChangesUpTo::Settled).await?)
    }

    /// Whether something happened after a position. Cheap.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn has_changed_since(&self, position: Position) -> Result<bool, EngineError> {
        Ok(self.change_feed()?.has_changed_since(position))
    }

    /// Waits up to `wait` until something happened.
    ///
    /// # Errors
    /// The errors of `has_happened`.
    pub async fn await_change(
        &self,
        has_happened: impl Fn(&Self) -> Result<bool, EngineError>,
        wait: Duration,
    ) -> Result<(), EngineError> {
        let deadline = Instant::now() + wait;
        while !has_happened(self)? && Instant::now() < deadline {
            sleep_until(deadline.min(Instant::now() + LOOK_EVERY)).await;
        }
        Ok(())
    }

    /// The changes after a position, from at most `max` operations, and the position behind them.
    /// Without a position: no changes, and the current position.
    ///
    /// If a document was stored several times, only the last change is certain to be reported: a
    /// reader that applies all changes in order ends up with the stored documents.
    ///
    /// # Errors
    /// `ChangesGone`, `Unsupported`, `Store`.
    pub async fn changes(
        &self,
        after: Option<Position>,
        max: usize,
    ) -> Result<(Vec<Change>, Position), EngineError> {
        let Some(after) = after else { return Ok((Vec::new(), self.last_change().await?)) };
        match self.change_feed()?.changes_after(after, max, ChangesUpTo::Settled).await? {
            Changes::Some(changes, next) => Ok((changes, next)),
            Changes::Gone => Err(EngineError::ChangesGone),
        }
    }

    /// The position behind the last note of a changed cluster; `None` while the clusters are not
    /// known, and if none are kept.
    pub fn last_cluster_note(&self) -> Option<ClusterPosition> {
        self.backend.kept_clusters()?.last_note()
    }

    /// At most `max` notes of changed clusters after a position and up to another, and the position
    /// behind them. Every document whose cluster gets another name is in a note after the change.
    /// All documents are noted for a reader without a position, with a position from before the
    /// collection was opened, or that missed notes.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn cluster_notes(
        &self,
        after: Option<ClusterPosition>,
        until: ClusterPosition,
        max: usize,
    ) -> Result<(Vec<ClusterNote>, ClusterPosition), EngineError> {
        let clusters = self.backend.kept_clusters().ok_or(unsupported("stored clusters"))?;
        Ok(clusters.notes(after, until, max))
    }

    /// The documents of a note that are stored, and the present name of their cluster.
    pub fn noted(&self, note: ClusterNote) -> Option<(Vec<DocumentId>, String)> {
        let noted = self.backend.kept_clusters()?.noted(note);
        let name = self.cluster_name_at(noted.first()?.ordinal)?;
        Some((noted.into_iter().map(|version| version.id).collect(), name))
    }
}
