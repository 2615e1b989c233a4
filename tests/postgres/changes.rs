//! The feed of changes, while several clients write.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use akin::engine::{EngineError, Position};
use futures_util::future::join_all;

use crate::postgres_server::Database;
use crate::serving::pause;
use crate::{add, engine, id, of_family};

/// A reader that applies the changes has the stored documents in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_follower_ends_up_with_the_stored_documents() {
    let Some(database) = Database::new() else { return };
    let servers = [engine(&database).await, engine(&database).await];
    let mut position = servers[0].last_change().await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let both = servers.clone();
    let clients = (0..8_u64).map(move |client| {
        let server = both[(client % 2) as usize].clone();
        async move {
            for step in 0..40_u64 {
                let n = step * 31 + client * 7;
                let name = format!("d{}", n % 25);
                if n % 4 == 0 {
                    let _ = server.remove(&id(&name)).await;
                } else {
                    add(&server, &name, &of_family(n, n)).await;
                }
            }
        }
    });
    let over = Arc::clone(&is_over);
    let writing = tokio::spawn(async move {
        join_all(clients).await;
        over.store(true, Ordering::Relaxed);
    });
    let mut followed = BTreeMap::new();
    loop {
        let was_over = is_over.load(Ordering::Relaxed);
        let last = "SELECT coalesce(max(xid), 0) FROM akin.changes";
        let last: u64 = if was_over { database.sql(last).parse().unwrap() } else { u64::MAX };
        let (changes, next) = servers[1].changes(Some(position), 7).await.unwrap();
        for change in &changes {
            match change.stored_at_ms {
                Some(at) => drop(followed.insert(change.id.to_string(), at)),
                None => drop(followed.remove(change.id.as_str())),
            }
        }
        // Each change is behind the position that it names.
        assert_eq!(changes.last().map_or(next, |last| last.next), next);
        position = next;
        // Transactions of the other databases of the server may keep it from being seen for a while.
        if position.sequence == last {
            break;
        }
    }
    writing.await.unwrap();
    let mut stored = BTreeMap::new();
    for name in servers[0].list(None, 1_000).await.unwrap() {
        stored.insert(name.to_string(), servers[0].get(&name).await.unwrap().stored_at_ms);
    }
    assert_eq!(followed, stored);
    assert!(!servers[0].has_changed_since(position).unwrap());
    add(&servers[1], "later", &of_family(1, 1)).await;
    // The other server learns of it.
    let changed = |of: &akin::engine::Engine| of.has_changed_since(position);
    let minute = std::time::Duration::from_secs(60);
    servers[0].await_change(changed, minute).await.unwrap();
    assert!(servers[0].has_changed_since(position).unwrap());
}

/// Readers see a change once no older transaction of the server runs, in any database.
fn await_end_of_older(database: &Database) {
    let are_seen = "SELECT NOT EXISTS (SELECT FROM akin.changes
        WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())::text::int8)";
    while database.sql(are_seen) != "t" {
        pause();
    }
}

/// A step of trimming all changes but `kept`.
fn trim(kept: u64) -> String {
    format!("SELECT akin.trim_changes(collection, {kept}, 20000) FROM akin.collections")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_of_changes_is_trimmed_in_steps_that_do_not_hold_the_collection() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    add(&server, "a", &of_family(1, 1)).await;
    let insert = "INSERT INTO akin.changes (collection, ordinal)
        SELECT collection, n FROM akin.collections, generate_series(1, 45000) n";
    database.sql(insert);
    add(&server, "b", &of_family(2, 1)).await;
    await_end_of_older(&database);
    let state = "SELECT trimmed > 0, (SELECT count(*) FROM akin.changes) FROM akin.collections";
    let mut states = vec![database.sql(state)];
    while database.sql(&trim(1)) == "t" {
        states.push(database.sql(state));
    }
    // A step that writes the row of the collection deletes nothing.
    assert_eq!(states, ["f|45002", "t|45002", "t|25002", "t|5002", "t|1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_before_the_changes_that_are_kept_is_gone() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    add(&server, "a", &of_family(1, 1)).await;
    let first = server.last_change().await.unwrap();
    for n in 0..5 {
        add(&server, "a", &of_family(2, n)).await;
    }
    await_end_of_older(&database);
    while database.sql(&trim(2)) == "t" {}
    assert_eq!(database.sql("SELECT count(*) FROM akin.changes"), "2");
    let gone = server.changes(Some(first), 10).await.unwrap_err();
    assert!(matches!(gone, EngineError::ChangesGone), "{gone}");
    let now = server.last_change().await.unwrap();
    assert!(server.changes(Some(now), 10).await.unwrap().0.is_empty());
}

/// No position passes a transaction that runs, also if newer changes are to be trimmed.
#[tokio::test(flavor = "multi_thread")]
async fn changes_that_are_committed_late_are_read_although_newer_ones_are_trimmed() {
    let Some(database) = Database::new() else { return };
    let server = engine(&database).await;
    let mut late = database.begin();
    add(&server, "newer", &of_family(1, 1)).await;
    while database.sql(&trim(0)) == "t" {}
    let position = server.last_change().await.unwrap();
    let removal = "INSERT INTO akin.changes (collection, ordinal, removed_id)
        SELECT collection, 0, 'late' FROM akin.collections; COMMIT;\n";
    late.stdin.take().unwrap().write_all(removal.as_bytes()).unwrap();
    assert!(late.wait().unwrap().success());
    await_end_of_older(&database);
    let (changes, _) = server.changes(Some(position), 10).await.unwrap();
    assert_eq!(changes.iter().map(|of| of.id.as_str()).collect::<Vec<_>>(), ["late", "newer"]);
}

/// The first collection of each database has the same number.
#[tokio::test(flavor = "multi_thread")]
async fn a_position_of_another_or_of_a_restored_database_is_gone() {
    let Some(database) = Database::new() else { return };
    let Some(other) = Database::new() else { return };
    let servers = [engine(&database).await, engine(&other).await];
    let mut positions = Vec::new();
    for server in &servers {
        add(server, "a", &of_family(1, 1)).await;
        positions.push(server.last_change().await.unwrap());
    }
    let later = Position { sequence: positions[0].sequence + 1_000_000, ..positions[0] };
    for unknown in [positions[1], later] {
        let gone = servers[0].changes(Some(unknown), 10).await.unwrap_err();
        assert!(matches!(gone, EngineError::ChangesGone), "{gone}");
    }
    assert!(servers[0].has_changed_since(positions[1]).unwrap());
}
