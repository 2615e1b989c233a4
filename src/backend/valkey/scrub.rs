//! Removes from the index what documents have left that no key names any more: a failover may lose
//! the record of a document and the note of its adding, but not its postings, or the entry of a set
//! and not its postings.
//!
//! All blocks of postings are read over and over, some in each second, by whichever process has the
//! turn. The place is kept in Valkey.
//!
//! **A member without a document** is cleared as if the repair had found its note. A version that
//! is under way has at every moment a note in `q`, `p` or `d`: `q` is written before `p`, `p`
//! before the member, and `p` becomes `d`, after which the note may go; a version that is replaced
//! or removed gets another note before `d` is gone. So `p`, `d` and `q` are read in this order: a
//! version that is in none of the three is over, and no ordinal is used again.
//!
//! **A posting without an entry** is removed under a mark in place of the entry, as if an entry
//! were being removed: while the mark is there, no process files the set. Otherwise a process could
//! create the entry and write the posting again just before the posting is removed. What the scrub
//! leaves undone it finds again, and the repair removes the mark of a scrub that died.
//!
//! **An id without a document** is taken out of the list: if a failover has lost the document, or
//! if a process was late by the lease and died while it listed the id.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::announcing::added;
use super::client::Reply;
use super::command::{Command, number};
use super::entries::{self, Entry};
use super::layout::{DOCUMENT_PARTS, Leftover, Part, fingerprint_of};
use super::reading::versions_of;
use super::removal::{id_of, token};
use super::versions::VersionRecord;
use super::{Shared, scripts};
use crate::backend::{BackendError, Version};
use akin_core::scheme::Key;

/// The time between two steps, of all processes together.
const EVERY: Duration = Duration::from_secs(1);

/// Blocks read in a step, and about how many postings.
const BLOCKS_AT_ONCE: u64 = 256;
const POSTINGS_AT_ONCE: usize = 4_096;

/// Postings of a block that are read at once.
const OF_BLOCK_MAX: usize = 256;

/// The tables of sets with a prefix filter, which has none of its own.
const TABLES_MIN: u32 = 2;

/// Members of an entry that are checked, drawn at random.
const MEMBERS_MAX: usize = 16;

/// Parts of which ids are checked in a step, and ids of each.
const PARTS_AT_ONCE: usize = 32;
const IDS_MAX: usize = 16;

/// How far the scrub has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    block: u64,
    /// The last posting of the block that was read.
    after: Bytes,
}

/// What a step has found in the blocks.
struct Found {
    /// Block number and posting.
    postings: Vec<(u64, Bytes)>,
    next: Place,
}

impl Shared {
    /// Scrubs a little in each second, until the collection is closed.
    pub(super) fn keep_scrubbed(self: &Arc<Self>) {
        self.repeat(EVERY, |shared| async move {
            match shared.scrub_in_turn().await {
                Ok(0) => {}
                Ok(removed) => {
                    tracing::warn!(removed, "removed remains of lost documents from the index");
                }
                Err(error) => tracing::debug!(%error, "the scrub failed; it goes on later"),
            }
        });
    }

    async fn scrub_in_turn(&self) -> Result<u64, BackendError> {
        match self.takes_turn(self.layout.scrub_turn(), EVERY).await? {
            true => self.scrub().await,
            false => Ok(0),
        }
    }

    /// Reads the next postings, and removes lost ones; returns the number of members and postings.
    async fn scrub(&self) -> Result<u64, BackendError> {
        let place = Command::new("GET", self.layout.scrubbed(), []);
        let place = self.connection.call_one(place).await?.bytes();
        let Found { postings, next } = self.read_blocks(Place::decode(place)).await?;
        let fingerprint = |(_, posting): &(u64, Bytes)| fingerprint_of(posting);
        let fingerprints: HashSet<u64> = postings.iter().filter_map(fingerprint).collect();
        let fingerprints: Vec<u64> = fingerprints.into_iter().collect();
        let entries = self.entries(fingerprints.iter().copied()).await?;
        let entries: HashMap<u64, Option<Entry>> = fingerprints.into_iter().zip(entries).collect();
        // A set with bands has postings in all tables, so its members are checked in the first.
        let is_first =
            |(block, _): &&(u64, Bytes)| self.table_of(*block) == 0 || self.counts_keys();
        let checked = postings.iter().filter(is_first).filter_map(fingerprint);
        let mut removed = self.clear_lost_members(checked, &entries).await?;
        for (block, posting) in &postings {
            let Some(fingerprint) = fingerprint_of(posting) else { continue };
            if entries.get(&fingerprint).is_some_and(Option::is_none) {
                removed += u64::from(self.remove_lost(*block, posting, fingerprint).await?);
            }
        }
        removed += self.unlist_lost().await?;
        let next = Command::new("SET", self.layout.scrubbed(), [next.encode()]);
        self.connection.call_one(next).await?;
        Ok(removed)
    }

    /// Takes ids without a document out of the list, of some that are drawn at random; returns
    /// their number.
    async fn unlist_lost(&self) -> Result<u64, BackendError> {
        let groups = DOCUMENT_PARTS / PARTS_AT_ONCE as u64;
        let first = (token()? % groups) as usize * PARTS_AT_ONCE;
        let parts = Part::all_of_documents().skip(first).take(PARTS_AT_ONCE);
        let draw = |part| Command::new("ZRANDMEMBER", self.layout.ids(part), [number(IDS_MAX)]);
        let drawn = self.connection.call(parts.map(draw).collect()).await?;
        let drawn = drawn.into_iter().flat_map(Reply::strings);
        let ids: Vec<_> = drawn.filter_map(|id| id_of(&id)).collect();
        let live = self.live_of(ids.iter()).await?;
        let lost = ids.iter().zip(live).filter(|(_, live)| live.is_none());
        let mut removed = 0;
        for (id, _) in lost {
            removed += u64::from(self.list_again(id).await?);
        }
        Ok(removed)
    }

    fn tables(&self) -> u64 {
        u64::from(self.scheme.tables().max(TABLES_MIN))
    }

    fn table_of(&self, block: u64) -> u32 {
        (block % self.tables()) as u32
    }

    fn block_key(&self, block: u64) -> Bytes {
        let value = self.layout.value_of_block(block / self.tables());
        self.layout.block(Key { table: self.table_of(block), value })
    }

    async fn read_blocks(&self, place: Place) -> Result<Found, BackendError> {
        let blocks = self.tables() * self.layout.blocks();
        let first = if place.block < blocks { place.clone() } else { Place::default() };
        let numbers = first.block..blocks.min(first.block + BLOCKS_AT_ONCE);
        let read = |block| {
            let from = match block == first.block && !first.after.is_empty() {
                true => [b"(", &first.after[..]].concat().into(),
                false => Bytes::from_static(b"-"),
            };
            let limit = [Bytes::from_static(b"LIMIT"), number(0), number(OF_BLOCK_MAX)];
            let words = [from, Bytes::from_static(b"+")].into_iter().chain(limit);
            Command::new("ZRANGEBYLEX", self.block_key(block), words)
        };
        let replies = self.connection.call(numbers.clone().map(read).collect()).await?;
        let mut found = Found { postings: Vec::new(), next: Place::default() };
        for (block, reply) in numbers.zip(replies) {
            let postings: Vec<Bytes> = reply.strings().collect();
            let last = postings.last().filter(|_| postings.len() == OF_BLOCK_MAX).cloned();
            found.postings.extend(postings.into_iter().map(|posting| (block, posting)));
            found.next = match last {
                Some(after) => Place { block, after },
                None => Place { block: block + 1, after: Bytes::new() },
            };
            if !found.next.after.is_empty() || found.postings.len() >= POSTINGS_AT_ONCE {
                break;
            }
        }
        Ok(found)
    }

    /// Clears the members of these sets that belong to no document; returns their number.
    async fn clear_lost_members(
        &self,
        fingerprints: impl Iterator<Item = u64>,
        entries: &HashMap<u64, Option<Entry>>,
    ) -> Result<u64, BackendError> {
        let alive = fingerprints.filter_map(|fingerprint| {
            let entry = entries.get(&fingerprint)?.as_ref();
            entry.filter(|entry| entry.is_alive()).map(|entry| (fingerprint, entry))
        });
        let (mut members, mut shared) = (Vec::new(), Vec::new());
        for (fingerprint, entry) in alive {
            match entry.only() {
                Some(only) => members.push((fingerprint, only)),
                None => shared.push(fingerprint),
            }
        }
        let draw = |&fingerprint: &u64| {
            Command::new("ZRANDMEMBER", self.layout.members(fingerprint), [number(MEMBERS_MAX)])
        };
        let drawn = self.connection.call(shared.iter().map(draw).collect()).await?;
        for (fingerprint, drawn) in shared.into_iter().zip(drawn) {
            members.extend(versions_of(drawn).into_iter().map(|version| (fingerprint, version)));
        }
        let live = self.live_of(members.iter().map(|(_, version)| &version.id)).await?;
        let mut cleared = 0;
        for ((fingerprint, version), live) in members.into_iter().zip(live) {
            let is_live = live.is_some_and(|live| live.ordinal == version.ordinal);
            if !is_live && self.is_lost(&version, fingerprint).await? {
                self.repair_version(&added(&version, fingerprint)).await?;
                cleared += 1;
            }
        }
        Ok(cleared)
    }

    /// Whether a version is neither pending nor live, and is noted nowhere. The order of the reads
    /// decides, see the head.
    async fn is_lost(&self, version: &Version, fingerprint: u64) -> Result<bool, BackendError> {
        let queue = self.layout.queue(Part::of_id(&version.id));
        let replaced = Leftover::Replaced { version: version.clone(), fingerprint };
        let notes = [added(version, fingerprint), replaced];
        let note = |note: &Leftover| Command::new("ZSCORE", queue.clone(), [note.encode()]);
        let mut commands = vec![
            Command::new("GET", self.layout.pending(version), []),
            Command::new("GET", self.layout.document(&version.id), []),
        ];
        commands.extend(notes.iter().map(note));
        let replies = self.connection.call(commands).await?;
        let mut replies = replies.into_iter().map(Reply::bytes);
        let (pending, live) = (replies.next().flatten(), replies.next().flatten());
        let live = live.and_then(|live| VersionRecord::decode(&live));
        let is_live = live.is_some_and(|live| live.ordinal == version.ordinal);
        Ok(pending.is_none() && !is_live && replies.all(|score| score.is_none()))
    }

    /// Removes a posting of a set without an entry; `false` if there is an entry now.
    async fn remove_lost(
        &self,
        block: u64,
        posting: &Bytes,
        fingerprint: u64,
    ) -> Result<bool, BackendError> {
        let mark = scripts::MARK_LOST.call(
            vec![self.layout.entry(fingerprint), self.layout.queue(Part::of_set(fingerprint))],
            vec![
                entries::lost(token()?),
                number(self.now_ms()),
                Bytes::copy_from_slice(&fingerprint.to_be_bytes()),
            ],
        );
        if self.connection.call_one(mark).await?.integer() != Some(1) {
            return Ok(false);
        }
        let take = Command::new("ZREM", self.block_key(block), [posting.clone()]);
        self.connection.call_one(take).await?;
        self.end(fingerprint, None).await.map(|()| true)
    }
}

impl Place {
    fn encode(&self) -> Bytes {
        [&self.block.to_be_bytes()[..], &self.after].concat().into()
    }

    /// The beginning if there is none.
    fn decode(bytes: Option<Bytes>) -> Self {
        let read = |bytes: Bytes| {
            let block = u64::from_be_bytes(*bytes.first_chunk()?);
            Some(Self { block, after: bytes.slice(8..) })
        };
        bytes.and_then(read).unwrap_or_default()
    }
}
