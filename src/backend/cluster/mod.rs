//! A backend in a Valkey or Redis Cluster, which any number of processes share. They keep no state
//! of their own but caches: sharding, replication and failover are the cluster's.
//!
//! # What stands in the cluster
//!
//! Keys begin with the server's prefix and the collection's number, `P:C:`. A part is a hash tag:
//! what an id decides is in one of 256 parts, what a fingerprint decides in one of 4,096, and so in
//! one slot, where a script is atomic ([`layout::Part`]).
//!
//! | key | type | content |
//! |---|---|---|
//! | `o`, `t` | number | the last ordinal and the last ticket given, see [`scripts::TAKE`] |
//! | `d{part}id` | string | the live version of a document, see [`versions::VersionRecord`] |
//! | `p{part}id` | hash | ordinal → a pending version, see [`versions::Pending`] |
//! | `i{part}` | sorted set | the ids of the part, at score 0 |
//! | `e{part}` | sorted set | the ids of documents that expire, by the time |
//! | `q{part}` | sorted set | what a crash may leave, by the time: [`layout::Leftover`] |
//! | `n{part}` | hash | `s`: number of sets, `p`: of their keys |
//! | `s{part}fingerprint` | string | the entry of a set, its size and sketch: [`versions::Entry`] |
//! | `x{part}fingerprint` | string | the set, see [`versions::set_bytes`] |
//! | `m{part}fingerprint` | sorted set | the entry's members at score 0: ordinal and id |
//! | `w{part}fingerprint` | sorted set | those members that others may have to wait for |
//! | `bTABLE.PREFIX` | sorted set | a block of postings at score 0: key and fingerprint |
//! | `r` | string | whose turn it is to repair |
//!
//! A block has the postings of all keys of a table that begin with the same bits: about 64, so that
//! it stays in the engine's compact encoding (`zset-max-listpack-entries 256`). The postings of a
//! key are a range of its members, read up to a limit. Equal sets are one entry, so that a page
//! copied 100,000 times has one posting under each key. Fingerprints are keyed hashes of sets;
//! another set with a fingerprint that is taken is refused. Texts are outside, see [`contents`].
//!
//! # How a document is added
//!
//! 1. `q` and then `p`: the version is pending.
//! 2. The content; `s`, `x`, `m` and `w` of the set; then its postings under all keys.
//! 3. If near-duplicates are looked for: the ticket, which is noted in `p`; the look at the pending
//!    versions with a lower ticket, and at those without one; the lookup (see [`tickets`]).
//! 4. [`scripts::MAKE_LIVE`]: `p` becomes `d`, and what that replaces is noted in `q`.
//! 5. If the settings ask for it, the wait for replicas. The document is acknowledged.
//!
//! What was replaced or removed is cleared: its member, and an entry without members: the entry is
//! marked, its postings are removed, then the entry. Nobody files a set whose entry is marked.
//!
//! Readers count a member only if `d` of its id has its ordinal. So after a crash before 4 the
//! document is absent: nothing shows its members and postings. After 4 it is there with all its
//! keys, as they were filed before. `q` has what is left in either case, from before its first
//! write until after its last, and the repair finishes it: a pending version that is older than the
//! lease is withdrawn, after which its owner cannot make it live. All steps may be repeated.
//!
//! A command is taken not to be executed later than the lease after it was sent, and clocks of
//! processes and nodes to differ by less: that is what keeps a process that was taken for dead from
//! removing postings that were filed again.

mod announcing;
mod check;
mod client;
mod command;
mod connection;
mod contents;
mod documents;
mod failure;
mod layout;
mod reading;
mod registry;
mod removal;
mod repair;
mod replicas;
mod reply;
mod rivals;
mod s3;
mod scanning;
mod scripts;
mod settings;
mod statistics;
mod tickets;
mod versions;
mod writing;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, watch};

use crate::backend::in_flight::InFlight;
use crate::backend::{
    Backend, BackendError, BackendStats, Candidate, Candidates, Clock, ExactCandidates, Matches,
    PreparedDocument, Records, Registered, Removed, RivalSearch, Rivals, SetCache, Sketched,
    Stored, Version, content_hash,
};
use crate::document::{Content, Document, DocumentId};
use crate::index::{ExactSearch, Search};
use crate::scheme::Scheme;
use crate::sketch::{Estimator, SketchSettings};
use crate::storage::{Detail, DocumentDetails, Order, Record};
use crate::text::ShingleSet;
use connection::Connection;
use contents::Contents;
use layout::Layout;
use removal::Which;
use tickets::Tickets;

pub(crate) use announcing::Announced;
pub use registry::{ClusterHome, ListedCollection};
pub use settings::{BackendKind, ClusterSettings, Password};

/// Attempts at reading a document that is replaced meanwhile.
const ATTEMPTS: usize = 8;

/// Settings of a collection in the cluster.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Whether texts and tokens themselves are kept.
    pub keep_content: bool,
    /// The default lifetime of documents; `None` for no limit.
    pub ttl_ms: Option<i64>,
    /// The cache of recently used sets.
    pub sets: SetCache,
    pub clock: Clock,
    /// Scans of all documents that run at once.
    pub scans_max: usize,
}

/// A collection in the cluster.
pub struct Cluster {
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
    tickets: Arc<Tickets>,
    scans: Arc<Semaphore>,
    is_closed: AtomicBool,
}

impl Shared {
    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

impl Cluster {
    /// Opens a collection.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`] if contents are kept and there is no place for them.
    pub fn open(
        home: &ClusterHome,
        listed: &ListedCollection,
        options: ClusterOptions,
        scheme: Scheme,
        sketch: &SketchSettings,
    ) -> Result<Self, BackendError> {
        let settings = &home.settings;
        let contents = match (options.keep_content, &home.contents) {
            (false, _) => None,
            (true, Some(all)) => {
                Some(all.of(&contents::directory(&settings.prefix, listed.number)))
            }
            (true, None) => {
                return Err(BackendError::Unreachable {
                    reason: "cluster.contents must say where the texts are kept, or store.text \
                             be false"
                        .to_owned(),
                });
            }
        };
        let connection = home.connection.clone();
        let layout = Layout::new(&settings.prefix, listed.number, listed.made.block_bits);
        let shared = Arc::new(Shared {
            tickets: Tickets::new(connection.clone(), layout.tickets()),
            connection,
            layout,
            contents,
            estimator: scheme.estimator(sketch),
            sketch_bytes: scheme.sketch_bytes(),
            scheme,
            sets: options.sets.of_next_collection(),
            clock: options.clock,
            ttl_ms: options.ttl_ms,
            deadline: settings.deadline(),
            lease_ms: settings.lease_ms as i64,
            ordinals: tokio::sync::Mutex::new(0..0),
            scans: Arc::new(Semaphore::new(options.scans_max)),
            is_closed: AtomicBool::new(false),
        });
        shared.keep_repaired();
        let in_flight = InFlight::new(Estimator::new(sketch));
        Ok(Self { shared, in_flight, poisoned: watch::Sender::new(None) })
    }

    /// Handles what is older than `age_ms`, rather than waiting for the next turn.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`]
    pub async fn repair(&self, age_ms: i64) -> Result<u64, BackendError> {
        self.shared.repair(age_ms).await
    }

    fn check_open(&self) -> Result<(), BackendError> {
        if self.shared.is_closed() { Err(BackendError::Closed) } else { Ok(()) }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Backend for Cluster {
    async fn register(
        &self,
        document: PreparedDocument,
        tentative: bool,
        search: Option<RivalSearch>,
    ) -> Result<Registered, BackendError> {
        let document = Arc::new(document);
        // Rivals are found in the cluster, even those in this process: their tickets decide.
        let (ticket, _) = self.in_flight.enter(&document, tentative, None);
        let (rivals, is_new) = (Rivals::default(), false);
        Ok(Registered { document, rivals, is_new, tentative, search, ticket, announced: None })
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
        let mut ticket = self.in_flight.enter_removal(id);
        ticket.wait_for_predecessor().await;
        let (shared, id) = (Arc::clone(&self.shared), id.clone());
        let work = async move {
            let removed = shared.remove(&id, Which::Alive).await;
            ticket.stored();
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
