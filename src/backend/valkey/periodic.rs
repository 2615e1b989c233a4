//! Work that every process does again and again, for as long as its collection is open.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;

use super::Shared;
use super::command::{Command, number};
use crate::backend::BackendError;

impl Shared {
    /// Does the work after each pause, until the collection is closed.
    pub(super) fn repeat<W>(
        self: &Arc<Self>,
        pause: Duration,
        work: impl Fn(Arc<Self>) -> W + Send + 'static,
    ) where
        W: Future<Output = ()> + Send + 'static,
    {
        let this = Arc::downgrade(self);
        self.connection.spawn(async move {
            loop {
                sleep(pause).await;
                let Some(shared) = this.upgrade().filter(|shared| !shared.is_closed()) else {
                    return;
                };
                let working = work(shared);
                working.await;
            }
        });
    }

    /// Whether this process is the only one that takes the turn in this time.
    pub(super) async fn takes_turn(
        &self,
        key: Bytes,
        every: Duration,
    ) -> Result<bool, BackendError> {
        let turn = [b"1".as_slice(), b"NX", b"PX"].map(Bytes::from_static);
        let turn = turn.into_iter().chain([number(every.as_millis())]);
        let turn = self.connection.call_one(Command::new("SET", key, turn)).await?;
        Ok(turn.bytes().is_some())
    }
}
