//! The schema `akin`, brought to the version of this program at the start.

use akin_engine::backend::BackendError;
use tokio_postgres::Client;

use crate::error::failed;

/// By their numbers, from 1.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/1.sql")];

/// Keeps servers that start at the same time from migrating together.
const LOCK: i64 = 0x616b_696e_0001;

/// # Errors
/// `OtherSettings`: a newer version made the schema; `OutOfService`.
pub(crate) async fn migrate(client: &Client) -> Result<(), BackendError> {
    // A failure ends the connection, and so the transaction.
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})");
    client.batch_execute(&begin).await.map_err(failed)?;
    let exists = client.query_typed_one("SELECT to_regnamespace('akin') IS NOT NULL", &[]).await;
    if !exists.map_err(failed)?.get::<_, bool>(0) {
        client.batch_execute("CREATE SCHEMA akin").await.map_err(failed)?;
    }
    let table = "CREATE TABLE IF NOT EXISTS akin.migrations (version int PRIMARY KEY)";
    client.batch_execute(table).await.map_err(failed)?;
    let version = "SELECT coalesce(max(version), 0) FROM akin.migrations";
    let version: i32 = client.query_typed_one(version, &[]).await.map_err(failed)?.get(0);
    let Some(missing) = MIGRATIONS.get(version as usize..) else {
        let newest = MIGRATIONS.len();
        return Err(BackendError::OtherSettings {
            reason: format!(
                "the schema akin has version {version}, made by a newer akin: this one knows \
                 versions up to {newest}"
            ),
        });
    };
    for (migration, number) in missing.iter().zip(version + 1..) {
        let applied = format!(
            "SET LOCAL search_path = akin; {migration}; {FUNCTION_SETTINGS};
             INSERT INTO migrations VALUES ({number})"
        );
        client.batch_execute(&applied).await.map_err(failed)?;
    }
    client.batch_execute("COMMIT").await.map_err(failed)
}

/// Functions find the schema with any path of the session, and plan for any sizes of the tables.
/// The functions that only other functions call have the settings of their callers, as each setting
/// takes time in every call.
const FUNCTION_SETTINGS: &str = "
DO $$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'akin'::regnamespace
            AND proname NOT IN ('enter', 'forget', 'count_rows') LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = akin, pg_temp
            SET plan_cache_mode = force_generic_plan SET jit = off
            SET enable_seqscan = off SET enable_bitmapscan = off', f);
    END LOOP;
END $$";
