//! The feed of changes. Transactions commit in another order than they begin, so a reader takes the
//! changes of those that no running transaction precedes, whole: the position is the number of a
//! transaction.

use std::sync::atomic::Ordering;

use akin_engine::backend::{BackendError, ChangeFeed};
use akin_engine::stored::{Change, Changes, Position};
use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::backend::PostgresCollection;
use crate::lookup::document_id;
use crate::pool::Parameters;

/// The last transaction whose changes readers can see, or could before they were trimmed, of a
/// collection `c`.
pub(crate) const LAST_CHANGE: &str = "greatest(c.trimmed, (SELECT h.xid FROM akin.changes h
    WHERE h.collection = c.collection
    AND h.xid < pg_snapshot_xmin(pg_current_snapshot())::text::int8
    ORDER BY h.xid DESC LIMIT 1))";

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
        let sql =
            "SELECT c.trimmed <= $2 AND $2 < pg_snapshot_xmax(pg_current_snapshot())::text::int8,
            h.xid, h.stored_at, h.id
            FROM akin.collections c LEFT JOIN LATERAL (
                SELECT * FROM akin.changes WHERE collection = $1 AND xid > $2
                AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::int8
                ORDER BY xid FETCH FIRST $3 ROWS WITH TIES
            ) h ON true WHERE c.collection = $1 ORDER BY h.xid";
        let parameters: Parameters<'_> = &[
            (&self.number, Type::INT4),
            (&after.sequence.cast_signed(), Type::INT8),
            (&(operations_max.max(1) as i64), Type::INT8),
        ];
        let rows = self.shared.reads.query(sql, parameters).await?;
        if rows.first().is_none_or(|row| !row.get::<_, bool>(0)) {
            return Ok(Changes::Gone);
        }
        // A row without a change if there is none.
        let xid = |row: &Row| Some(row.get::<_, Option<i64>>(1)?.cast_unsigned());
        let xids: Vec<u64> = rows.iter().filter_map(xid).collect();
        let mut changes = Vec::with_capacity(xids.len());
        for (n, row) in rows.iter().take(xids.len()).enumerate() {
            // In the midst of a transaction a reader begins it again.
            let is_last = xids.get(n + 1) != Some(&xids[n]);
            let before = changes.last().map_or(after.sequence, |of: &Change| of.next.sequence);
            let sequence = if is_last { xids[n] } else { before };
            let next = Position { sequence, ..after };
            changes.push(Change { id: document_id(row.get(3))?, stored_at_ms: row.get(2), next });
        }
        let next = Position { sequence: xids.last().copied().unwrap_or(after.sequence), ..after };
        Ok(Changes::Some(changes, next))
    }

    async fn last_change(&self) -> Result<Position, BackendError> {
        let sql = format!("SELECT {LAST_CHANGE} FROM akin.collections c WHERE c.collection = $1");
        let row = self.shared.reads.query_opt(&sql, &[(&self.number, Type::INT4)]).await?;
        let sequence = row.map_or(0, |row| row.get::<_, i64>(0)).cast_unsigned();
        self.followed.last_change.fetch_max(sequence, Ordering::Relaxed);
        Ok(Position { store: self.created_at, sequence })
    }

    /// As of a moment ago.
    fn has_changed_since(&self, position: Position) -> bool {
        self.followed.last_change.load(Ordering::Relaxed) > position.sequence
            || position.store != self.created_at
    }
}
