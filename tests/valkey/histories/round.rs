//! A round of a game: its documents, and what became of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Instant;

use super::clients::{CLIENTS, Client, STEPS};
use super::faults::{Fault, Faults};
use super::race::{Posted, check_reported, check_skipped};
use super::register::{Act, Call, Told, is_linearizable};
use crate::numbers::Numbers;
use crate::servers::Servers;
use crate::valkey_nodes::poll;

/// Ids that all clients change.
pub const SHARED: usize = 6;

/// Families of texts of these documents.
pub const FAMILIES: usize = 3;

/// Words of a text, of which each version has another one changed.
const WORDS: usize = 400;

pub struct Round<'g> {
    pub servers: &'g RwLock<Servers>,
    number: usize,
    pub fault: Fault,
    /// When the game began.
    began: Instant,
    calls: Mutex<BTreeMap<String, Vec<Call>>>,
    /// Near-duplicates posted at once: to be reported, and to be skipped.
    pub races: [Mutex<Vec<Posted>>; 2],
    versions: AtomicU64,
    pub done: AtomicUsize,
    pub refused: AtomicUsize,
}

impl<'g> Round<'g> {
    pub fn new(servers: &'g RwLock<Servers>, number: usize, fault: Fault, began: Instant) -> Self {
        Self {
            servers,
            number,
            fault,
            began,
            calls: Mutex::default(),
            races: Default::default(),
            versions: AtomicU64::new(0),
            done: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        }
    }

    pub fn shared_id(&self, at: usize) -> String {
        format!("round{}id{at}", self.number)
    }

    pub fn race_id(&self, race: usize, client: usize) -> String {
        format!("round{}race{race}client{client}", self.number)
    }

    fn ids(&self) -> impl Iterator<Item = String> {
        let of_clients = (0..2 * CLIENTS).map(|at| self.race_id(at / CLIENTS, at % CLIENTS));
        (0..SHARED).map(|at| self.shared_id(at)).chain(of_clients)
    }

    pub fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The text of a version; 0 is the text that all others of the family resemble.
    pub fn text(&self, family: usize, version: u64) -> String {
        let changed = (version * 7) as usize % WORDS;
        let word = |at: usize| match version > 0 && at == changed {
            true => format!("edited{version}"),
            false => format!("round{}family{family}word{at}", self.number),
        };
        (0..WORDS).map(word).collect::<Vec<_>>().join(" ")
    }

    pub fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    pub fn note(&self, id: &str, call: Call) {
        self.calls.lock().unwrap().entry(id.to_owned()).or_default().push(call);
    }

    /// Whether the clients have done this part of their steps, in hundredths.
    pub fn is_past(&self, percent: usize) -> bool {
        self.done.load(Ordering::Relaxed) * 100 >= CLIENTS * STEPS * percent
    }

    pub fn play(&self, faults: &Faults, numbers: &mut Numbers) {
        thread::scope(|scope| {
            for number in 0..CLIENTS {
                let client = Client::new(self, number, Numbers(numbers.next()));
                scope.spawn(move || client.play());
            }
            faults.inject(self.fault, self, numbers);
        });
    }

    /// Reads every document through every server, until all are answered.
    ///
    /// # Panics
    /// If one is never answered.
    pub fn read_all(&self) {
        for server in 0..self.servers.read().unwrap().callers.len() {
            let reader = Client::new(self, server, Numbers(0));
            for id in self.ids() {
                poll("the document is read", || reader.get(&id));
            }
            let ids: Vec<_> = self.ids().collect();
            for family in 0..FAMILIES + self.races.len() {
                poll("the family is looked up", || reader.look_up(family, &ids));
            }
        }
    }

    /// # Panics
    /// If the history is wrong.
    pub fn check(&self) -> Tally {
        let mut tally = Tally::default();
        for (id, calls) in &*self.calls.lock().unwrap() {
            tally.count(calls);
            if !is_linearizable(calls, false) {
                assert!(is_linearizable(calls, true), "{}", self.told(id, calls));
                tally.undone += 1;
            }
        }
        let check = |race: usize, check: fn(&[Posted]) -> Result<(), String>| {
            let posted = self.races[race].lock().unwrap();
            check(&posted).unwrap_or_else(|error| panic!("{:?}: {error}", self.fault));
        };
        check(0, check_reported);
        check(1, check_skipped);
        tally
    }

    fn told(&self, id: &str, calls: &[Call]) -> String {
        let mut calls = calls.to_vec();
        calls.sort_by_key(|call| call.begin);
        let line = |call: &Call| format!("{:>10} {:>10} {:?}", call.begin, call.end, call.act);
        let lines: Vec<_> = calls.iter().map(line).collect();
        let Self { number, fault, .. } = self;
        format!("round {number}, {fault:?}: {id} is not linearizable:\n{}", lines.join("\n"))
    }
}

/// What rounds were.
#[derive(Default)]
pub struct Tally {
    writes: usize,
    /// Writes without an answer.
    open: usize,
    reads: usize,
    /// Ids with such writes that were seen and then undone.
    undone: usize,
}

impl Tally {
    fn count(&mut self, calls: &[Call]) {
        for call in calls {
            match call.act {
                Act::Read(_) => self.reads += 1,
                Act::Put(_, Told::Nothing) | Act::Remove(None) => self.open += 1,
                Act::Put(..) | Act::Remove(_) => self.writes += 1,
            }
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.writes += other.writes;
        self.open += other.open;
        self.reads += other.reads;
        self.undone += other.undone;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writes, open, reads, undone } = self;
        write!(f, "{writes} writes answered, {open} open; {reads} reads of an id; ")?;
        write!(f, "{undone} ids with open writes that were seen and undone")
    }
}
