//! Transactions that keep the writers of a collection waiting; that of a reindex gives the name of
//! the collection away at its end.

use std::collections::HashMap;
use std::sync::Arc;

use akin_engine::backend::{BackendError, PausedWrites};
use parking_lot::Mutex;

use crate::backend::PostgresCollection;
use crate::pool::{ConnectionPool, Taken, in_time, parameters};
use crate::shared::SharedDatabase;

/// The class of the advisory locks of collections, as in the functions of the schema.
pub(crate) const COLLECTION_LOCKS: i32 = 1_634_429_294;

/// A transaction that keeps all writers of a collection waiting, until it is dropped.
struct Pause {
    shared: Arc<SharedDatabase>,
    collection: i32,
}

/// The transactions of this process that keep writers waiting: at the end of each reindex, those of
/// two collections.
pub(crate) struct Pauses {
    connections: ConnectionPool,
    /// By the number of the collection whose lock it holds: a transaction ends with its connection.
    transactions: Mutex<HashMap<i32, Taken>>,
}

impl Pauses {
    pub fn new(connections: ConnectionPool) -> Self {
        Self { connections, transactions: Mutex::default() }
    }

    /// Gives the name of a paused collection to another; false if it has none any more. The
    /// transaction that keeps the writers waiting does it: if that has ended, so that others have
    /// written to the collection, it keeps its name.
    ///
    /// # Errors
    /// `OutOfService`: the transaction has ended, or whether it was committed is unknown.
    pub async fn take_over(&self, old: i32, new: i32) -> Result<bool, BackendError> {
        let taken = self.transactions.lock().remove(&old).ok_or_else(|| {
            let reason = "the writers of the collection no longer wait".to_owned();
            BackendError::OutOfService { reason }
        })?;
        let work = async {
            let sql = "SELECT akin.take_over($1, $2)";
            let row = taken.client().query_typed_one(sql, parameters![old, new]).await?;
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
        let Pauses { connections, .. } = &self.shared.pauses;
        let (taken, number) = (connections.take().await?, self.number);
        // The transaction is idle while the last changes are copied, however long that takes.
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED;
             SET LOCAL idle_in_transaction_session_timeout = 0;
             SELECT pg_advisory_xact_lock({COLLECTION_LOCKS}, {number})"
        );
        in_time(connections.deadline, taken.client().batch_execute(&begin)).await?;
        self.shared.pauses.transactions.lock().insert(number, taken);
        Ok(Box::new(Pause { shared: Arc::clone(&self.shared), collection: number }))
    }
}

impl PausedWrites for Pause {
    // The end of the connection ends the transaction, if it has not given the name away.
    fn supersede(self: Box<Self>) {}
}

impl Drop for Pause {
    fn drop(&mut self) {
        // It is the own transaction of this pause: one reindex of a collection runs at a time, and
        // drops its pauses before the next begins.
        self.shared.pauses.transactions.lock().remove(&self.collection);
    }
}
