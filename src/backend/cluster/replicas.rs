//! Waits until replicas have what was written.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use fred::clients::Client;
use fred::interfaces::{ClientLike, ClusterInterface};
use fred::types::{ClusterHash, CustomCommand, Value};

use super::connection::Inner;
use super::failure::{failed, unavailable};
use super::reply::Reply;
use crate::backend::BackendError;

/// Keys tried for a note in the slots of one node.
const NOTES_MAX: u32 = 100_000;

impl Inner {
    pub(super) async fn replicated(&self) -> Result<(), BackendError> {
        // A turn that begins after this call covers its writes.
        let seen = self.turns.load(Ordering::SeqCst);
        let mut covered = self.barrier.lock().await;
        if *covered > seen {
            return Ok(());
        }
        let turn = self.turns.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(client) = &self.clients.waiting else { return Ok(()) };
        let state = client.cached_cluster_state();
        let state = state.ok_or_else(|| unavailable("the cluster's slots are unknown"))?;
        for node in state.unique_primary_nodes() {
            let slots = state.slots().iter().filter(|range| range.primary == node);
            let slots: Vec<_> = slots.map(|range| range.start..=range.end).collect();
            self.replicated_at(client, &slots).await?;
        }
        *covered = turn;
        Ok(())
    }

    /// A write on the connection that waits, so that what it waits for is after all other writes to
    /// the node of the slots.
    async fn replicated_at(
        &self,
        client: &Client,
        slots: &[RangeInclusive<u16>],
    ) -> Result<(), BackendError> {
        let key = |n: u32| Bytes::from(format!("{}:w{n}", self.prefix).into_bytes());
        let slot = |n: u32| fred::util::redis_keyslot(&key(n));
        let is_there = |n: &u32| slots.iter().any(|range| range.contains(&slot(*n)));
        // A node has a share of the slots, so one of a few keys is there.
        let Some(n) = (0..NOTES_MAX).find(is_there) else { return Ok(()) };
        let hash = ClusterHash::Custom(slot(n));
        let note = CustomCommand::new_static("SET", hash.clone(), false);
        let noted = client.custom::<Value, Value>(note, vec![Value::Bytes(key(n)), "".into()]);
        noted.await.map_err(|error| failed(&error))?;
        let (wanted, within_ms) =
            (i64::from(self.wait_replicas), self.wait_timeout.as_millis() as i64);
        let wait = CustomCommand::new_static("WAIT", hash, false);
        let reached = client.custom::<Value, Value>(wait, vec![wanted.into(), within_ms.into()]);
        let reached = Reply::from(reached.await.map_err(|error| failed(&error))?).integer();
        if reached.is_some_and(|reached| reached >= wanted) {
            return Ok(());
        }
        Err(unavailable(format!(
            "only {} replicas have the write within cluster.wait_timeout_ms, not {wanted}; it may \
             last nevertheless",
            reached.unwrap_or(0)
        )))
    }
}
