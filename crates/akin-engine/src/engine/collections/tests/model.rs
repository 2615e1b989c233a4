//! Names, writes and reindexes with locks that Shuttle schedules at random. Collections are rows of
//! a table in place of directories and stores.

#![allow(dead_code, reason = "the model uses a part of the registry")]
#![allow(
    clippy::duplicate_mod,
    reason = "the registry's own code, with other types for what is shared"
)]

#[path = "../registry.rs"]
mod registry;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, PoisonError};

use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::sync::{Mutex, MutexGuard, RwLock};
use shuttle::thread::{self, JoinHandle};

use super::name;
use crate::backend::{BackendError, Removal, WriteGate};
use crate::engine::{CollectionName, Creation, EngineError};
use registry::Registry;

/// Of each kind.
const SCHEDULES: usize = 1_000;

/// Changes of the running thread that an error may need.
const SWITCHES: usize = 3;

/// A collection in memory.
struct Opened {
    dir: usize,
    gate: WriteGate,
    closed: AtomicBool,
    successor: OnceLock<Arc<Opened>>,
}

/// A collection on disk.
#[derive(Clone, Default)]
struct Dir {
    state: State,
    replaces: Option<usize>,
    documents: BTreeSet<u32>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    Building,
    Here,
    /// A power failure may take this back.
    Marked,
    Gone,
}

/// A map with a single name.
struct Server {
    registry: Registry<Opened>,
    disk: Mutex<Vec<Dir>>,
}

fn news() -> CollectionName {
    name("news")
}

fn fails() -> bool {
    thread_rng().gen_ratio(1, 4)
}

fn broken() -> EngineError {
    EngineError::Backend(BackendError::Store { reason: "the disk is broken".to_owned() })
}

impl Server {
    fn new() -> Arc<Self> {
        Arc::new(Self { registry: Registry::new(), disk: Mutex::default() })
    }

    /// With a collection.
    fn with_news() -> Arc<Self> {
        let server = Self::new();
        assert_eq!(server.create().ok(), Some(Creation::Created));
        server
    }

    fn disk(&self) -> MutexGuard<'_, Vec<Dir>> {
        self.disk.lock().unwrap()
    }

    fn build(&self, replaces: Option<usize>) -> Opened {
        let mut disk = self.disk();
        disk.push(Dir { replaces, ..Dir::default() });
        Opened {
            dir: disk.len() - 1,
            gate: WriteGate::default(),
            closed: AtomicBool::new(false),
            successor: OnceLock::new(),
        }
    }

    fn set(&self, dir: usize, state: State) {
        self.disk()[dir].state = state;
    }

    fn opened(&self) -> Result<Arc<Opened>, EngineError> {
        self.registry.get(&news())
    }

    /// The steps of `Collections::create`.
    fn create(&self) -> Result<Creation, EngineError> {
        let create = || {
            let built = self.build(None);
            self.set(built.dir, State::Here);
            Ok(built)
        };
        self.registry.get_or_create(news(), create).map(|(_, creation)| creation)
    }

    /// The steps of `Collections::remove`; whether the removal is certain.
    fn remove(&self, sync_fails: bool) -> Result<bool, EngineError> {
        let remove = |collection: &Opened| {
            self.set(collection.dir, State::Marked);
            if sync_fails {
                let reason = "the disk is broken".to_owned();
                return Ok(Removal::Uncertain(BackendError::Store { reason }));
            }
            self.set(collection.dir, State::Gone);
            Ok(Removal::Durable)
        };
        let (collection, removal) = self.registry.remove(&news(), remove)?;
        collection.closed.store(true, Ordering::SeqCst);
        Ok(matches!(removal, Removal::Durable))
    }

    /// The steps of a reindex.
    fn reindex(&self, take_over_fails: bool) -> Result<(), EngineError> {
        let old = self.opened()?;
        let new = Arc::new(self.build(Some(old.dir)));
        self.copy(&old, &new);
        let paused = block_on(old.gate.pause());
        self.copy(&old, &new);
        let take_over = || {
            if take_over_fails {
                return Err(broken());
            }
            self.set(new.dir, State::Here);
            Ok(())
        };
        let finish = || {
            assert!(old.successor.set(Arc::clone(&new)).is_ok());
            paused.supersede();
            self.set(old.dir, State::Gone);
            self.disk()[new.dir].replaces = None;
        };
        let replaced = self.registry.replace(&news(), &old, &new, take_over, finish);
        match &replaced {
            Ok(()) => old.closed.store(true, Ordering::SeqCst),
            Err(_) => self.set(new.dir, State::Gone),
        }
        replaced
    }

    fn copy(&self, old: &Opened, new: &Opened) {
        let documents = self.disk()[old.dir].documents.clone();
        self.disk()[new.dir].documents = documents;
    }

    /// The steps of a write through a handle.
    fn write(&self, to: &Opened, document: u32) -> Result<(), EngineError> {
        if let Some(next) = to.successor.get() {
            return self.write(next, document);
        }
        let passed = match block_on(to.gate.pass()) {
            Err(BackendError::Superseded) => return self.write(to, document),
            passed => passed?,
        };
        if to.closed.load(Ordering::SeqCst) {
            return Err(EngineError::Backend(BackendError::Closed));
        }
        self.disk()[to.dir].documents.insert(document);
        drop(passed);
        Ok(())
    }

    /// The documents of the collection that a start finds after a power failure now; `None` if it
    /// finds none. `is_undone` says whether that takes back a removal that was not synced.
    fn restarted(&self, is_undone: bool) -> Option<BTreeSet<u32>> {
        let mut disk = self.disk().clone();
        for dir in &mut disk {
            if dir.state == State::Marked {
                dir.state = if is_undone { State::Here } else { State::Gone };
            }
        }
        for at in 0..disk.len() {
            if let (State::Here, Some(replaced)) = (disk[at].state, disk[at].replaces) {
                disk[replaced].state = State::Gone;
            }
        }
        let mut here = disk.into_iter().filter(|dir| dir.state == State::Here);
        let found = here.next();
        assert!(here.next().is_none(), "two directories have the name");
        found.map(|dir| dir.documents)
    }

    fn documents(&self) -> Option<BTreeSet<u32>> {
        let opened = self.opened().ok()?;
        Some(self.disk()[opened.dir].documents.clone())
    }
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let model = Arc::new(model);
    let again = Arc::clone(&model);
    shuttle::check_random(move || model(), SCHEDULES);
    // Finds faults that take a thread that is late by many steps.
    shuttle::check_pct(move || again(), SCHEDULES, SWITCHES);
}

fn spawn<T: Send + 'static>(
    server: &Arc<Server>,
    run: impl FnOnce(&Server) -> T + Send + 'static,
) -> JoinHandle<T> {
    let server = Arc::clone(server);
    thread::spawn(move || run(&server))
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn writes_during_reindexes_survive_a_crash() {
    check(|| {
        let server = Server::with_news();
        let reindexes = [(); 2].map(|()| spawn(&server, |server| drop(server.reindex(fails()))));
        let write = |first: u32| {
            move |server: &Server| {
                let handle = server.opened().unwrap();
                let mut dir = handle.dir;
                for document in [first, first + 1] {
                    server.write(&handle, document).unwrap();
                    assert!(server.documents().unwrap().contains(&document), "it is not read");
                    assert!(server.restarted(true).unwrap().contains(&document), "it is lost");
                    let current = server.opened().unwrap().dir;
                    assert!(current >= dir, "an older collection has the name again");
                    dir = current;
                }
            }
        };
        let writers = [0, 10].map(|first| spawn(&server, write(first)));
        join(writers.into_iter().chain(reindexes));
        assert_eq!(server.documents().unwrap(), [0, 1, 10, 11].into());
        assert_eq!(server.restarted(true), server.documents());
    });
}

#[test]
fn removed_collections_never_return() {
    check(|| {
        let server = Server::with_news();
        let handle = server.opened().unwrap();
        let late = spawn(&server, move |server| {
            for document in [1, 2] {
                let _ = server.write(&handle, document);
            }
        });
        let reindex = spawn(&server, |server| drop(server.reindex(fails())));
        let remove = spawn(&server, |server| {
            assert_eq!(server.remove(false).ok(), Some(true));
            assert_eq!(server.restarted(true), None);
            assert_eq!(server.create().ok(), Some(Creation::Created));
            let new = server.opened().unwrap();
            server.write(&new, 100).unwrap();
        });
        join([late, reindex, remove]);
        assert_eq!(server.documents(), Some([100].into()));
        assert_eq!(server.restarted(true), server.documents());
    });
}

#[test]
fn names_of_uncertain_removals_stay_taken() {
    check(|| {
        let server = Server::with_news();
        let remove = spawn(&server, |server| {
            assert_eq!(server.remove(true).ok(), Some(false));
            assert_eq!(server.registry.unavailable(), [news()].into());
        });
        let others = [(); 2].map(|()| {
            spawn(&server, |server| {
                let is_unavailable =
                    |error| matches!(error, EngineError::CollectionUnavailable { .. });
                // It succeeds if it is the first, and before the removal.
                let _ = server.reindex(false);
                match server.create() {
                    Ok(creation) => assert_eq!(creation, Creation::Existing),
                    Err(error) => assert!(is_unavailable(error)),
                }
            })
        });
        join(others.into_iter().chain([remove]));
        assert!(server.registry.list().is_empty());
        assert_eq!((server.restarted(false), server.restarted(true)), (None, Some([].into())));
    });
}

#[test]
fn as_many_are_created_as_are_removed_and_open() {
    check(|| {
        let server = Server::new();
        let threads = [(); 3].map(|()| {
            spawn(&server, |server| {
                let created = server.create().ok() == Some(Creation::Created);
                let open = server.registry.list().len();
                assert!(open <= 1);
                (u32::from(created), u32::from(server.remove(false).is_ok()))
            })
        });
        let counts = threads.map(|thread| thread.join().unwrap());
        let sum = |count: fn(&(u32, u32)) -> u32| counts.iter().map(count).sum::<u32>();
        assert_eq!(sum(|of| of.0), sum(|of| of.1), "each that is created is removed once");
        assert!(server.registry.list().is_empty());
        assert_eq!(server.restarted(true), None);
    });
}

#[test]
fn nothing_changes_once_all_are_closed() {
    check(|| {
        let server = Server::with_news();
        let changes: [fn(&Server); 3] = [
            |server| drop(server.reindex(false)),
            |server| drop(server.remove(false)),
            |server| drop(server.create()),
        ];
        let threads = changes.map(|change| spawn(&server, change));
        server.registry.close().unwrap();
        let open = |server: &Server| server.opened().ok().map(|opened| opened.dir);
        let at_the_end = open(&server);
        join(threads);
        assert_eq!(open(&server), at_the_end);
        assert!(matches!(server.create(), Err(EngineError::Backend(BackendError::Closed))));
    });
}
