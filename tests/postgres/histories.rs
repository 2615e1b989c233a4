//! Histories: clients of two servers write in every way while two things fail at a time, and what
//! they read, texts included, is always what they were told. `AKIN_HISTORY_SECONDS=600` plays on for
//! so long.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use akin::document::Content;
use akin::engine::{AddOptions, AddStatus, Added, Engine, EngineError, OnDuplicate};
use tokio::task::JoinSet;

use crate::faults::open;
use crate::postgres_server::PostgresServer;
use crate::{document, id, of_family};

const CLIENTS: usize = 8;

/// Ids that a client writes, and reads.
const IDS: u64 = 12;

/// Operations of all clients between two faults.
const BETWEEN: u64 = 60;

/// The texts that an id may have, `None` for no document: after a success one, after a failure also
/// that of the failed write, which may still happen until another write of the id succeeds.
type Possible = Vec<Option<String>>;

struct Client {
    number: usize,
    server: Engine,
    ids: HashMap<String, Possible>,
    /// Ids for which a document was skipped.
    reasons: Vec<String>,
    /// A state of random numbers.
    state: u64,
    failed: u64,
}

fn is_outage(error: &EngineError) -> bool {
    matches!(error, EngineError::OutOfService { .. } | EngineError::DocumentChanged)
}

impl Client {
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % end
    }

    /// Of few families, so that texts are alike or equal across clients.
    fn text(&mut self) -> String {
        let (family, member) = (self.below(40), self.below(3));
        of_family(family, member)
    }

    fn name(&mut self) -> String {
        let n = self.below(IDS);
        format!("c{}-{n}", self.number)
    }

    async fn step(&mut self) {
        let name = self.name();
        match self.below(12) {
            0..=3 => self.add(&name, AddOptions::default()).await,
            4 | 5 => {
                let skip = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
                self.add(&name, skip).await;
            }
            6 => self.add(&name, AddOptions { check: false, ..AddOptions::default() }).await,
            7 => self.bulk().await,
            8 | 9 => self.remove(&name).await,
            _ => self.read(&name).await,
        }
    }

    async fn add(&mut self, name: &str, options: AddOptions) {
        let text = self.text();
        let added = self.server.add(document(name, &text), options).await;
        self.note(name, text, added);
    }

    /// Several documents of a request, with different ids.
    async fn bulk(&mut self) {
        let texts: Vec<(String, String)> =
            (0..6).map(|n| (format!("c{}-{n}", self.number), self.text())).collect();
        let prepared = texts.iter().map(|(name, text)| {
            (self.server.prepare(document(name, text)).unwrap(), AddOptions::default())
        });
        let added = self.server.add_all(prepared.collect()).await;
        for ((name, text), added) in texts.into_iter().zip(added) {
            self.note(&name, text, added);
        }
    }

    async fn remove(&mut self, name: &str) {
        let possible = self.ids.entry(name.to_owned()).or_insert_with(|| vec![None]);
        match self.server.remove(&id(name)).await {
            Ok(()) => {
                assert!(possible.iter().any(Option::is_some), "{name} was removed twice");
                *possible = vec![None];
            }
            Err(error) if is_outage(&error) => {
                self.failed += 1;
                possible.push(None);
            }
            // A write that failed may not have happened yet.
            Err(EngineError::DocumentNotFound { .. }) => {
                assert!(possible.contains(&None), "{name} is lost: {possible:?}");
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }

    fn note(&mut self, name: &str, text: String, added: Result<Added, EngineError>) {
        let possible = self.ids.entry(name.to_owned()).or_insert_with(|| vec![None]);
        match added {
            Ok(added) if added.status == AddStatus::Skipped => {
                assert!(possible.contains(&None), "{name} was there: {possible:?}");
                self.reasons.push(added.duplicates[0].id.to_string());
            }
            Ok(_) => *possible = vec![Some(text)],
            Err(error) if is_outage(&error) => {
                self.failed += 1;
                possible.push(Some(text));
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }

    async fn read(&mut self, name: &str) {
        let possible = self.ids.entry(name.to_owned()).or_insert_with(|| vec![None]);
        let stored = match self.server.get(&id(name)).await {
            Ok(record) => record.content.map(|content| match content {
                Content::Text(text) => text,
                other => panic!("{name} is no text: {other:?}"),
            }),
            Err(error) if is_outage(&error) => return,
            Err(EngineError::DocumentNotFound { .. }) => None,
            Err(error) => panic!("{name}: {error}"),
        };
        assert!(possible.contains(&stored), "{name}: {stored:?}, not one of {possible:?}");
    }
}

/// What fails for a while.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Crash,
    Pause,
    Cut,
    Standby,
}

const FAULTS: [Fault; 4] = [Fault::Crash, Fault::Pause, Fault::Cut, Fault::Standby];

struct Servers {
    primary: PostgresServer,
    standby: PostgresServer,
}

impl Servers {
    fn begin(&mut self, fault: Fault) {
        match fault {
            Fault::Crash => self.primary.kill(),
            Fault::Pause => self.primary.pause(true),
            Fault::Standby => self.standby.kill(),
            Fault::Cut => {
                let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = 'akin'";
                self.primary.sql("postgres", cut);
            }
        }
    }

    fn end(&mut self, fault: Fault) {
        match fault {
            Fault::Crash => self.primary.resume(),
            Fault::Pause => self.primary.pause(false),
            Fault::Standby => self.standby.resume(),
            Fault::Cut => {}
        }
    }
}

async fn await_more(done: &AtomicU64, operations: u64) {
    let enough = done.load(Ordering::Relaxed) + operations;
    while done.load(Ordering::Relaxed) < enough {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Plays until the clients have ended, and returns them.
async fn play(servers: &mut Servers, clients: Vec<Client>, end: Instant) -> Vec<Client> {
    let (done, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut running = JoinSet::new();
    for mut client in clients {
        let (done, is_over) = (Arc::clone(&done), Arc::clone(&is_over));
        running.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                client.step().await;
                done.fetch_add(1, Ordering::Relaxed);
            }
            client
        });
    }
    let pairs =
        FAULTS.iter().enumerate().flat_map(|(n, one)| FAULTS[..n].iter().map(move |b| (one, b)));
    let mut pairs = pairs.cycle();
    for n in 0.. {
        // Each pair once, at least.
        if n >= 6 && Instant::now() >= end {
            break;
        }
        let (&one, &other) = pairs.next().unwrap();
        await_more(&done, BETWEEN).await;
        // A connection can be cut while the server runs only.
        servers.begin(other);
        if !matches!((one, other), (Fault::Cut, Fault::Crash | Fault::Pause)) {
            servers.begin(one);
        }
        // Clients are refused, or served if they can be.
        await_more(&done, 4).await;
        servers.end(other);
        servers.end(one);
        if matches!((one, other), (Fault::Cut, Fault::Crash | Fault::Pause)) {
            servers.begin(one);
        }
    }
    await_more(&done, BETWEEN).await;
    is_over.store(true, Ordering::Relaxed);
    let mut ended = Vec::new();
    while let Some(client) = running.join_next().await {
        ended.push(client.unwrap());
    }
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_read_what_they_were_told_while_two_things_fail_at_a_time() {
    let Some(primary) = PostgresServer::start(&["wal_keep_size = 256MB"]) else { return };
    let url = primary.url("postgres");
    let deadline = Duration::from_secs(1);
    let engines = [open(&url, deadline).await, open(&url, deadline).await];
    let standby = primary.synchronous_standby();
    let mut servers = Servers { primary, standby };
    let seconds = std::env::var("AKIN_HISTORY_SECONDS").map_or(0, |of| of.parse().unwrap());
    let clients = (0..CLIENTS).map(|number| Client {
        number,
        server: engines[number % 2].clone(),
        ids: HashMap::new(),
        reasons: Vec::new(),
        state: 0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1),
        failed: 0,
    });
    let end = Instant::now() + Duration::from_secs(seconds);
    let clients = play(&mut servers, clients.collect(), end).await;
    let (mut failed, mut skipped) = (0, 0);
    for mut client in clients {
        failed += client.failed;
        skipped += client.reasons.len();
        // By the other server, too.
        for server in &engines {
            client.server = server.clone();
            for name in client.ids.keys().cloned().collect::<Vec<_>>() {
                client.read(&name).await;
            }
        }
    }
    println!("{failed} operations failed, {skipped} documents were skipped");
    assert!(failed > 0 && skipped > 0);
    let database = |sql: &str| servers.primary.sql("postgres", sql);
    assert_eq!(crate::races::leftovers(database), "0|0|0|0");
}
