//! The feed of changes. Transactions commit in another order than they begin, so a reader takes the
//! changes of those that no running transaction precedes, whole: the position is the number of a
//! transaction.

use std::sync::atomic::Ordering;
use std::time::Duration;

use akin_engine::backend::{BackendError, ChangeFeed};
use akin_engine::stored::{Change, Changes, Position};
use async_trait::async_trait;
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::lookup::document_id;
use crate::pool::Parameters;

/// The oldest running transaction: readers take the changes of the transactions before it.
pub(crate) const RUNNING: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::int8";
/// The next transaction: no change of a collection without writers is later.
const COMING: &str = "pg_snapshot_xmax(pg_current_snapshot())::text::int8";

/// How often it is looked whether older transactions have ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The last transaction before `end` with changes of a collection `c`, also if they were trimmed.
pub(crate) fn last_before(end: &str) -> String {
    format!(
        "greatest(c.trimmed, (SELECT h.xid FROM akin.changes h
         WHERE h.collection = c.collection AND h.xid < {end} ORDER BY h.xid DESC LIMIT 1))"
    )
}

impl PostgresCollection {
    /// The rows of a query that reads the changes before a transaction. While this process keeps
    /// the writers of the collection waiting, no running transaction has any, so all are read,
    /// however long other transactions of the server run.
    async fn read_changes(
        &self,
        sql: impl Fn(&str) -> String,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, BackendError> {
        match self.shared.pauses.query(self.number, &sql(COMING), parameters).await? {
            Some(rows) => Ok(rows),
            None => self.shared.reads.query(&sql(RUNNING), parameters).await,
        }
    }
}

#[async_trait]
impl ChangeFeed for PostgresCollection {
    async fn changes_after(
        &self,
        after: Position,
        operations_max: usize,
    ) -> Result<Changes, BackendError> {
        if after.store != self.created_at {
            return Ok(Changes::Gone);
        }
        // Changes are trimmed from the oldest on; the newest that was trimmed stays known.
        // A database that was restored to an earlier time has not come to a later position.
        let sql = |end: &str| {
            format!(
                "SELECT c.trimmed <= $2 AND $2 < {COMING}, h.xid, d.stored_at,
                    coalesce(h.removed_id, d.id)
                FROM akin.collections c LEFT JOIN LATERAL (
                    SELECT * FROM akin.changes WHERE collection = $1 AND xid > $2 AND xid < {end}
                    ORDER BY xid FETCH FIRST $3 ROWS WITH TIES
                ) h ON true LEFT JOIN LATERAL (
                    SELECT * FROM akin.documents WHERE collection = $1 AND ordinal = h.ordinal
                    LIMIT 1
                ) d ON true WHERE c.collection = $1 ORDER BY h.xid"
            )
        };
        let parameters: Parameters<'_> = &[
            (&self.number, Type::INT4),
            (&after.sequence.cast_signed(), Type::INT8),
            (&(operations_max.max(1) as i64), Type::INT8),
        ];
        let rows = self.read_changes(sql, parameters).await?;
        if rows.first().is_none_or(|row| !row.get::<_, bool>(0)) {
            return Ok(Changes::Gone);
        }
        let (mut before, mut next, mut changes) = (after, after, Vec::<Change>::new());
        for row in &rows {
            // A row without a change if there is none.
            let Some(xid) = row.get::<_, Option<i64>>(1).map(i64::cast_unsigned) else { continue };
            if xid != next.sequence {
                changes.last_mut().into_iter().for_each(|last| last.next = next);
                (before, next.sequence) = (next, xid);
            }
            // A version that was replaced or removed later is reported by the later change.
            if let Some(id) = row.get::<_, Option<&str>>(3) {
                // In the midst of a transaction a reader begins it again.
                let change =
                    Change { id: document_id(id)?, stored_at_ms: row.get(2), next: before };
                changes.push(change);
            }
        }
        changes.last_mut().into_iter().for_each(|last| last.next = next);
        Ok(Changes::Some(changes, next))
    }

    async fn last_change(&self) -> Result<Position, BackendError> {
        let sql = |end: &str| {
            let last = last_before(end);
            format!("SELECT {last} FROM akin.collections c WHERE c.collection = $1")
        };
        let rows = self.read_changes(sql, &[(&self.number, Type::INT4)]).await?;
        let sequence = rows.first().map_or(0, |row| row.get::<_, i64>(0)).cast_unsigned();
        Ok(Position { store: self.created_at, sequence })
    }

    /// As of a moment ago.
    fn has_changed_since(&self, position: Position) -> bool {
        self.followed.last_change.load(Ordering::Relaxed) > position.sequence
            || position.store != self.created_at
    }

    async fn await_changes(&self, unseen_max: usize) -> Result<(), BackendError> {
        let sql = format!(
            "SELECT count(*) FROM (SELECT FROM akin.changes
             WHERE collection = $1 AND xid >= {RUNNING} LIMIT $2 + 1) h"
        );
        let parameters: Parameters<'_> =
            &[(&self.number, Type::INT4), (&(unseen_max as i64), Type::INT8)];
        let are_seen = async {
            while let Some(row) = self.shared.reads.query_opt(&sql, parameters).await? {
                if row.get::<_, i64>(0) <= unseen_max as i64 {
                    break;
                }
                sleep(LOOK_EVERY).await;
            }
            Ok(())
        };
        timeout(self.shared.pauses.deadline(), are_seen).await.unwrap_or_else(|_| {
            let reason = "a transaction of the database server is older than many changes of the \
                          collection, which are read once it has ended"
                .to_owned();
            Err(BackendError::OutOfService { reason })
        })
    }
}
