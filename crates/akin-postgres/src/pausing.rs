//! Transactions that keep the writers of a collection waiting; that of a reindex gives the name of
//! the collection away at its end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use akin_engine::backend::{BackendError, PausedWrites};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::pool::{ConnectionPool, Parameters, Taken, in_time};

/// The class of the advisory locks of collections, as in the functions of the schema.
pub(crate) const COLLECTION_LOCKS: i32 = 1_634_429_294;

/// The connection of a transaction that holds the lock of a collection: the transaction ends with
/// the connection.
type Pausing = tokio::sync::Mutex<Option<Taken>>;

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

    fn of(&self, collection: i32) -> Option<Arc<Pausing>> {
        let pauses = self.of_collections.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.get(&collection)?.upgrade()
    }

    /// The rows of a query in the transaction that keeps the writers of a collection waiting;
    /// `None` if this process has none. While it answers, no writer has begun.
    pub async fn query(
        &self,
        collection: i32,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Vec<Row>>, BackendError> {
        let Some(pausing) = self.of(collection) else { return Ok(None) };
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
        let pausing = self.of(old);
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
        pauses.add(number, &pausing);
        Ok(Box::new(Pause { pausing }))
    }
}

impl PausedWrites for Pause {
    fn supersede(self: Box<Self>) {
        // The end of the connection ends the transaction, if it has not given the name away.
        drop(self.pausing);
    }
}
