//! Transactions that keep the writers of a collection waiting; that of a reindex gives the name of
//! the collection away at its end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use akin_engine::backend::{BackendError, PausedWrites};
use tokio::time::{sleep, timeout};
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::error::late;
use crate::pool::{ConnectionPool, Parameters, Taken, in_time};

/// How often it is looked whether older transactions have ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The class of the advisory locks of collections, as in the functions of the schema.
pub(crate) const COLLECTION_LOCKS: i32 = 1_634_429_294;

/// The connection of a transaction that holds the lock of a collection: the transaction ends with
/// the connection.
type Pausing = Mutex<Option<Taken>>;

/// A transaction that keeps all writers of a collection waiting.
struct Pause {
    pausing: Arc<Pausing>,
}

/// The transactions of this process that keep writers waiting, by the numbers of the collections.
/// Each reindex keeps the writers of two collections waiting at its end.
pub(crate) struct Pauses {
    connections: ConnectionPool,
    of_collections: Mutex<HashMap<i32, Weak<Pausing>>>,
}

impl Pauses {
    pub fn new(connections: ConnectionPool) -> Self {
        Self { connections, of_collections: Mutex::default() }
    }

    fn add(&self, collection: i32, pausing: &Arc<Pausing>) {
        let mut pauses = self.of_collections.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.retain(|_, of| of.strong_count() > 0);
        pauses.insert(collection, Arc::downgrade(pausing));
    }

    fn take(&self, collection: i32) -> Option<Taken> {
        let mut pauses = self.of_collections.lock().unwrap_or_else(PoisonError::into_inner);
        let pausing = pauses.remove(&collection)?.upgrade()?;
        pausing.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives the name of a paused collection to another; false if it has none any more. The
    /// transaction that keeps the writers waiting does it: if that has ended, so that others have
    /// written to the collection, it keeps its name.
    ///
    /// # Errors
    /// `OutOfService`: the transaction has ended, or whether it was committed is unknown.
    pub async fn take_over(&self, old: i32, new: i32) -> Result<bool, BackendError> {
        let taken = self.take(old).ok_or_else(|| {
            let reason = "the writers of the collection no longer wait".to_owned();
            BackendError::OutOfService { reason }
        })?;
        let numbers: Parameters<'_> = &[(&old, Type::INT4), (&new, Type::INT4)];
        let work = async {
            let sql = "SELECT akin.take_over($1, $2)";
            let row = taken.client().query_typed_one(sql, numbers).await?;
            taken.client().batch_execute("COMMIT").await?;
            Ok(row.get(0))
        };
        in_time(self.connections.deadline, work).await
    }
}

impl PostgresCollection {
    /// Waits for the writes that have begun, of all servers, and keeps others waiting. Whether the
    /// collection was superseded is in its row.
    pub(crate) async fn pause(&self) -> Result<Box<dyn PausedWrites>, BackendError> {
        let pauses = &self.shared.pauses;
        let (taken, deadline) = (pauses.connections.take().await?, pauses.connections.deadline);
        let number = self.number;
        // The transaction is idle while the last changes are copied, however long that takes.
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED;
             SET LOCAL idle_in_transaction_session_timeout = 0;
             SELECT pg_advisory_xact_lock({COLLECTION_LOCKS}, {number})"
        );
        in_time(deadline, taken.client().batch_execute(&begin)).await?;
        let seen = timeout(deadline, self.await_feed());
        seen.await.map_err(|_| late())??;
        let pausing = Arc::new(Mutex::new(Some(taken)));
        pauses.add(number, &pausing);
        Ok(Box::new(Pause { pausing }))
    }

    /// Waits until readers of the changes can see all of them: no older transaction runs.
    async fn await_feed(&self) -> Result<(), BackendError> {
        let sql = "SELECT NOT EXISTS (SELECT FROM akin.changes WHERE collection = $1
            AND xid >= pg_snapshot_xmin(pg_current_snapshot())::text::int8)";
        let parameters: Parameters<'_> = &[(&self.number, Type::INT4)];
        loop {
            let row = self.shared.reads.query_opt(sql, parameters).await?;
            if row.is_some_and(|row| row.get(0)) {
                return Ok(());
            }
            sleep(LOOK_EVERY).await;
        }
    }
}

impl PausedWrites for Pause {
    fn supersede(self: Box<Self>) {
        // The end of the connection ends the transaction, if it has not given the name away.
        drop(self.pausing);
    }
}
