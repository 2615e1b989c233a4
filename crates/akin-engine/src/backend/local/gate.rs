//! A gate that every write of a collection passes, so that a reindex can stop writes for a moment.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockWriteGuard, RwLock, RwLockReadGuard};
use tokio::task::unconstrained;

use crate::backend::BackendError;

#[derive(Clone, Debug, Default)]
pub(crate) struct WriteGate {
    /// Every write holds a read lock.
    superseded: Arc<RwLock<bool>>,
}

/// The permit of a write.
pub(crate) struct Passed<'a> {
    _superseded: RwLockReadGuard<'a, bool>,
}

/// Blocks new writes until it is dropped; they wait.
pub struct PausedWrites {
    superseded: OwnedRwLockWriteGuard<bool>,
}

impl WriteGate {
    /// Waits while writes are paused. The write must end before the permit is dropped.
    ///
    /// # Errors
    /// [`BackendError::Superseded`]
    pub async fn pass(&self) -> Result<Passed<'_>, BackendError> {
        // Without this, tokio's cooperative budget could make a busy task wait here and be
        // overtaken.
        let superseded = unconstrained(self.superseded.read()).await;
        match *superseded {
            true => Err(BackendError::Superseded),
            false => Ok(Passed { _superseded: superseded }),
        }
    }

    /// Blocks new writes, and waits for the writes that have passed.
    pub async fn pause(&self) -> PausedWrites {
        PausedWrites { superseded: Arc::clone(&self.superseded).write_owned().await }
    }
}

impl PausedWrites {
    /// Refuses the waiting and all later writes with [`BackendError::Superseded`].
    pub fn supersede(mut self) {
        *self.superseded = true;
    }
}
