//! Histories: clients of two servers write in every way while two things fail at a time, and what
//! they read, texts included, is always what they were told. `AKIN_HISTORY_SECONDS=3600` plays on for
//! so long, and then a server that is stopped stays so for a minute, longer than all deadlines.

mod client;

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::http::Server;
use crate::outages::{FAULTS, Fault, Servers};
use crate::postgres_server::Database;
use crate::serving::client::Caller;
use client::Client;

pub const CLIENTS: usize = 8;

/// Operations of all clients between two faults.
const BETWEEN: u64 = 60;

/// Operations while two things fail, so few that nothing waits for long, and while a disk is full:
/// tables and indexes seldom grow.
const DURING: u64 = 8;
const DURING_FULL: u64 = 120;

/// How long a server is stopped that is stopped for long.
const STOPPED_LONG: Duration = Duration::from_secs(60);

/// Operations of all clients in a history without outages.
const WITHOUT_OUTAGES: u64 = 800;

/// Histories in which a fault that depends on chance must be found.
const HISTORIES_MAX: usize = 6;

/// Pairs of faults: the first seven have each fault.
fn pairs() -> impl Iterator<Item = (Fault, Fault)> {
    let of = |n: usize| (n % 7, (n % 7 + n / 7 + 1) % 7);
    (0..21)
        .map(move |n| (of(n).0.min(of(n).1), of(n).0.max(of(n).1)))
        .cycle()
        .map(|(one, other)| (FAULTS[one], FAULTS[other]))
}

/// The operations of clients that play.
struct Progress<'a> {
    done: &'a AtomicU64,
    clients: &'a [ScopedJoinHandle<'a, Client>],
}

impl Progress<'_> {
    fn has_failed(&self) -> bool {
        self.clients.iter().any(ScopedJoinHandle::is_finished)
    }

    /// Waits for so many more operations, or for a client to fail.
    fn await_more(&self, operations: u64) {
        let enough = self.done.load(Ordering::Relaxed) + operations;
        while self.done.load(Ordering::Relaxed) < enough && !self.has_failed() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Clients of two servers play as long as `conduct` takes. `Err`: what a client found.
fn play(callers: &[Caller; 2], conduct: impl FnOnce(&Progress<'_>)) -> Result<Vec<Client>, String> {
    let (done, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let run = |mut client: Client| {
        while !is_over.load(Ordering::Relaxed) {
            client.step();
            done.fetch_add(1, Ordering::Relaxed);
        }
        client
    };
    thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|number| Client::new(number, callers));
        let clients: Vec<_> = clients.map(|client| scope.spawn(|| run(client))).collect();
        conduct(&Progress { done: &done, clients: &clients });
        is_over.store(true, Ordering::Relaxed);
        // All are joined, also after one that failed.
        let ended: Vec<thread::Result<Client>> =
            clients.into_iter().map(ScopedJoinHandle::join).collect();
        ended.into_iter().map(|client| client.map_err(message)).collect()
    })
}

fn message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => format!("{:?}", panic.downcast_ref::<&str>()),
    }
}

/// What is wrong at the end of a history.
fn check(clients: &mut [Client], sql: impl Fn(&str) -> String) -> Result<(), String> {
    for client in clients {
        catch_unwind(AssertUnwindSafe(|| client.read_all())).map_err(message)?;
    }
    let near = sql("WITH s AS (
            SELECT d.id, split_part(d.id, '-', 2) AS family, p.key
            FROM akin.documents d JOIN akin.postings p ON p.entry = d.entry
            WHERE d.id LIKE 's%' AND (p.key >> 32) & 255 < 9 -- the tables of a lookup at 0.8
        )
        SELECT count(DISTINCT (a.id, b.id)) FROM s a
        JOIN s b ON a.key = b.key AND a.family = b.family AND a.id < b.id");
    let leftovers = crate::races::leftovers(sql);
    match (near.as_str(), leftovers.as_str()) {
        ("0", "0|0|0|0") => Ok(()),
        _ => Err(format!("{near} pairs of near-duplicates stay, {leftovers} are left over")),
    }
}

/// Two things fail at a time, again and again.
fn fail(servers: &mut Servers, seconds: u64, progress: &Progress<'_>) {
    let end = Instant::now() + Duration::from_secs(seconds);
    for (n, (one, other)) in pairs().enumerate() {
        // Each fault once, at least.
        if n >= FAULTS.len() && Instant::now() >= end || progress.has_failed() {
            break;
        }
        progress.await_more(BETWEEN);
        servers.begin(one);
        servers.begin(other);
        // Clients are refused, or served if they can be.
        let accepts = ![Fault::Standby, Fault::Pause, Fault::Crash].contains(&one);
        progress.await_more(if accepts && [one, other].contains(&Fault::FullDisk) {
            DURING_FULL
        } else {
            DURING
        });
        if seconds > 0 && [one, other].contains(&Fault::Stop) {
            thread::sleep(STOPPED_LONG);
        }
        servers.end(other, one);
        servers.end(one, other);
    }
    progress.await_more(BETWEEN);
}

#[test]
fn clients_read_what_they_were_told_while_two_things_fail_at_a_time() {
    let Some(mut servers) = Servers::start() else { return };
    let callers = servers.akin.each_ref().map(|of| of.caller.clone());
    let seconds = std::env::var("AKIN_HISTORY_SECONDS").map_or(0, |of| of.parse().unwrap());
    let mut clients = play(&callers, |progress| fail(&mut servers, seconds, progress))
        .unwrap_or_else(|found| panic!("{found}"));
    let (mut failed, mut stayed, mut skipped) = (HashMap::new(), 0, 0);
    for client in &mut clients {
        client.failed.drain().for_each(|(status, n)| *failed.entry(status).or_insert(0) += n);
        stayed += client.staying.len();
        skipped += client.reasons.len();
    }
    println!("{failed:?} operations failed; {stayed} documents stay, others because of {skipped}");
    assert!(!failed.is_empty() && stayed > 0 && skipped > 0);
    check(&mut clients, |sql| servers.primary.sql("postgres", sql)).unwrap();
}

/// What a history finds wrong without outages, in a database that a statement has changed.
fn found_after(change: &str) -> Option<Result<(), String>> {
    let database = Database::new()?;
    let servers = [Server::start(&database), Server::start(&database)];
    database.sql(change);
    let callers = servers.each_ref().map(|of| of.caller.clone());
    let played = play(&callers, |progress| progress.await_more(WITHOUT_OUTAGES));
    Some(played.and_then(|mut clients| check(&mut clients, |sql| database.sql(sql))))
}

/// Shows that the test above sees what it looks for.
#[test]
fn histories_find_each_fault_of_the_database() {
    let Some(found) = found_after("SELECT") else { return };
    assert_eq!(found, Ok(()));
    let on_write = "CREATE TRIGGER fault BEFORE INSERT OR UPDATE ON akin.documents FOR EACH ROW \
        EXECUTE FUNCTION akin.fault()";
    let function = |body: &str| {
        format!(
            "CREATE FUNCTION akin.fault() RETURNS trigger LANGUAGE plpgsql AS '{body}'; {on_write}"
        )
    };
    for (fault, change) in [
        // Transactions stay open after they have written, so that those of the other server fall
        // between.
        (
            "no locks",
            "CREATE OR REPLACE FUNCTION akin.enter(coll int, locks bigint[]) RETURNS void
             LANGUAGE sql AS '';
             CREATE OR REPLACE FUNCTION akin.count_rows(coll int, difference bigint) RETURNS void
             LANGUAGE sql AS 'SELECT pg_sleep(0.05)'"
                .to_owned(),
        ),
        (
            "the text of another document",
            function(
                "BEGIN NEW.content := coalesce((SELECT content FROM akin.documents
                     WHERE id <> NEW.id AND random() < 0.05 LIMIT 1), NEW.content);
                 RETURN NEW; END",
            ),
        ),
        (
            "a document that others were skipped for goes",
            function(
                "BEGIN IF NEW.id LIKE ''s%'' THEN DELETE FROM akin.documents WHERE ctid = (
                     SELECT ctid FROM akin.documents WHERE id LIKE ''s%'' LIMIT 1); END IF;
                 RETURN NEW; END",
            ),
        ),
    ] {
        let is_found = (0..HISTORIES_MAX).any(|_| found_after(&change).unwrap().is_err());
        assert!(is_found, "not found: {fault}");
    }
}
