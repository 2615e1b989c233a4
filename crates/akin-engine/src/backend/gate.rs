//! A gate that every write of a collection in this process passes, so that a reindex can stop
//! writes for a moment.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockWriteGuard, RwLock, RwLockReadGuard};
use tokio::task::unconstrained;

use crate::backend::{BackendError, PausedWrites};

#[derive(Clone, Debug, Default)]
pub struct WriteGate {
    /// Every write holds a read lock.
    superseded: Arc<RwLock<bool>>,
}

/// New writes wait until it is dropped.
struct PausedGate {
    superseded: OwnedRwLockWriteGuard<bool>,
}

impl WriteGate {
    /// Waits while writes are paused. The write must end before the permit is dropped.
    ///
    /// # Errors
    /// [`BackendError::Superseded`]
    pub async fn pass(&self) -> Result<RwLockReadGuard<'_, bool>, BackendError> {
        // Without this, tokio's cooperative budget could make a busy task wait here and be
        // overtaken.
        let superseded = unconstrained(self.superseded.read()).await;
        if *superseded { Err(BackendError::Superseded) } else { Ok(superseded) }
    }

    /// Blocks new writes, and waits for the writes that have passed.
    pub async fn pause(&self) -> Box<dyn PausedWrites> {
        let superseded = Arc::clone(&self.superseded).write_owned().await;
        Box::new(PausedGate { superseded })
    }
}

impl PausedWrites for PausedGate {
    fn supersede(mut self: Box<Self>) {
        *self.superseded = true;
    }
}
