//! The feed of changes. Transactions commit in another order than they begin, so the changes of a
//! transaction have settled once no earlier transaction runs. A reader takes the changes of a
//! transaction whole: the position is its number.

use std::sync::atomic::Ordering;

use akin_engine::backend::{BackendError, ChangeFeed, ChangesUpTo};
use akin_engine::stored::{Change, Changes, Position};
use async_trait::async_trait;

use crate::backend::PostgresCollection;
use crate::lookup::document_id;
use crate::pool::parameters;

/// The oldest running transaction: the changes of the transactions before it have settled.
pub(crate) const RUNNING: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::int8";
/// The next transaction: no committed change is of it or of a later one.
const COMING: &str = "pg_snapshot_xmax(pg_current_snapshot())::text::int8";

/// The first transaction whose changes are not read.
fn end(up_to: ChangesUpTo) -> &'static str {
    match up_to {
        ChangesUpTo::Settled => RUNNING,
        ChangesUpTo::Committed => COMING,
    }
}

/// The last transaction before `end` with changes of a collection `c`, also if they were trimmed.
pub(crate) fn last_before(end: &str) -> String {
    format!(
        "greatest(c.trimmed, (SELECT h.xid FROM akin.changes h
         WHERE h.collection = c.collection AND h.xid < {end} ORDER BY h.xid DESC LIMIT 1))"
    )
}

#[async_trait]
impl ChangeFeed for PostgresCollection {
    async fn changes_after(
        &self,
        after: Position,
        operations_max: usize,
        up_to: ChangesUpTo,
    ) -> Result<Changes, BackendError> {
        if after.store != self.created_at {
            return Ok(Changes::Gone);
        }
        // Changes are trimmed from the oldest on; the newest that was trimmed stays known.
        // A database that was restored to an earlier time has not come to a later position.
        let sql = format!(
            "SELECT c.trimmed <= $2 AND $2 < {COMING}, h.xid, d.stored_at,
                coalesce(h.removed_id, d.id)
            FROM akin.collections c LEFT JOIN LATERAL (
                SELECT * FROM akin.changes WHERE collection = $1 AND xid > $2 AND xid < {}
                ORDER BY xid FETCH FIRST $3 ROWS WITH TIES
            ) h ON true LEFT JOIN LATERAL (
                SELECT * FROM akin.documents WHERE collection = $1 AND ordinal = h.ordinal
                LIMIT 1
            ) d ON true WHERE c.collection = $1 ORDER BY h.xid",
            end(up_to)
        );
        let (sequence, most) = (after.sequence.cast_signed(), operations_max.max(1) as i64);
        let parameters = parameters![self.number, sequence, most];
        let rows = self.shared.reads.query(&sql, parameters).await?;
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

    async fn last_change(&self, up_to: ChangesUpTo) -> Result<Position, BackendError> {
        let last = last_before(end(up_to));
        let sql = format!("SELECT {last} FROM akin.collections c WHERE c.collection = $1");
        let row = self.shared.reads.query_opt(&sql, parameters![self.number]).await?;
        let sequence = row.map_or(0, |row| row.get::<_, i64>(0)).cast_unsigned();
        Ok(Position { store: self.created_at, sequence })
    }

    async fn unsettled(
        &self,
        settled: Position,
        committed: Position,
        most: u32,
    ) -> Result<u32, BackendError> {
        let sql = "SELECT count(*) FROM (SELECT FROM akin.changes
            WHERE collection = $1 AND xid > $2 AND xid <= $3 LIMIT $4) h";
        let [first, last] = [settled, committed].map(|of| of.sequence.cast_signed());
        let most = i64::from(most);
        let parameters = parameters![self.number, first, last, most];
        let row = self.shared.reads.query_opt(sql, parameters).await?;
        Ok(row.map_or(0, |row| row.get::<_, i64>(0)) as u32)
    }

    /// As of a moment ago.
    fn has_changed_since(&self, position: Position) -> bool {
        self.followed.last_change.load(Ordering::Relaxed) > position.sequence
            || position.store != self.created_at
    }
}
