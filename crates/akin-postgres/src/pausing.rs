//! Transactions that keep the writers of a collection waiting; that of a reindex gives the name of
//! the collection away at its end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use akin_engine::backend::{BackendError, PausedWrites};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::pool::{ConnectionPool, Parameters, Taken, in_time};
use crate::shared::SharedDatabase;

/// The class of the advisory locks of collections, as in the functions of the schema.
pub(crate) const COLLECTION_LOCKS: i32 = 1_634_429_294;

/// The connection of a transaction that holds the lock of a collection: the transaction ends with
/// the connection.
type Pausing = tokio::sync::Mutex<Option<Taken>>;

/// A transaction that keeps all writers of a collection waiting, until it is dropped.
struct Pause {
    shared: Arc<SharedDatabase>,
    collection: i32,
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

    /// The longest time for a call.
    pub fn deadline(&self) -> Duration {
        self.connections.deadline
    }

    fn of_collections(&self) -> MutexGuard<'_, HashMap<i32, Weak<Pausing>>> {
        self.of_collections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a query in the transaction that keeps the writers of a collection waiting;
    /// `None` if this process has none. While it answers, no writer has begun.
    pub async fn query(
        &self,
        collection: i32,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Vec<Row>>, BackendError> {
        let pausing = self.of_collections().get(&collection).and_then(Weak::upgrade);
        let Some(pausing) = pausing else { return Ok(None) };
        let taken = pausing.lock().await;
        let Some(taken) = &*taken else { return Ok(None) };
        let rows = taken.client().query_typed(sql, parameters);
        in_time(self.connections.deadline, rows).await.map(Some)
    }

    /// Gives the name of a paused collection to another; false if it has none any more. The
    /// transaction that keeps the writers waiting does it: if that has ended, so that others have
    /// written to the collection, it keeps its name.
    ///
    /// # Errors
    /// `OutOfService`: the transaction has ended, or whether it was committed is unknown.
    pub async fn take_over(&self, old: i32, new: i32) -> Result<bool, BackendError> {
        // No further reader of the changes takes the connection.
        let pausing = self.of_collections().remove(&old).and_then(|of| of.upgrade());
        let taken = match &pausing {
            Some(pausing) => pausing.lock().await.take(),
            None => None,
        };
        let taken = taken.ok_or_else(|| {
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
        let pausing = Arc::new(Pausing::new(Some(taken)));
        pauses.of_collections().insert(number, Arc::downgrade(&pausing));
        Ok(Box::new(Pause { shared: Arc::clone(&self.shared), collection: number, pausing }))
    }
}

impl PausedWrites for Pause {
    // The end of the connection ends the transaction, if it has not given the name away.
    fn supersede(self: Box<Self>) {}
}

impl Drop for Pause {
    fn drop(&mut self) {
        let mut pauses = self.shared.pauses.of_collections();
        if pauses.get(&self.collection).is_some_and(|of| of.as_ptr() == Arc::as_ptr(&self.pausing))
        {
            pauses.remove(&self.collection);
        }
    }
}
