//! Finishes the work of processes that died. Every version that is pending, replaced or removed,
//! and every entry that is being removed, is in the queue of its part until its work is done.
//!
//! A single process at a time reads the queues, and claims each item before it handles it, in case
//! a turn takes long. Items younger than the lease are skipped, as their process may still be at
//! work. Clocks of processes may differ by less than the lease.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;

use super::command::{Command, number};
use super::layout::{Leftover, Part};
use super::versions::Entry;
use super::{Shared, scripts};
use crate::backend::{BackendError, Version};

/// Leftovers of a part that a round handles.
const OF_PART_MAX: usize = 256;

impl Shared {
    /// Repairs now and then, until the collection is closed.
    pub(super) fn keep_repaired(self: &Arc<Self>) {
        let every = Duration::from_millis((self.lease_ms.max(4) / 4) as u64);
        let this = Arc::downgrade(self);
        self.connection.spawn(async move {
            loop {
                sleep(every).await;
                let Some(shared) = Weak::upgrade(&this).filter(|shared| !shared.is_closed()) else {
                    return;
                };
                match shared.repair_in_turn(every).await {
                    Ok(0) => {}
                    Ok(repaired) => {
                        tracing::info!(repaired, "the repair task removed unfinished versions");
                    }
                    Err(error) => tracing::warn!(%error, "the repair task failed; retrying"),
                }
            }
        });
    }

    async fn repair_in_turn(&self, every: Duration) -> Result<u64, BackendError> {
        let turn = [b"1".as_slice(), b"NX", b"PX"].map(Bytes::from_static);
        let turn = turn.into_iter().chain([number(every.as_millis())]);
        let turn = self.connection.call_one(Command::new("SET", self.layout.turn(), turn)).await?;
        // Somebody else has the turn.
        if turn.bytes().is_none() {
            return Ok(0);
        }
        self.repair(self.lease_ms).await
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
            Some(
                Leftover::Added { version, fingerprint }
                | Leftover::Replaced { version, fingerprint },
            ) => {
                self.repair_version(&version, fingerprint).await?;
            }
            Some(Leftover::Entry { fingerprint }) => {
                self.repair_entry(fingerprint, leftover).await?;
            }
            None => tracing::warn!("cannot read an entry of the repair queue"),
        }
        Ok(true)
    }

    async fn repair_version(
        &self,
        version: &Version,
        fingerprint: u64,
    ) -> Result<(), BackendError> {
        let since = self.connection.generation();
        if self.end_pending(version).await? {
            return self.has_arrived(version, fingerprint).await;
        }
        // A failover must not make it live again.
        self.connection.wait_for_replicas(since).await?;
        self.clear(version, fingerprint).await
    }

    async fn repair_entry(&self, fingerprint: u64, leftover: Bytes) -> Result<(), BackendError> {
        let get = Command::new("GET", self.layout.sketch(fingerprint), []);
        let entry = self.connection.call_one(get).await?.bytes();
        match entry.and_then(|entry| Entry::decode(&entry, self.sketch_bytes)) {
            Some(entry) if !entry.is_alive => self.end_entry(fingerprint, &entry.sketch).await,
            _ => {
                let queue = self.layout.queue(Part::of_set(fingerprint));
                self.connection.call_one(Command::new("ZREM", queue, [leftover])).await.map(|_| ())
            }
        }
    }
}
