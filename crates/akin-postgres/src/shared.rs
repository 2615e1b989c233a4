//! The parts that all collections of a process share: connections, the calls that take waiting
//! requests together, and periodic work.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use akin_engine::backend::BackendError;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::adding::{self, Additions, BusyKeys};
use crate::checks;
use crate::coalescing::{ReadRequest, Request, WaitingRequests};
use crate::database::Database;
use crate::error::late;
use crate::found::{SketchCache, sketch_cache};
use crate::maintenance::{FollowedCollections, follow, maintain};
use crate::migration::migrate;
use crate::pausing::Pauses;
use crate::pool::{ConnectionPool, Outage, Taken};
use crate::reading::{DocumentReads, Probes, Readings};

/// Connections that write documents. More would take fewer documents together.
const WRITERS: usize = 3;

/// Connections that find documents, and as many that look keys up, and that read documents.
const LOOKUPS: usize = 2;

/// Connections for single queries.
const READERS: usize = 4;

/// Connections that remove documents.
const REMOVERS: usize = 2;

/// Collections whose writers wait at the same time.
const PAUSES_MAX: usize = 4;

/// The pause after a connection failed.
const RECONNECT_AFTER: Duration = Duration::from_millis(200);

/// Settings of the connections.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// Of the longest call, but for reads of whole collections.
    pub deadline: Duration,
    /// Reads of whole collections at the same time.
    pub scans_max: usize,
    /// Changes of a collection that readers can go back, at least.
    pub changes_kept: u64,
    /// zstd level of the contents.
    pub compression_level: i32,
}

pub(crate) struct SharedDatabase {
    pub reads: ConnectionPool,
    /// Of removals, which wait as long as a reindex keeps the writers of a collection waiting.
    pub removals: ConnectionPool,
    pub scans: ConnectionPool,
    pub pauses: Pauses,
    pub documents: Arc<DocumentReads>,
    pub probes: Arc<Probes>,
    pub readings: Arc<Readings>,
    pub additions: Arc<Additions>,
    /// Of collections that are being built. A reindex fills a collection while it keeps the
    /// writers of another waiting, who may be all other writers.
    pub copies: Arc<Additions>,
    pub followed: FollowedCollections,
    pub sketches: SketchCache,
    pub compression_level: i32,
    /// Never set: a database that fails refuses requests until it is back.
    pub healthy: watch::Sender<Option<String>>,
    pub outage: Outage,
    /// End with the last handle.
    tasks: Mutex<JoinSet<()>>,
}

impl SharedDatabase {
    /// Checks the database, brings its schema up to date, and starts the connections.
    ///
    /// # Errors
    /// `OutOfService`: it cannot be reached; `OtherSettings`: it lacks something, or is newer.
    pub async fn open(
        database: Database,
        settings: &ConnectionSettings,
    ) -> Result<Arc<Self>, BackendError> {
        let deadline = settings.deadline;
        let database = Arc::new(database);
        let outage = Outage::default();
        let pool = |connections| {
            ConnectionPool::new(Arc::clone(&database), connections, deadline, &outage)
        };
        // One for each worker, so none waits; requests that come one by one share one.
        let workers = Arc::new(pool(1 + WRITERS + 3 * LOOKUPS));
        let opened = async {
            let (one, other) = (workers.take().await?, workers.take().await?);
            checks::check(one.client(), other.client(), WRITERS + 1).await?;
            migrate(one.client()).await?;
            workers.give_back(other);
            workers.give_back(one);
            Ok::<(), BackendError>(())
        };
        timeout(deadline, opened).await.map_err(|_| late())??;
        let shared = Arc::new(Self {
            reads: pool(READERS),
            removals: pool(REMOVERS),
            scans: pool(settings.scans_max.max(1)),
            pauses: Pauses::new(pool(PAUSES_MAX)),
            documents: WaitingRequests::new(),
            probes: WaitingRequests::new(),
            readings: WaitingRequests::new(),
            additions: WaitingRequests::new(),
            copies: WaitingRequests::new(),
            followed: FollowedCollections::default(),
            sketches: sketch_cache(),
            compression_level: settings.compression_level,
            healthy: watch::Sender::new(None),
            outage: Arc::clone(&outage),
            tasks: Mutex::default(),
        });
        shared.start(&workers);
        shared.run(follow(Arc::downgrade(&shared)));
        shared.run(maintain(Arc::downgrade(&shared), settings.changes_kept));
        Ok(shared)
    }

    fn start(&self, workers: &Arc<ConnectionPool>) {
        self.run(write(Arc::clone(workers), Arc::clone(&self.copies), Arc::default()));
        let busy = Arc::new(BusyKeys::default());
        for _ in 0..WRITERS {
            let (additions, busy) = (Arc::clone(&self.additions), Arc::clone(&busy));
            self.run(write(Arc::clone(workers), additions, busy));
        }
        for _ in 0..LOOKUPS {
            self.run(read(Arc::clone(workers), Arc::clone(&self.documents)));
            self.run(read(Arc::clone(workers), Arc::clone(&self.probes)));
            self.run(read(Arc::clone(workers), Arc::clone(&self.readings)));
        }
    }

    /// Runs a task as long as there are collections.
    pub fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().spawn(task);
    }
}

/// A connection of the workers. The pause after a failure is theirs, as they take the next requests
/// at once.
async fn connection(workers: &ConnectionPool) -> Result<Taken, BackendError> {
    let taken = workers.take().await;
    if taken.is_err() {
        sleep(RECONNECT_AFTER).await;
    }
    taken
}

/// Answers each request, or all of them with the error.
fn answer_all<A, B>(
    requests: Vec<Request<A, B>>,
    answers: Result<Vec<Result<B, BackendError>>, BackendError>,
) {
    match answers {
        Ok(answers) => requests.into_iter().zip(answers).for_each(|(of, it)| of.answer(it)),
        Err(error) => requests.into_iter().for_each(|of| of.answer(Err(error.clone()))),
    }
}

async fn write(workers: Arc<ConnectionPool>, additions: Arc<Additions>, busy: Arc<BusyKeys>) {
    loop {
        let requests = additions.next(|queue| busy.select(queue)).await;
        let added = async {
            let taken = connection(&workers).await?;
            let added = adding::add(&taken.connection, &requests, &busy, workers.deadline).await?;
            workers.give_back(taken);
            Ok::<Vec<_>, BackendError>(added)
        };
        // A fault in the check of a document must not end the writing of others.
        let added = AssertUnwindSafe(added).catch_unwind().await.unwrap_or_else(|_| {
            let reason = "a check of documents panicked, see the log".to_owned();
            Err(BackendError::Store { reason })
        });
        busy.release(&requests);
        additions.wake();
        answer_all(requests, added);
    }
}

async fn read<A: ReadRequest>(
    workers: Arc<ConnectionPool>,
    waiting: Arc<WaitingRequests<A, A::Answer>>,
) {
    loop {
        let requests = waiting.next_read().await;
        let read = async {
            let taken = connection(&workers).await?;
            let read = timeout(workers.deadline, A::read(&taken.connection, &requests)).await;
            let read = read.map_err(|_| late())??;
            workers.give_back(taken);
            Ok(read)
        };
        let read = read.await;
        waiting.end_read(requests.len());
        answer_all(requests, read.map(|answers| answers.into_iter().map(Ok).collect()));
    }
}
