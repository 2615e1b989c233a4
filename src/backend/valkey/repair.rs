//! Finishes the work of processes that died. Every version that is pending, replaced or removed,
//! and every entry that is being removed, is in the queue of its part until its work is done.
//!
//! A single process at a time reads the queues, and claims each item before it handles it, in case
//! a turn takes long. Items younger than the lease are skipped, as their process may still be at
//! work. Clocks of processes may differ by less than the lease.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::command::{Command, number};
use super::entries::{Entry, is_lost};
use super::layout::{Leftover, Part};
use super::{Shared, scripts};
use crate::backend::BackendError;

/// Leftovers of a part that a round handles.
const OF_PART_MAX: usize = 256;

impl Shared {
    /// Repairs now and then, until the collection is closed.
    pub(super) fn keep_repaired(self: &Arc<Self>) {
        let every = self.turn();
        self.repeat(every, move |shared| async move {
            match shared.repair_in_turn(every).await {
                Ok(0) => {}
                Ok(repaired) => {
                    tracing::info!(repaired, "the repair task removed unfinished versions");
                }
                Err(error) => tracing::warn!(%error, "the repair task failed; retrying"),
            }
        });
    }

    async fn repair_in_turn(&self, every: Duration) -> Result<u64, BackendError> {
        match self.takes_turn(self.layout.turn(), every).await? {
            true => self.repair(self.lease_ms).await,
            false => Ok(0),
        }
    }

    /// Handles leftovers older than `age_ms`; returns their number.
    pub(super) async fn repair(&self, age_ms: i64) -> Result<u64, BackendError> {
        let before = self.now_ms().saturating_sub(age_ms);
        let range = |part| {
            let range = ["-inf".to_owned(), before.to_string(), "LIMIT".to_owned()];
            let range = range.into_iter().map(|text| Bytes::from(text.into_bytes()));
            let range = range.chain([number(0), number(OF_PART_MAX)]);
            Command::new("ZRANGEBYSCORE", self.layout.queue(part), range)
        };
        let parts = || Part::all_of_documents().chain(Part::all_of_sets());
        let queues = self.connection.call(parts().map(range).collect()).await?;
        let mut repaired = 0;
        for (part, queue) in parts().zip(queues) {
            for leftover in queue.strings() {
                repaired += u64::from(self.repair_one(part, leftover, before).await?);
            }
        }
        Ok(repaired)
    }

    async fn repair_one(
        &self,
        part: Part,
        leftover: Bytes,
        before: i64,
    ) -> Result<bool, BackendError> {
        let arguments = vec![leftover.clone(), number(before), number(self.now_ms())];
        let claim = scripts::CLAIM.call(vec![self.layout.queue(part)], arguments);
        if self.connection.call_one(claim).await?.integer() != Some(1) {
            return Ok(false);
        }
        match Leftover::decode(&leftover) {
            Some(Leftover::Entry { fingerprint }) => {
                self.repair_entry(fingerprint, leftover).await?;
            }
            Some(note) => self.repair_version(&note).await?,
            None => tracing::warn!("cannot read an entry of the repair queue"),
        }
        Ok(true)
    }

    /// Finishes the work on the version of a note.
    pub(super) async fn repair_version(&self, note: &Leftover) -> Result<(), BackendError> {
        let (Leftover::Added { version, fingerprint }
        | Leftover::Replaced { version, fingerprint }) = note
        else {
            return Ok(());
        };
        let since = self.connection.generation();
        let is_live = self.end_pending(version).await?;
        self.list_again(&version.id).await?;
        if is_live {
            return self.has_arrived(version, *fingerprint).await;
        }
        // A failover must not make it live again.
        self.connection.wait_for_replicas(since).await?;
        self.clear(version, *fingerprint, note).await
    }

    async fn repair_entry(&self, fingerprint: u64, leftover: Bytes) -> Result<(), BackendError> {
        let bytes = self.connection.call_one(self.read_entry(fingerprint)).await?.bytes();
        let bytes = bytes.unwrap_or_default();
        match Entry::decode(&bytes, self.sketch_bytes) {
            None if is_lost(&bytes) => self.end(fingerprint, None).await,
            Some(entry) if !entry.is_alive() => self.end_entry(fingerprint, &entry.sketch).await,
            _ => {
                let queue = self.layout.queue(Part::of_set(fingerprint));
                self.connection.call_one(Command::new("ZREM", queue, [leftover])).await.map(|_| ())
            }
        }
    }
}
