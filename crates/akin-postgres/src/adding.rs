//! Adds documents: documents that wait at the same time are checked and written in a single
//! transaction.
//!
//! A call of `akin.add` takes the locks of its documents, and writes them unless the database knows
//! something that the documents were not checked against: near sets, or other versions. Then it
//! returns that and writes nothing; the documents are checked again, in a transaction that keeps
//! the locks. So a document that is like no other takes one call, and a crowd, of which every
//! document is like the others, is not read again and again. After a call that found much, the
//! next call begins with that transaction.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use akin_core::index::SearchLimits;
use akin_engine::backend::{Addition, BackendError, Check, Stored};
use futures_util::future::try_join;
use parking_lot::Mutex;
use tokio_postgres::Row;

use crate::backend::PostgresCollection;
use crate::batch::{InsertBatch, lock_of_id};
use crate::coalescing::{Request, TOGETHER_MAX, WaitingRequests, Weight};
use crate::database::DatabaseConnection;
use crate::lookup::of_key;
use crate::pool::in_time;

/// Attempts before documents are refused that other writers change again and again.
const ATTEMPTS_MAX: usize = 8;

/// Requests that are looked at for a batch: some are left as their ids are being written.
const LOOKED_AT_MAX: usize = 512;

/// Bytes of contents in a batch, unless a single document has more.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Sets that are read of a key for a document whose candidates the engine looks up itself.
const OF_KEY_UNLISTED: usize = 200;

/// Keeps the locks of a server that stops in the midst of a check from others for so long only.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'";

/// A document that waits to be added.
pub(crate) struct Queued {
    pub collection: Arc<PostgresCollection>,
    pub addition: Addition,
    pub check: Arc<dyn Check>,
    /// In the call of its client.
    pub number: usize,
}

pub(crate) type Additions = WaitingRequests<Queued, Option<Stored>>;
pub(crate) type AdditionRequest = Request<Queued, Option<Stored>>;

/// The ids and the lookup keys of the documents that this process is writing: a later document that
/// shares one waits for the earlier, as the order of arrival demands, and takes no connection.
#[derive(Default)]
pub(crate) struct BusyKeys {
    locks: Mutex<HashSet<i64>>,
    /// The last call found near-duplicates of most of its documents, or older versions, as the next
    /// call will: the next call begins with the locks, and keeps them while documents are checked.
    begins_locked: AtomicBool,
}

impl Queued {
    fn lock_of_id(&self) -> i64 {
        lock_of_id(self.collection.number, self.addition.document.document.id.as_str())
    }

    /// How many sets of each key are compared with the document.
    pub fn of_key(&self) -> usize {
        let Some(search) = &self.addition.search else { return 0 };
        let limited = |[first, _]: [SearchLimits; 2]| of_key(search.keys.len(), &first);
        search.candidates.map_or(OF_KEY_UNLISTED, limited)
    }

    fn weight(&self) -> Weight {
        let keys = self.addition.search.as_ref().map_or(0, |search| search.keys.len());
        Weight { keys, of_key: self.of_key(), others: 1 }
    }

    /// The keys that a later document may share.
    fn locks(&self) -> impl Iterator<Item = i64> {
        let keys = self.addition.search.iter().flat_map(|search| &search.keys);
        keys.map(|key| self.collection.key(*key)).chain([self.lock_of_id()])
    }
}

impl BusyKeys {
    /// Takes documents of one collection, in their order, each with an id of its own.
    pub fn select(&self, queue: &mut VecDeque<AdditionRequest>) -> Vec<AdditionRequest> {
        let (mut busy, mut blocked, mut ids) = (self.locks.lock(), HashSet::new(), HashMap::new());
        let (mut taken, mut left) = (Vec::<AdditionRequest>::new(), Vec::new());
        let (mut bytes, mut weight) = (0, Weight::default());
        while taken.len() < TOGETHER_MAX
            && left.len() < LOOKED_AT_MAX
            && bytes < BATCH_BYTES_MAX
            && let Some(request) = queue.pop_front()
        {
            if !request.is_wanted() {
                continue;
            }
            let asked = &request.asked;
            let is_other =
                |first: &AdditionRequest| first.asked.collection.number != asked.collection.number;
            let id = asked.lock_of_id();
            let replaced = ids.get(&id).map(|n: &usize| &taken[*n].asked);
            // A later document is not compared with a version that is replaced before it.
            blocked.extend(replaced.into_iter().flat_map(Queued::locks));
            let waits = taken.first().is_some_and(is_other)
                || asked.locks().any(|lock| busy.contains(&lock) || blocked.contains(&lock));
            if waits {
                // Documents that share something with it stay behind it.
                blocked.extend(asked.locks());
                left.push(request);
            } else {
                let Some(with) = weight.with_next(asked.weight()) else {
                    queue.push_front(request);
                    break;
                };
                weight = with;
                ids.insert(id, taken.len());
                bytes += asked.addition.document.document.content.weight();
                taken.push(request);
            }
        }
        busy.extend(taken.iter().flat_map(|request| request.asked.locks()));
        left.into_iter().rev().for_each(|request| queue.push_front(request));
        taken
    }

    pub fn release(&self, requests: &[AdditionRequest]) {
        let mut busy = self.locks.lock();
        for lock in requests.iter().flat_map(|request| request.asked.locks()) {
            busy.remove(&lock);
        }
    }
}

/// Adds documents; `Err` is the outcome of all of them, of which some may be written.
pub(crate) async fn add(
    connection: &DatabaseConnection,
    requests: &[AdditionRequest],
    busy: &BusyKeys,
    deadline: Duration,
) -> Result<Vec<Result<Option<Stored>, BackendError>>, BackendError> {
    let mut batch = InsertBatch::new(requests).await?;
    if !busy.begins_locked.load(Ordering::Relaxed) {
        // A batch that would write nothing asks the database all the same: the versions that its
        // documents replace are not known yet.
        batch.judge().await;
        let rows = in_time(deadline, batch.arguments().add(&connection.client)).await?;
        if InsertBatch::is_written(&rows) {
            return Ok(batch.outcomes());
        }
        batch.learn(&rows).await?;
        batch.judge().await;
    }
    for _ in 1..ATTEMPTS_MAX {
        // The data behind the other decisions is committed, and these documents write nothing.
        if !batch.writes() || write_locked(connection, &mut batch, deadline).await? {
            busy.begins_locked.store(batch.is_mostly_known(), Ordering::Relaxed);
            return Ok(batch.outcomes());
        }
    }
    Err(BackendError::Changed)
}

/// Checks and writes in a transaction that holds the locks. `false` if it has to be repeated, as
/// it learned of locks that it does not hold.
async fn write_locked(
    connection: &DatabaseConnection,
    batch: &mut InsertBatch<'_>,
    deadline: Duration,
) -> Result<bool, BackendError> {
    let client = &connection.client;
    let arguments = batch.arguments();
    let held: BTreeSet<i64> = arguments.locks.iter().copied().collect();
    let begun = async {
        let find = async { arguments.find_unknown(client).await };
        let (begun, rows) = futures_util::future::join(client.batch_execute(BEGIN), find).await;
        begun.and(rows)
    };
    let rows: Vec<Row> = in_time(deadline, begun).await?;
    drop(arguments);
    if !rows.is_empty() {
        batch.learn(&rows).await?;
    }
    batch.doubt_own_searches();
    batch.judge().await;
    let arguments = batch.arguments();
    if !arguments.locks.iter().all(|lock| held.contains(lock)) {
        in_time(deadline, client.batch_execute("ROLLBACK")).await?;
        return Ok(false);
    }
    let commit = client.batch_execute("COMMIT");
    in_time(deadline, try_join(arguments.write(client), commit)).await?;
    Ok(true)
}
