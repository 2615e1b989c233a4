//! What a server has to be, and to do, so that its transactions keep documents exact.

use akin_engine::backend::BackendError;
use tokio_postgres::Client;

use crate::coalescing::TOGETHER_MAX;
use crate::error::failed;

/// The oldest version with the used functions and settings.
const VERSION_MIN: i32 = 140_000;

/// Advisory locks of a document in a call: lookup keys (up to 32 by default), its set, its id and
/// the set of the version that it replaces.
const LOCKS_OF_DOCUMENT: usize = 35;

/// An unlikely number, as any user of the database may hold advisory locks.
const LOCK: i64 = 0x616b_696e_0002;

/// Checks a server, with two connections to it; logs settings that work but should be changed.
/// `writers`: connections of a server that write.
///
/// # Errors
/// `OtherSettings`: the missing feature of the server, and the remedy; `OutOfService`.
pub(crate) async fn check(
    client: &Client,
    other: &Client,
    writers: usize,
) -> Result<(), BackendError> {
    let refused = |reason: String| Err(BackendError::OtherSettings { reason });
    let named: String = setting(client, "SELECT version()").await?;
    if named.contains("CockroachDB") {
        return refused(
            "CockroachDB defines advisory locks that do not lock: use PostgreSQL".to_owned(),
        );
    }
    let version: String = setting(client, "SHOW server_version_num").await?;
    if version.parse().unwrap_or(0) < VERSION_MIN {
        return refused(format!("the database must be PostgreSQL 14 or newer, not {named}"));
    }
    let isolation: String = setting(client, "SHOW default_transaction_isolation").await?;
    if isolation != "read committed" {
        return refused(format!(
            "default_transaction_isolation must be 'read committed' for akin's user, not \
             '{isolation}': ALTER ROLE … SET default_transaction_isolation = 'read committed'"
        ));
    }
    if !locks_wait(client, other).await? {
        return refused("advisory locks of the database do not lock: use PostgreSQL".to_owned());
    }
    warn(client, writers).await
}

/// Whether a lock that a connection holds keeps another from it, until it is released.
async fn locks_wait(client: &Client, other: &Client) -> Result<bool, BackendError> {
    let locked = |rows: tokio_postgres::Row| rows.get::<_, bool>(0);
    let lock = format!("SELECT pg_try_advisory_xact_lock({LOCK})");
    client.batch_execute("BEGIN").await.map_err(failed)?;
    // Another server that starts now has it: it is a lock, then.
    let first = client.query_typed_one(&lock, &[]).await.map(locked).map_err(failed)?;
    let second = other.query_typed_one(&lock, &[]).await.map(locked).map_err(failed)?;
    client.batch_execute("COMMIT").await.map_err(failed)?;
    Ok(!(first && second))
}

async fn warn(client: &Client, writers: usize) -> Result<(), BackendError> {
    for name in ["fsync", "full_page_writes", "autovacuum"] {
        if setting::<String>(client, &format!("SHOW {name}")).await? != "on" {
            tracing::warn!(setting = name, "the database must have this on, or it loses documents");
        }
    }
    let commit: String = setting(client, "SHOW synchronous_commit").await?;
    if commit == "off" {
        tracing::warn!("synchronous_commit is off: a crash loses the last acknowledged documents");
    }
    let locks = "SELECT current_setting('max_locks_per_transaction')::int8
        * (current_setting('max_connections')::int8
            + current_setting('max_prepared_transactions')::int8)";
    let (locks, wanted): (i64, usize) =
        (setting(client, locks).await?, writers * TOGETHER_MAX * LOCKS_OF_DOCUMENT);
    if locks < wanted as i64 {
        tracing::warn!(
            locks,
            wanted,
            "raise max_locks_per_transaction: the locks of one server's writes may not fit"
        );
    }
    Ok(())
}

async fn setting<T: for<'a> tokio_postgres::types::FromSql<'a>>(
    client: &Client,
    sql: &str,
) -> Result<T, BackendError> {
    Ok(client.query_typed_one(sql, &[]).await.map_err(failed)?.get(0))
}
