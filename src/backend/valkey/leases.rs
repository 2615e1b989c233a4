//! The versions that this process is adding. Each is noted in a queue with the time, and a note as
//! old as the lease says that its process is dead. So a process that still works renews its notes:
//! a document may wait for many others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::Shared;
use super::command::{Command, number};
use super::layout::{Leftover, Part};
use crate::backend::{BackendError, Version};

/// Turns in the time of a lease. A note is renewed when it is as old as a turn.
const TURNS: i64 = 4;

#[derive(Default)]
pub(super) struct Leases {
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    next: u64,
    notes: HashMap<u64, Note>,
}

#[derive(Clone)]
struct Note {
    part: Part,
    item: Bytes,
    since_ms: i64,
}

/// A note that is renewed until this is dropped.
pub(super) struct Lease {
    number: u64,
    leases: Arc<Leases>,
}

impl Leases {
    pub fn begin(self: &Arc<Self>, version: &Version, item: &Leftover, now_ms: i64) -> Lease {
        let part = Part::of_id(&version.id);
        let note = Note { part, item: item.encode(), since_ms: now_ms };
        let mut noted = self.lock();
        noted.next += 1;
        let number = noted.next;
        noted.notes.insert(number, note);
        Lease { number, leases: Arc::clone(self) }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the notes from `before` or earlier for notes of `now_ms`.
    fn renew(&self, before: i64, now_ms: i64) -> Vec<Note> {
        let mut noted = self.lock();
        let old = noted.notes.values_mut().filter(|note| note.since_ms <= before);
        let renewed = old.map(|note| {
            note.since_ms = now_ms;
            note.clone()
        });
        renewed.collect()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.leases.lock().notes.remove(&self.number);
    }
}

impl Shared {
    /// The time between two turns of periodic work.
    pub(super) fn turn(&self) -> Duration {
        Duration::from_millis((self.lease_ms.max(TURNS) / TURNS) as u64)
    }

    /// Renews notes now and then, until the collection is closed.
    pub(super) fn keep_leases(self: &Arc<Self>) {
        self.repeat(self.turn(), |shared| async move {
            if let Err(error) = shared.renew_leases().await {
                tracing::warn!(%error, "documents that wait may be withdrawn");
            }
        });
    }

    /// `XX`: a note that was taken out meanwhile stays out.
    async fn renew_leases(&self) -> Result<(), BackendError> {
        let now_ms = self.now_ms();
        let renewed = self.leases.renew(now_ms - self.lease_ms / TURNS, now_ms);
        let renew = |Note { part, item, since_ms }: Note| {
            let words = [Bytes::from_static(b"XX"), number(since_ms), item];
            Command::new("ZADD", self.layout.queue(part), words)
        };
        self.connection.call(renewed.into_iter().map(renew).collect()).await.map(|_| ())
    }

    /// Whether nobody has renewed the note of a version for the time of the lease.
    pub(super) async fn is_abandoned(&self, version: &Version, item: &Leftover) -> bool {
        let queue = self.layout.queue(Part::of_id(&version.id));
        let score = self.connection.call_one(Command::new("ZSCORE", queue, [item.encode()])).await;
        let before = self.now_ms().saturating_sub(self.lease_ms);
        score.is_ok_and(|score| score.integer().is_none_or(|since_ms| since_ms < before))
    }
}
