//! A backend in a Valkey Cluster or Redis Cluster, which any number of processes share. The
//! processes keep no state but caches: sharding, replication and failover are Valkey's.
//!
//! # Keys in Valkey
//!
//! Key names begin with the server's prefix and the collection's number, `P:C:`. A part is a hash
//! tag: an id selects one of 256 parts, a fingerprint selects one of 4,096 parts. All keys of a
//! part are in the same slot, where a script is atomic ([`layout::Part`]).
//!
//! | key | type | content |
//! |---|---|---|
//! | `o`, `t` | number | the last ordinal and the last ticket given, see [`scripts::TAKE`] |
//! | `d{part}id` | string | the live version of a document, see [`versions::Pending`] |
//! | `p{part}ordinal,id` | string | a pending version, with the same value |
//! | `i{part}` | sorted set | the ids of the part, at score 0 |
//! | `e{part}` | sorted set | the ids of documents that expire, by the time |
//! | `q{part}` | sorted set | unfinished work, by the time: [`layout::Leftover`] |
//! | `k{part}token` | string | what a call has removed, until it is certain that the call is over |
//! | `n{part}` | hash | `c`: members of sets beyond the first; `p`: keys, where sets differ |
//! | `s{part}fingerprint` | string | the entry of a set, with its first member: [`entries`] |
//! | `m{part}fingerprint` | sorted set | all members, if there are several, at score 0 |
//! | `w{part}fingerprint` | sorted set | members that may have to be waited for, by ticket |
//! | `bTABLE,PREFIX` | sorted set | a block of postings at score 0: key and fingerprint |
//! | `r`, `v` | string | a process repairs now; a process scrubs now |
//! | `c` | string | how far the scrub has come, see [`scrub`] |
//!
//! A block has the postings of all keys of a table that begin with the same bits: about 16, so that
//! it stays in the engine's compact encoding (`zset-max-listpack-entries 256`). The postings of a
//! key are a range of its members, read up to a limit. Equal sets share an entry, so that a page
//! copied 100,000 times has a single posting under each key. Fingerprints are keyed hashes of sets.
//! A different set with a fingerprint that is in use is refused. Texts are outside of Valkey, see
//! [`contents`].
//!
//! # How a document is added
//!
//! 1. Write `q` and then `p`: the version is pending.
//! 2. Write the content; `s` of the set, or if there is an equal set `m` and `w`; then its postings
//!    under all keys.
//! 3. If near-duplicates are to be reported: take a ticket and note it in `p` and `w`; read the
//!    pending versions that have a lower ticket or none; look up the live versions (see
//!    [`tickets`]).
//! 4. Rename `p` to `d` and write `i`, or if there is a live version [`scripts::MAKE_LIVE`]: the
//!    replaced version is noted in `q`.
//! 5. Take the note of the adding out of `w` and `q`.
//! 6. If the settings demand it, wait for replicas. Then the document is acknowledged.
//!
//! A replaced or removed version is cleared: its member is removed. An entry without members is
//! marked, its postings are removed, and then the entry is removed. While an entry is marked, no
//! process indexes its set.
//!
//! Readers count a member only if `d` of its id has its ordinal. So after a crash before step 4 the
//! document is absent: readers ignore its members and postings. After step 4 it is there with all
//! its keys, since they were written before. In either case `q` lists the unfinished work, from
//! before the first write of a document until after its last, and the repair finishes it: a pending
//! version whose note is older than the lease is withdrawn, after which its owner cannot make it
//! live. While a process works, it renews its notes ([`leases`]). All steps may be repeated.
//!
//! # Which steps are scripts
//!
//! A step is a script only if it must look at one key before it writes another. Most documents are
//! new and have a new set: plain commands are enough for them, whatever happens between two of
//! them.
//!
//! - `SET p` and later `SET p XX` with the ticket: a version has a `p` of its own, which is written
//!   for the first time before all other steps and renamed when the version becomes live or deleted
//!   when it is withdrawn. `XX` finds nothing then, so a withdrawn version stays withdrawn.
//! - `SET s NX` files a new set with its member. If the reply is lost and the command is repeated,
//!   it finds an entry, as for an equal set, and [`scripts::FILE`] follows, which finds the member
//!   in the entry. A process that dies after it leaves the note in `q`, as after a script. Members
//!   move from the entry to `m` only, see [`entries`] for why readers miss none.
//! - `RENAMENX p d` makes a version live if there is none, and `ZADD i` lists its id: see
//!   [`writing`].
//! - `ZREM q` of the item `V`, once the version is live and nobody waits for it: the item says that
//!   the adding is not finished. The script that replaces or removes the version takes `d` away and
//!   adds an item `R`, so the remains of the version are listed even if `V` is removed then.
//! - A repeated [`scripts::REMOVE`] finds the removed version under the token of the call, and
//!   returns this version: it does not remove a version that was added since. A repeated
//!   [`scripts::UNFILE`] finds its own token in the mark, and no other call removes the entry.
//!
//! Whoever looks for pending versions reads `p` of the first member of a set, whether it is pending
//! or not, and of the other members those in `w`. A document is filed before it takes a ticket, so
//! a document with a later ticket that reads `s`, `w` and `p` in this order finds it, or it is not
//! pending any more. `w` is in the order of tickets: if very many equal sets arrive at once, each
//! document reads the earliest.
//!
//! `model` plays these steps with processes that die between any two.
//!
//! Two assumptions: a command is not executed later than the lease after it was sent, and the
//! clocks of processes and nodes differ by less than the lease. They keep a process that was taken
//! for dead from removing postings that were written again.

mod access;
mod announcing;
mod check;
mod client;
mod command;
mod connection;
mod contents;
mod documents;
mod entries;
mod failure;
mod layout;
mod leases;
#[cfg(test)]
mod model;
mod periodic;
mod reading;
mod registry;
mod removal;
mod repair;
mod replacing;
mod replicas;
mod rivals;
mod s3;
mod scanning;
mod scripts;
mod scrub;
mod statistics;
mod tickets;
mod versions;
mod writing;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::backend::in_flight::InFlight;
use crate::backend::shared::{ListedCollection, SharedOptions};
use crate::backend::{
    Backend, BackendError, BackendStats, Candidate, Candidates, Clock, ExactCandidates, Matches,
    PreparedDocument, Records, Registered, Removed, RivalSearch, Rivals, SetCache, Sketched,
    Stored, Version, VersionPage, content_hash,
};
use crate::background::turns::Turns;
use crate::document::{Content, Document, DocumentId};
use crate::storage::{Detail, DocumentDetails, Order, Record};
use akin_core::index::{ExactSearch, Search};
use akin_core::scheme::Scheme;
use akin_core::sketch::Estimator;
use akin_core::text::ShingleSet;
use connection::Connection;
use contents::Contents;
use layout::Layout;
use leases::Leases;
use removal::Which;
use replacing::Standing;
use tickets::Tickets;

use announcing::Announced;
#[cfg(any(test, fuzzing))]
pub use client::fuzzing;
pub use registry::ValkeyRegistry;

/// Attempts at reading a document that is replaced while it is read.
const ATTEMPTS: usize = 8;

/// A collection in Valkey.
pub struct Valkey {
    shared: Arc<Shared>,
    in_flight: InFlight,
    poisoned: watch::Sender<Option<String>>,
}

struct Shared {
    connection: Connection,
    layout: Layout,
    /// `None` where contents are not kept.
    contents: Option<Contents>,
    scheme: Scheme,
    estimator: Estimator,
    sketch_bytes: usize,
    sets: SetCache,
    clock: Clock,
    ttl_ms: Option<i64>,
    deadline: Duration,
    lease_ms: i64,
    /// Ordinals that this process may use.
    ordinals: tokio::sync::Mutex<Range<u64>>,
    leases: Arc<Leases>,
    tickets: Arc<Tickets>,
    scans: Arc<Turns>,
    is_closed: AtomicBool,
    standing: Standing,
}

impl Shared {
    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

impl Valkey {
    /// Opens a collection.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] if contents are kept and there is no place for them.
    fn open(
        home: &ValkeyRegistry,
        listed: &ListedCollection,
        options: SharedOptions,
    ) -> Result<Self, BackendError> {
        let SharedOptions { scheme, sketch, .. } = options;
        let settings = &home.settings;
        let contents = home.contents_of(listed, options.keep_content)?;
        let connection = home.connection.clone();
        let layout = Layout::new(&settings.prefix, listed.number, listed.entry.block_bits);
        let shared = Arc::new(Shared {
            tickets: Tickets::new(connection.clone(), layout.tickets()),
            connection,
            layout,
            contents,
            estimator: scheme.estimator(&sketch),
            sketch_bytes: scheme.sketch_bytes(),
            scheme,
            sets: options.sets.of_next_collection(),
            clock: options.clock,
            ttl_ms: options.ttl_ms,
            deadline: settings.deadline(),
            lease_ms: settings.lease_ms as i64,
            ordinals: tokio::sync::Mutex::new(0..0),
            leases: Arc::default(),
            scans: Turns::new(options.scans_max),
            is_closed: AtomicBool::new(false),
            standing: Standing::new(home, listed),
        });
        shared.keep_leases();
        shared.keep_repaired();
        shared.keep_scrubbed();
        let in_flight = InFlight::new(Estimator::new(&sketch));
        Ok(Self { shared, in_flight, poisoned: watch::Sender::new(None) })
    }

    fn check_open(&self) -> Result<(), BackendError> {
        if self.shared.is_closed() { Err(BackendError::Closed) } else { Ok(()) }
    }
}

impl Drop for Valkey {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Backend for Valkey {
    async fn register(
        &self,
        document: PreparedDocument,
        tentative: bool,
        search: Option<RivalSearch>,
    ) -> Result<Registered, BackendError> {
        let document = Arc::new(document);
        // All rivals, including rivals in this process, are found through Valkey: their tickets
        // decide.
        let (arrival, _) = self.in_flight.enter(&document, tentative, None, None);
        let (rivals, is_new) = (Rivals::default(), false);
        let (announced, text) = (None, None);
        Ok(Registered { document, rivals, is_new, tentative, search, arrival, announced, text })
    }

    async fn announce(
        &self,
        registered: &mut Registered,
    ) -> Result<Option<Candidates>, BackendError> {
        self.check_open()?;
        self.shared.announce(registered).await
    }

    async fn store(&self, registered: Registered) -> Result<Stored, BackendError> {
        self.check_open()?;
        let work = Arc::clone(&self.shared).store_one(registered);
        let stored = self.shared.connection.spawn(work).await;
        stored.unwrap_or_else(|_| Err(failure::unavailable("the server is stopping")))
    }

    async fn store_new(&self, registered: Vec<Registered>) -> Result<(), BackendError> {
        for registered in registered {
            self.store(registered).await?;
        }
        Ok(())
    }

    async fn is_stored(&self, document: &Document) -> Result<bool, BackendError> {
        let (live, now_ms) = (self.shared.live(&document.id).await?, self.shared.now_ms());
        let hash = content_hash(document);
        Ok(live.is_some_and(|live| live.is_alive(now_ms) && live.content_hash == hash))
    }

    async fn remove(&self, id: &DocumentId) -> Result<bool, BackendError> {
        self.check_open()?;
        let mut arrival = self.in_flight.enter_removal(id);
        arrival.wait_for_predecessor().await;
        let (shared, id) = (Arc::clone(&self.shared), id.clone());
        let work = async move {
            let removed = shared.remove(&id, Which::Alive).await;
            arrival.stored();
            removed
        };
        let removed = self.shared.connection.spawn(work).await;
        removed.unwrap_or_else(|_| Err(failure::unavailable("the server is stopping")))
    }

    async fn remove_expired(&self, max: usize) -> Result<u64, BackendError> {
        self.check_open()?;
        self.shared.remove_expired(max).await
    }

    async fn remove_where(&self, matches: Matches) -> Result<Removed, BackendError> {
        self.check_open()?;
        self.shared.remove_where(matches).await
    }

    async fn candidates(&self, searches: &[Search<'_>]) -> Result<Vec<Candidates>, BackendError> {
        self.shared.candidates(searches).await
    }

    async fn exact_candidates(
        &self,
        search: &ExactSearch,
    ) -> Result<ExactCandidates, BackendError> {
        self.shared.scan(search).await.map(ExactCandidates::Scanned)
    }

    async fn sets(
        &self,
        candidates: &[Candidate],
    ) -> Result<Vec<Option<ShingleSet>>, BackendError> {
        let fingerprints: Vec<u64> =
            candidates.iter().map(|candidate| candidate.fingerprint).collect();
        self.shared.read_sets(&fingerprints).await
    }

    async fn contents(
        &self,
        groups: &[Vec<Version>],
    ) -> Result<Vec<Option<Content>>, BackendError> {
        self.shared.contents(groups).await
    }

    async fn details(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError> {
        self.shared.details(versions).await
    }

    async fn sketched(&self, ids: &[DocumentId]) -> Result<Vec<Option<Sketched>>, BackendError> {
        self.shared.sketched(ids).await
    }

    async fn record(&self, id: &DocumentId) -> Result<Option<Record>, BackendError> {
        self.shared.record(id).await
    }

    async fn list(
        &self,
        after: Option<DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, BackendError> {
        self.shared.list(after.as_ref(), limit).await
    }

    async fn versions(&self, after: Option<&DocumentId>) -> Result<VersionPage, BackendError> {
        self.shared.versions(after).await
    }

    async fn sample(&self, documents: usize) -> Result<Vec<DocumentId>, BackendError> {
        self.shared.sample(documents).await
    }

    async fn export(&self, detail: Detail, _order: Order) -> Records {
        self.shared.export(detail)
    }

    async fn stats(&self) -> Result<BackendStats, BackendError> {
        self.shared.stats().await
    }

    fn poisoned(&self) -> watch::Receiver<Option<String>> {
        self.poisoned.subscribe()
    }

    async fn close(&self) -> Result<(), BackendError> {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        Ok(())
    }
}
