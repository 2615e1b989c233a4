//! Waits until replicas have received all writes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::future::try_join_all;
use tokio::sync::Mutex;

use super::client::{Address, Reply, slot_of};
use super::command::{Command, number};
use super::connection::Inner;
use super::failure::{failed, refused, unavailable};
use crate::backend::BackendError;

/// Number of keys tried to find a key in the slots of every node.
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
    masters: Vec<Address>,
}

impl Barrier {
    pub fn new(masters: Vec<Address>) -> Self {
        Self { covered: Mutex::new(Covered { turn: 0, masters }), ..Self::default() }
    }

    pub fn generation(&self) -> Generation {
        Generation(self.generation.load(Ordering::SeqCst))
    }
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
        let waited = self.wait_at_all().await;
        let masters = self.client.masters();
        if covered.masters != masters {
            covered.masters = masters;
            self.barrier.generation.fetch_add(1, Ordering::SeqCst);
        }
        waited?;
        covered.turn = turn;
        Ok(())
    }

    async fn wait_at_all(&self) -> Result<(), BackendError> {
        let mut keys = BTreeMap::new();
        let masters = self.client.masters();
        // A node has a share of the slots, so it has at least one of a few keys.
        for n in 0..NOTES_MAX {
            if keys.len() == masters.len() {
                break;
            }
            let key = Bytes::from(format!("{}:w{n}", self.prefix).into_bytes());
            if let Some(node) = self.client.owner_of(slot_of(&key)) {
                keys.entry(node).or_insert(key);
            }
        }
        let waits = keys.into_iter().map(|(node, key)| self.replicated_at(node, key));
        let waited = try_join_all(waits).await.map(|_| ());
        if waited.is_err() {
            // The node may be no master any more.
            self.client.learn_slots();
        }
        waited
    }

    /// A write on the connection that waits, so that it follows all other writes to the node.
    /// Neither command is repeated: on another connection, which has written nothing, none would
    /// wait.
    async fn replicated_at(&self, node: Address, key: Bytes) -> Result<(), BackendError> {
        let (wanted, within_ms) = (self.wait_replicas, self.wait_timeout.as_millis());
        let note = Command::new("SET", key, [Bytes::new()]);
        let wait = Command::to_node("WAIT", [number(wanted), number(within_ms)]);
        let replies = self.client.call_at(&node, &[note, wait], self.end(), true).await;
        let mut reached = None;
        for reply in replies.map_err(|fault| failed(&fault))? {
            match reply {
                Reply::Error(text) => return Err(refused(text)),
                reply => reached = reply.integer(),
            }
        }
        if reached.is_some_and(|reached| reached >= i64::from(wanted)) {
            return Ok(());
        }
        Err(unavailable(format!(
            "only {} replicas have the write within valkey.wait_timeout_ms, not {wanted}; it may \
             last nevertheless",
            reached.unwrap_or(0)
        )))
    }
}
