//! A round of a game: its documents, and what became of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Instant;

use super::clients::{CLIENTS, Client, STEPS};
use super::faults::{Fault, Faults};
use super::race::{Posted, check_reported, check_skipped};
use super::register::{Act, Call, is_linearizable};
use crate::numbers::Numbers;
use crate::servers::Servers;

/// Ids that all clients change.
pub const SHARED: usize = 6;

/// Families of texts of these documents.
pub const FAMILIES: usize = 3;

/// Words of a text, of which each version has another one changed.
const WORDS: usize = 400;

pub struct Round<'g> {
    pub servers: &'g RwLock<Servers>,
    number: usize,
    fault: Fault,
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
    pub fn read_all(&self) {
        for server in 0..self.servers.read().unwrap().callers.len() {
            let reader = Client::new(self, server, Numbers(0));
            for id in self.ids() {
                while !reader.get(&id) {}
            }
            let ids: Vec<_> = self.ids().collect();
            for family in 0..FAMILIES + self.races.len() {
                while !reader.look_up(family, &ids) {}
            }
        }
    }

    /// How many calls there were, how many of them without an answer, and how many ids have writes
    /// that were undone.
    ///
    /// # Panics
    /// If the history is wrong.
    pub fn check(&self) -> (usize, usize, usize) {
        let (mut count, mut open, mut undone) = (0, 0, 0);
        for (id, calls) in &*self.calls.lock().unwrap() {
            let is_open =
                |call: &&Call| matches!(call.act, Act::Remove(None)) || is_open_put(call.act);
            (count, open) = (count + calls.len(), open + calls.iter().filter(is_open).count());
            if !is_linearizable(calls, false) {
                assert!(is_linearizable(calls, true), "{}", self.told(id, calls));
                undone += 1;
            }
        }
        let check = |race: usize, check: fn(&[Posted]) -> Result<(), String>| {
            let posted = self.races[race].lock().unwrap();
            check(&posted).unwrap_or_else(|error| panic!("{:?}: {error}", self.fault));
        };
        check(0, check_reported);
        check(1, check_skipped);
        (count, open, undone)
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

fn is_open_put(act: Act) -> bool {
    matches!(act, Act::Put(_, super::register::Told::Nothing))
}
