//! Waits until replicas have received all writes.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use fred::clients::{Client, Pipeline};
use fred::error::Error as EngineFailure;
use fred::interfaces::{ClientLike, ClusterInterface};
use fred::types::config::{Options, Server};
use fred::types::{ClusterHash, CustomCommand, Value};
use futures_util::future::try_join_all;
use tokio::sync::Mutex;

use super::connection::Inner;
use super::failure::{failed, unavailable};
use super::reply::Reply;
use crate::backend::BackendError;

/// Number of keys tried to find a key in the slots of a given node.
const NOTES_MAX: u32 = 100_000;

/// Which masters there were when a write began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u64);

/// State that concurrent waits share.
#[derive(Default)]
pub(super) struct Barrier {
    /// Held by the call that waits; all other calls wait for the next turn together.
    covered: Mutex<Covered>,
    /// Turns that have begun.
    turns: AtomicU64,
    /// How often other masters were found than in the turn before.
    generation: AtomicU64,
}

#[derive(Default)]
struct Covered {
    turn: u64,
    masters: Vec<Server>,
}

impl Barrier {
    pub fn new(waiting: Option<&Client>) -> Self {
        let masters = waiting.map_or_else(Vec::new, masters_of);
        Self { covered: Mutex::new(Covered { turn: 0, masters }), ..Self::default() }
    }

    pub fn generation(&self) -> Generation {
        Generation(self.generation.load(Ordering::SeqCst))
    }
}

/// In order.
fn masters_of(client: &Client) -> Vec<Server> {
    let state = client.cached_cluster_state();
    let mut masters = state.map_or_else(Vec::new, |state| state.unique_primary_nodes());
    masters.sort_unstable();
    masters
}

impl Inner {
    /// Waits for all writes since that moment. If a master was replaced in the meantime, the write
    /// may be lost and the wait was for a different master.
    pub(super) async fn replicated(&self, since: Generation) -> Result<(), BackendError> {
        self.take_turn().await?;
        match self.barrier.generation() == since {
            true => Ok(()),
            false => Err(unavailable("a master was replaced meanwhile: try again")),
        }
    }

    async fn take_turn(&self) -> Result<(), BackendError> {
        // A turn that begins after this call covers its writes.
        let seen = self.barrier.turns.load(Ordering::SeqCst);
        let mut covered = self.barrier.covered.lock().await;
        if covered.turn > seen {
            return Ok(());
        }
        let turn = self.barrier.turns.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(client) = &self.clients.waiting else { return Ok(()) };
        let waited = self.within_deadline(self.wait_at_all(client)).await;
        let masters = masters_of(client);
        if covered.masters != masters {
            covered.masters = masters;
            self.barrier.generation.fetch_add(1, Ordering::SeqCst);
        }
        waited?;
        covered.turn = turn;
        Ok(())
    }

    async fn wait_at_all(&self, client: &Client) -> Result<(), BackendError> {
        let state = client.cached_cluster_state();
        let state = state.ok_or_else(|| unavailable("Valkey's slots are unknown"))?;
        let masters = state.unique_primary_nodes();
        let waits = masters.iter().map(|node| {
            let slots = state.slots().iter().filter(|range| range.primary == *node);
            let slots: Vec<_> = slots.map(|range| range.start..=range.end).collect();
            async move { self.replicated_at(client, &slots).await }
        });
        try_join_all(waits).await.map(|_| ())
    }

    /// A write on the connection that waits, so that it follows all other writes to the node with
    /// these slots.
    async fn replicated_at(
        &self,
        client: &Client,
        slots: &[RangeInclusive<u16>],
    ) -> Result<(), BackendError> {
        let key = |n: u32| Bytes::from(format!("{}:w{n}", self.prefix).into_bytes());
        let slot = |n: u32| fred::util::redis_keyslot(&key(n));
        let is_there = |n: &u32| slots.iter().any(|range| range.contains(&slot(*n)));
        // A node has a share of the slots, so it has at least one of a few keys.
        let Some(n) = (0..NOTES_MAX).find(is_there) else { return Ok(()) };
        let hash = ClusterHash::Custom(slot(n));
        let (wanted, within_ms) =
            (i64::from(self.wait_replicas), self.wait_timeout.as_millis() as i64);
        let note = CustomCommand::new_static("SET", hash.clone(), false);
        let wait = CustomCommand::new_static("WAIT", hash, false);
        // Neither is repeated: on another connection, which has written nothing, none would wait.
        let once = Options { max_attempts: Some(1), ..Options::default() };
        let pipeline = Pipeline::from(client.with_options(&once));
        let queued = async {
            let key_and_value = vec![Value::Bytes(key(n)), "".into()];
            pipeline.custom::<Value, Value>(note, key_and_value).await?;
            pipeline.custom::<Value, Value>(wait, vec![wanted.into(), within_ms.into()]).await?;
            Ok(())
        };
        queued.await.map_err(|error: EngineFailure| failed(&error))?;
        let mut reached = None;
        for result in pipeline.try_all::<Value>().await {
            reached = Reply::from(result.map_err(|error| failed(&error))?).integer();
        }
        if reached.is_some_and(|reached| reached >= wanted) {
            return Ok(());
        }
        Err(unavailable(format!(
            "only {} replicas have the write within valkey.wait_timeout_ms, not {wanted}; it may \
             last nevertheless",
            reached.unwrap_or(0)
        )))
    }
}
