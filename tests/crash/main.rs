//! Kill -9 of the real server, again and again, under load: whatever was acknowledged is there, can
//! be found, and nothing is there by half.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod collections;
mod reindex;
mod server;
#[path = "../serving/mod.rs"]
mod serving;
mod writer;

use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use server::Server;
use writer::{State, Writer};

const KILLS: usize = 50;
const WRITERS: u64 = 16;
/// A kill comes after so many acknowledgements at most, a few of which are in a snapshot.
const ACKNOWLEDGED_MAX: usize = 100;
/// Acknowledgements between snapshots.
const SNAPSHOT_EVERY: usize = 10;

/// If a write were acknowledged before its transaction is in the log, or applied to a snapshot that
/// the log does not reach back to, a kill would lose it: documents would be missing after the
/// start, or answered with an old text, or listed but not found by a lookup.
#[test]
fn killed_server_keeps_every_acknowledged_write() {
    let dir = tempfile::tempdir().unwrap();
    let mut writers: Vec<Writer> = (0..WRITERS).map(Writer::new).collect();
    let mut from_snapshot = 0;
    for kill in 0..KILLS {
        let server = Server::start(dir.path());
        from_snapshot += usize::from(check(&server, &mut writers));
        write_until_killed(server, &mut writers, kill);
    }
    let server = Server::start(dir.path());
    check(&server, &mut writers);
    let documents: usize = writers.iter().map(|writer| writer.states.len()).sum();
    assert!(documents > KILLS * 10, "the load was no load: {documents} documents");
    assert!(
        from_snapshot > KILLS / 2,
        "{from_snapshot} starts went through a snapshot and the log"
    );
}

/// The queue of expiries is in memory. A start that did not fill it from the stored documents would
/// keep expired documents, and their memory, for ever.
#[test]
fn killed_server_removes_expired_documents_after_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let soon = Timestamp::now() + SignedDuration::from_millis(1_500);
    server.add(&json!({"id": "brief", "text": "one two three", "expires_at": soon.to_string()}));
    server.add(&json!({"id": "lasting", "text": "one two three"}));
    server.kill();
    let server = Server::start(dir.path());
    // Two additions, and a removal that nobody asked for.
    let cleared = (0..100_000).any(|_| server.stats()["sequence"] == 3);
    assert!(cleared, "{}", server.stats());
    assert_eq!(server.stats()["documents"], 1);
    assert!(!server.finds("one two three", "brief") && server.finds("one two three", "lasting"));
}

/// Kills the server after a number of acknowledgements that differs each time, early and late, and
/// has it write snapshots meanwhile.
fn write_until_killed(mut server: Server, writers: &mut [Writer], kill: usize) {
    let (acknowledge, acknowledged) = mpsc::channel();
    let enough = 1 + (kill * 7_919) % ACKNOWLEDGED_MAX;
    thread::scope(|scope| {
        for writer in writers.iter_mut() {
            let (url, acknowledge) = (server.url.clone(), acknowledge.clone());
            scope.spawn(move || writer.write_until_the_server_dies(&url, &acknowledge));
        }
        for number in 1..=enough {
            if acknowledged.recv_timeout(Duration::from_secs(60)).is_err() {
                break;
            }
            if number % SNAPSHOT_EVERY == 0 {
                server.begin_snapshot();
            }
        }
        server.kill();
    });
}

/// Holds the server's documents against what the writers know; whether it started from a snapshot.
fn check(server: &Server, writers: &mut [Writer]) -> bool {
    let mut stored: HashMap<String, String> = server.export();
    let documents = stored.len() as u64;
    for writer in writers.iter_mut() {
        for (id, state) in &mut writer.states {
            let there = stored.remove(id);
            assert!(state.allows(there.as_deref()), "{id}: {there:?} is none of {state:?}");
            *state = State::settled(there);
        }
    }
    assert!(stored.is_empty(), "nobody wrote these: {stored:?}");
    for (id, text) in writers.iter().flat_map(Writer::recent) {
        assert!(server.finds(text, id), "{id} is stored but not found");
        assert!(server.finds_passages(text, id), "{id} has no passages");
    }
    let stats = server.stats();
    assert_eq!(stats["documents"], documents);
    // Every text differs, so every document is one entry under each of the 32 bands.
    assert_eq!(stats["distinct_sets"], documents);
    assert_eq!(stats["postings"], documents * 32);
    assert_eq!(stats["passages"]["sequences"], documents);
    stats["recovery"]["source"] == "snapshot"
}
