//! What was acknowledged stays, whatever fails: the database is killed, paused or replaced by its
//! standby, and connections are cut.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akin::backend::BackendError;
use akin::document::Content;
use akin::engine::{
    AddStatus, Added, CollectionSettings, Discovery, Engine, EngineError, Mode, Opening, Order,
};
use akin_postgres::{ConnectionSettings, PostgresStore};
use futures_util::StreamExt;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::postgres_server::PostgresServer;
use crate::{add_or_skip, connections, id, of_family};

/// What clients were told, by the ids of documents.
#[derive(Default)]
struct Told {
    /// The texts of stored documents.
    stored: HashMap<String, String>,
    /// The near-duplicates for which documents were skipped.
    reasons: Vec<String>,
    failed: usize,
}

/// Clients of two servers, each of which adds documents of its own ids.
struct Load {
    clients: JoinSet<()>,
    told: Arc<Mutex<Told>>,
    acknowledged: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Load {
    fn start(servers: &[Engine]) -> Self {
        let mut load = Self {
            clients: JoinSet::new(),
            told: Arc::default(),
            acknowledged: Arc::default(),
            is_over: Arc::default(),
        };
        for client in 0..8 {
            let server = servers[client % servers.len()].clone();
            let (told, acknowledged) = (Arc::clone(&load.told), Arc::clone(&load.acknowledged));
            let is_over = Arc::clone(&load.is_over);
            load.clients.spawn(async move {
                let mut n = 0;
                while !is_over.load(Ordering::Relaxed) {
                    n += 1;
                    // Every fourth is like one of another client.
                    let family = if n % 4 == 0 { n } else { n * 8 + client as u64 + 1_000_000 };
                    let (name, text) = (format!("c{client}-{n}"), of_family(family, client as u64));
                    let added = add_or_skip(&server, &name, &text).await;
                    acknowledged.fetch_add(u64::from(added.is_ok()), Ordering::Relaxed);
                    told.lock().unwrap().note(name, text, added);
                }
            });
        }
        load
    }

    /// Waits until so many more documents were acknowledged.
    async fn await_more(&self, documents: u64) {
        let enough = self.acknowledged.load(Ordering::Relaxed) + documents;
        while self.acknowledged.load(Ordering::Relaxed) < enough {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn end(mut self) -> Told {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended.unwrap();
        }
        Arc::try_unwrap(self.told).ok().unwrap().into_inner().unwrap()
    }
}

impl Told {
    fn note(&mut self, name: String, text: String, added: Result<Added, EngineError>) {
        match added {
            Ok(added) if added.status == AddStatus::Skipped => {
                self.reasons.push(added.duplicates[0].id.to_string());
            }
            Ok(_) => drop(self.stored.insert(name, text)),
            Err(EngineError::Backend(BackendError::OutOfService { .. })) => self.failed += 1,
            Err(error) => panic!("{error}"),
        }
    }

    /// Every acknowledged document is there with its text, and so is every document because of
    /// which another was skipped.
    async fn assert_kept(&self, server: &Engine) {
        assert!(!self.stored.is_empty() && !self.reasons.is_empty());
        for (name, text) in &self.stored {
            let record = server.get(&id(name)).await.unwrap();
            assert_eq!(record.content, Some(Content::Text(text.clone())), "{name}");
        }
        for name in &self.reasons {
            server.get(&id(name)).await.unwrap();
        }
    }
}

pub async fn open(url: &str, deadline: Duration) -> Engine {
    let mut settings = CollectionSettings::default();
    settings.sketch.seed = Some(0);
    let connections = ConnectionSettings { deadline, ..connections() };
    let store = Arc::new(PostgresStore::open(url, &connections).await.unwrap());
    let open = move || {
        let store: &dyn akin::backend::CollectionStore = &*store;
        Engine::open(&*store.default_collection(&settings).unwrap(), &Opening::default()).unwrap()
    };
    tokio::task::spawn_blocking(open).await.unwrap()
}

fn is_out_of_service<T>(answer: &Result<T, EngineError>) -> bool {
    matches!(answer, Err(EngineError::Backend(BackendError::OutOfService { .. })))
}

const DEADLINE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_database_keeps_what_was_acknowledged() {
    let Some(mut database) = PostgresServer::start(&[]) else { return };
    let url = database.url("postgres");
    let servers = [open(&url, DEADLINE).await, open(&url, DEADLINE).await];
    let load = Load::start(&servers);
    for _ in 0..3 {
        load.await_more(200).await;
        database.kill();
        database.resume();
    }
    load.await_more(200).await;
    let told = load.end().await;
    assert!(told.failed > 0);
    told.assert_kept(&servers[1]).await;
    let halves = "SELECT count(*) FROM akin.documents d LEFT JOIN akin.entries e USING (entry)
        WHERE e.entry IS NULL
        OR (SELECT count(*) FROM akin.postings p WHERE p.entry = d.entry) <> 32";
    assert_eq!(database.sql("postgres", halves), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_connections_are_made_again() {
    let Some(database) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = database.url("postgres");
    let servers = [open(&url, DEADLINE).await, open(&url, DEADLINE).await];
    let load = Load::start(&servers);
    for _ in 0..10 {
        load.await_more(50).await;
        database.sql(
            "postgres",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'akin'",
        );
    }
    load.await_more(50).await;
    let told = load.end().await;
    assert!(told.failed > 0);
    told.assert_kept(&servers[0]).await;
}

/// A write that was sent may still happen: its client repeats it, and it is stored once.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_database_refuses_in_time_and_goes_on_afterwards() {
    let Some(database) = PostgresServer::start(&["fsync=off"]) else { return };
    let url = database.url("postgres");
    let server = open(&url, Duration::from_millis(500)).await;
    let text = of_family(1, 1);
    crate::add(&server, "before", &text).await;
    database.pause(true);
    let refused = add_or_skip(&server, "during", &of_family(2, 2)).await;
    assert!(is_out_of_service(&refused), "{refused:?}");
    let refused = server.get(&id("before")).await;
    assert!(is_out_of_service(&refused), "{refused:?}");
    database.pause(false);
    loop {
        match add_or_skip(&server, "during", &of_family(2, 2)).await {
            Err(EngineError::Backend(BackendError::OutOfService { .. })) => {}
            added => {
                let status = added.unwrap().status;
                assert!(matches!(status, AddStatus::Created | AddStatus::Unchanged), "{status:?}");
                break;
            }
        }
    }
    assert_eq!(database.sql("postgres", "SELECT count(*) FROM akin.documents"), "2");
}

/// Connections that were open before the pause accept queries that nobody answers.
#[tokio::test(flavor = "multi_thread")]
async fn reads_of_a_whole_collection_do_not_wait_for_a_paused_database() {
    let Some(database) = PostgresServer::start(&["fsync=off"]) else { return };
    let server = open(&database.url("postgres"), Duration::from_millis(500)).await;
    crate::add(&server, "a", &of_family(1, 1)).await;
    assert_eq!(server.export(Order::Id).await.count().await, 1);
    database.pause(true);
    let exported = async { server.export(Order::Id).await.next().await.unwrap() };
    let exported = timeout(DEADLINE, exported).await.unwrap();
    assert!(is_out_of_service(&exported), "{exported:?}");
    let discovery = Discovery { threshold: None, mode: Some(Mode::Exact) };
    let discovered = async { server.pairs(discovery, ()).await.map(drop) };
    let discovered = timeout(DEADLINE, discovered).await.unwrap();
    assert!(is_out_of_service(&discovered), "{discovered:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_has_what_was_acknowledged() {
    let Some(mut primary) = PostgresServer::start(&["wal_keep_size = 256MB"]) else { return };
    let own = open(&primary.url("postgres"), DEADLINE).await;
    crate::add(&own, "first", &of_family(1, 1)).await;
    let standby = primary.synchronous_standby();
    let url = format!("postgres://akin@{},{}/postgres", primary.host(), standby.host());
    let servers = [open(&url, DEADLINE).await, open(&url, DEADLINE).await];
    let load = Load::start(&servers);
    load.await_more(300).await;
    primary.kill();
    standby.promote();
    // The servers find the host that accepts writes.
    load.await_more(300).await;
    let told = load.end().await;
    told.assert_kept(&servers[0]).await;
    servers[1].get(&id("first")).await.unwrap();
}

/// A write is never cancelled: PostgreSQL answers a cancelled wait for its standby with success.
#[tokio::test(flavor = "multi_thread")]
async fn without_its_standby_nothing_is_acknowledged() {
    let Some(primary) = PostgresServer::start(&["wal_keep_size = 256MB"]) else { return };
    drop(open(&primary.url("postgres"), DEADLINE).await);
    let mut standby = primary.synchronous_standby();
    let server = open(&primary.url("postgres"), Duration::from_secs(1)).await;
    crate::add(&server, "before", &of_family(1, 1)).await;
    standby.kill();
    for n in 0..3 {
        let refused = add_or_skip(&server, &format!("d{n}"), &of_family(10 + n, 2)).await;
        assert!(is_out_of_service(&refused), "{refused:?}");
    }
    standby.resume();
    while add_or_skip(&server, "after", &of_family(20, 2)).await.is_err() {}
    server.get(&id("before")).await.unwrap();
}
