//! Giving the name of a collection to a successor.
//!
//! | key | type | content |
//! |---|---|---|
//! | `{P}:replacing` | hash | name → `o` or `c`, when that was noted, the successor's number |
//!
//! The successor has a number of its own, to which no name leads, and is filled by the process that
//! replaces the collection. Every process may write to the collection meanwhile. Then the process
//! notes that the collection is closed (`c`). Before a version becomes live or is removed, a
//! process asks whether its collection has its name and is not closed, unless it asked less than a
//! quarter of the lease ago. A command is not executed later than the lease after it was sent, so
//! no write is under way a lease and a quarter after the collection was closed. Then
//! [`scripts::REPLACE`] gives the name to the successor.
//!
//! The note is written again with the time while the work goes on. A note that is older than two
//! leases is of a process that died: any process takes it away, and the collection is as it was.
//! Each of these steps compares the note, so a process that was taken for dead can do none of them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::client::Reply;
use super::command::{Command, number};
use super::connection::Connection;
use super::failure::unavailable;
use super::registry::ValkeyRegistry;
use super::{Shared, scripts};
use crate::backend::shared::{CollectionEntry, ListedCollection, Replacing};
use crate::backend::{BackendError, Clock};

/// What is noted of a collection that is being replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    is_closed: bool,
    at_ms: i64,
    /// The successor.
    number: u64,
}

impl Note {
    fn encode(self) -> Bytes {
        let Self { is_closed, at_ms, number } = self;
        let state = if is_closed { 'c' } else { 'o' };
        format!("{state} {at_ms} {number}").into_bytes().into()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = str::from_utf8(bytes).ok()?.split(' ');
        let is_closed = match words.next()? {
            "c" => true,
            "o" => false,
            _ => return None,
        };
        Some(Self {
            is_closed,
            at_ms: words.next()?.parse().ok()?,
            number: words.next()?.parse().ok()?,
        })
    }
}

/// Whether a process may write to its collection.
pub(super) struct Standing {
    name: Bytes,
    number: u64,
    raw: Bytes,
    replacing: Bytes,
    collections: Bytes,
    /// For how long an answer counts.
    counts_for: Duration,
    until: Mutex<Option<Instant>>,
}

impl Standing {
    pub fn new(home: &ValkeyRegistry, listed: &ListedCollection) -> Self {
        Self {
            name: Bytes::copy_from_slice(listed.name.as_bytes()),
            number: listed.number,
            raw: listed.raw.clone(),
            replacing: home.key("replacing"),
            collections: home.key("collections"),
            counts_for: Duration::from_millis(home.settings.lease_ms / 4),
            until: Mutex::new(None),
        }
    }

    async fn check(&self, connection: &Connection) -> Result<(), BackendError> {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = Instant::now();
        if until.is_some_and(|until| asked < until) {
            return Ok(());
        }
        let get = |key: &Bytes| Command::new("HGET", key.clone(), [self.name.clone()]);
        let replies = connection.call(vec![get(&self.replacing), get(&self.collections)]).await?;
        let mut replies = replies.into_iter().map(Reply::bytes);
        let (note, listed) = (replies.next().flatten(), replies.next().flatten());
        let note = note.and_then(|note| Note::decode(&note));
        if listed.as_ref() != Some(&self.raw) {
            // A successor is written to before it has the name.
            return match note.is_some_and(|note| note.number == self.number) {
                true => Ok(()),
                false => Err(unavailable("the collection was replaced or dropped: try again")),
            };
        }
        if note.is_some_and(|note| note.is_closed) {
            return Err(unavailable("the collection is being reindexed: try again in a minute"));
        }
        let until = asked + self.counts_for;
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        Ok(())
    }
}

impl Shared {
    /// Checks that a write may change the collection: at the last moment before it does.
    pub(super) async fn check_stands(&self) -> Result<(), BackendError> {
        self.standing.check(&self.connection).await
    }
}

impl ValkeyRegistry {
    pub(super) async fn begin(
        &self,
        old: &ListedCollection,
        settings: String,
        identity: String,
    ) -> Result<Option<Replacing>, BackendError> {
        let name = Bytes::copy_from_slice(old.name.as_bytes());
        let keys = ["collections", "numbers", "replacing"].map(|name| self.key(name));
        let now = Clock::system().now_ms();
        let begin = scripts::BEGIN_REPLACING;
        let begin = begin.call(keys.into(), vec![name, old.raw.clone(), number(now)]);
        let begun = self.connection.call_one(begin).await?.integer().unwrap_or(0);
        let Some(number) = u64::try_from(begun).ok().filter(|number| *number > 0) else {
            return Ok(None);
        };
        let entry = CollectionEntry { settings, identity, block_bits: self.settings.block_bits() };
        let json = serde_json::to_string(&entry).expect("strings and numbers are JSON");
        let raw = format!("{number} {json}").into_bytes().into();
        let new = ListedCollection { name: old.name.clone(), number, entry, raw };
        let note = Note { is_closed: false, at_ms: now, number }.encode();
        let closed_after = Duration::from_millis(self.settings.lease_ms.saturating_mul(5) / 4);
        let notes_every = Duration::from_millis(self.settings.lease_ms / 8);
        let noted = Instant::now();
        Ok(Some(Replacing { old: old.clone(), new, note, noted, notes_every, closed_after }))
    }

    pub(super) async fn note(
        &self,
        replacing: &mut Replacing,
        closes: bool,
    ) -> Result<(), BackendError> {
        let since = self.connection.generation();
        let before = Note::decode(&replacing.note);
        let is_closed = closes || before.is_some_and(|before| before.is_closed);
        let at_ms = Clock::system().now_ms();
        let after = Note { is_closed, at_ms, number: replacing.new.number }.encode();
        let name = Bytes::copy_from_slice(replacing.old.name.as_bytes());
        let arguments = vec![name, replacing.note.clone(), after.clone()];
        let note = scripts::NOTE_REPLACING.call(vec![self.key("replacing")], arguments);
        if self.connection.call_one(note).await?.integer() != Some(1) {
            return Err(unavailable("the reindex was taken for dead"));
        }
        self.connection.wait_for_replicas(since).await?;
        (replacing.note, replacing.noted) = (after, Instant::now());
        Ok(())
    }

    pub(super) async fn name_successor(&self, replacing: &Replacing) -> Result<(), BackendError> {
        let since = self.connection.generation();
        let keys = ["collections", "changes", "dropped", "replacing"].map(|name| self.key(name));
        let arguments = vec![
            Bytes::copy_from_slice(replacing.old.name.as_bytes()),
            replacing.old.raw.clone(),
            replacing.new.raw.clone(),
            replacing.note.clone(),
            number(Clock::system().now_ms()),
        ];
        let replace = scripts::REPLACE.call(keys.into(), arguments);
        if self.connection.call_one(replace).await?.integer() != Some(1) {
            return Err(unavailable("the collection was dropped, or its reindex taken for dead"));
        }
        self.connection.wait_for_replicas(since).await
    }

    pub(super) async fn give_up(
        &self,
        name: Bytes,
        note: Bytes,
        successor: u64,
    ) -> Result<(), BackendError> {
        let keys = ["replacing", "dropped"].map(|name| self.key(name));
        let arguments = vec![name, note, number(successor), number(Clock::system().now_ms())];
        let end = scripts::END_REPLACING.call(keys.into(), arguments);
        self.connection.call_one(end).await.map(|_| ())
    }

    /// Ends the replacements of processes that died, by their notes. Clocks may differ by less than
    /// the lease.
    pub(super) async fn give_up_dead(&self, notes: Reply) -> Result<(), BackendError> {
        let age_ms = self.settings.lease_ms.saturating_mul(2);
        let before_ms = Clock::system().now_ms().saturating_sub_unsigned(age_ms);
        let mut all = notes.strings();
        while let (Some(name), Some(raw)) = (all.next(), all.next()) {
            let dead = Note::decode(&raw).filter(|note| note.at_ms < before_ms);
            if let Some(dead) = dead {
                tracing::warn!("a process died while it reindexed a collection");
                self.give_up(name, raw, dead.number).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_as_they_were() {
        for is_closed in [false, true] {
            let note = Note { is_closed, at_ms: 1_800_000_000_000, number: 7 };
            assert_eq!(Note::decode(&note.encode()), Some(note));
        }
        for broken in ["", "o", "x 1 2", "o 1 two"] {
            assert_eq!(Note::decode(broken.as_bytes()), None, "{broken}");
        }
    }
}
