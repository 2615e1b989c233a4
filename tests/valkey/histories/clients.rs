//! What a client does and notes.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::race::Outcome;
use super::register::{Act, Call, Seen, Told, Version};
use super::round::{FAMILIES, Round, SHARED};
use crate::numbers::Numbers;

pub const CLIENTS: usize = 8;

/// Calls of a client in a round, without repetitions.
pub const STEPS: usize = 16;

/// Attempts at a write that is refused.
const ATTEMPTS: usize = 2;

pub struct Client<'r> {
    round: &'r Round<'r>,
    number: usize,
    numbers: Numbers,
}

/// A document to write.
struct Write {
    id: String,
    version: Version,
    skip: bool,
}

impl<'r> Client<'r> {
    /// It calls one of the servers, by its number.
    pub fn new(round: &'r Round<'r>, number: usize, numbers: Numbers) -> Self {
        Self { round, number, numbers }
    }

    pub fn play(mut self) {
        for step in 0..STEPS {
            match step {
                0 => self.race(0),
                8 => self.race(1),
                _ => self.step(),
            }
            self.round.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn step(&mut self) {
        let id = self.round.shared_id(self.numbers.below(SHARED));
        match self.numbers.below(20) {
            0..9 => {
                let (family, skip) = (self.numbers.below(FAMILIES), self.numbers.one_in(5));
                self.write(id, family, skip);
            }
            9..12 => self.remove(&id),
            12..16 => drop(self.get(&id)),
            _ => {
                let family = self.numbers.below(FAMILIES);
                let ids: Vec<_> = (0..SHARED).map(|at| self.round.shared_id(at)).collect();
                self.look_up(family, &ids);
            }
        }
    }

    /// Posts a document of a family that all clients post at this moment.
    fn race(&mut self, race: usize) {
        let id = self.round.race_id(race, self.number);
        let outcome = self.write(id.clone(), FAMILIES + race, race == 1);
        self.round.races[race].lock().unwrap().push((id, outcome));
    }

    /// The status and the body; `None` if it is unknown what happened.
    fn call(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let caller = {
            let servers = self.round.servers.read().unwrap();
            servers.callers[self.number % servers.callers.len()].clone()
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = caller.call(method, path, ("application/json", body)).ok();
        let answer = answer.filter(|answer| answer.status != 503);
        if answer.is_none() {
            self.round.refused.fetch_add(1, Ordering::Relaxed);
        }
        let answer = answer?;
        Some((answer.status, serde_json::from_str(&answer.body).unwrap_or_default()))
    }

    fn note(&self, id: &str, begin: u64, act: Act) {
        self.round.note(id, Call { begin, end: self.round.now(), act });
    }

    /// A write that is refused is sent again, as akin advises, but for a client that gives up.
    fn write(&mut self, id: String, family: usize, skip: bool) -> Outcome {
        let version = Version { number: self.round.next_version(), family };
        let write = Write { id, version, skip };
        for _ in 0..ATTEMPTS {
            let outcome = self.try_to_write(&write);
            if outcome != Outcome::Open || self.numbers.one_in(3) {
                return outcome;
            }
        }
        Outcome::Open
    }

    fn try_to_write(&self, write: &Write) -> Outcome {
        let Write { id, version, skip } = write;
        let path = if *skip { "/documents?on_duplicate=skip" } else { "/documents" };
        let text = self.round.text(version.family, version.number);
        let metadata = json!({ "version": version.number });
        let begin = self.round.now();
        let answer =
            self.call("POST", path, &json!({ "id": id, "text": text, "metadata": metadata }));
        let Some((status, body)) = answer else {
            self.note(id, begin, Act::Put(*version, Told::Nothing));
            return Outcome::Open;
        };
        assert!(matches!(status, 200 | 201), "{id}: {status} {body}");
        let found = body["duplicates"].as_array().unwrap().iter();
        let duplicates: Vec<_> = found.map(|found| text_of(&found["id"])).collect();
        let told = match body["status"].as_str().unwrap() {
            "created" => Told::Created,
            "replaced" => Told::Replaced,
            "unchanged" => Told::Unchanged,
            "skipped" => return Outcome::Skipped(duplicates),
            other => panic!("{id} is {other}"),
        };
        self.note(id, begin, Act::Put(*version, told));
        // The document had been stored without an answer. If a failover lost a part of it, it may
        // not have been found, until this call wrote it again.
        if *skip && told == Told::Unchanged && self.round.fault.may_lose_writes() {
            return Outcome::Open;
        }
        if !skip && version.family < FAMILIES {
            let others = (0..SHARED).map(|at| self.round.shared_id(at));
            for other in others.filter(|other| other != id && !duplicates.contains(other)) {
                self.note(&other, begin, Act::Read(Seen::NotNear(version.family)));
            }
        }
        Outcome::Stored(duplicates)
    }

    fn remove(&self, id: &str) {
        let begin = self.round.now();
        let answer = self.call("DELETE", &format!("/documents/{id}"), &Value::Null);
        let was_there = answer.map(|(status, body)| match status {
            200 | 204 => true,
            404 => false,
            _ => panic!("{id}: {status} {body}"),
        });
        self.note(id, begin, Act::Remove(was_there));
    }

    /// Whether it was answered.
    pub fn get(&self, id: &str) -> bool {
        let begin = self.round.now();
        let answer = self.call("GET", &format!("/documents/{id}"), &Value::Null);
        let Some((status, body)) = answer else { return false };
        let seen = match status {
            200 => Seen::Version(body["metadata"]["version"].as_u64().unwrap()),
            404 => Seen::Absent,
            _ if body["code"] == "document_damaged" => Seen::Damaged,
            _ => panic!("{id}: {status} {body}"),
        };
        self.note(id, begin, Act::Read(seen));
        true
    }

    /// Which of these documents are near-duplicates of a family. Whether it was answered.
    pub fn look_up(&self, family: usize, ids: &[String]) -> bool {
        let (begin, probe) = (self.round.now(), json!({ "text": self.round.text(family, 0) }));
        let answer = self.call("POST", "/similar?threshold=0.8&limit=100", &probe);
        let Some((status, body)) = answer else { return false };
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["truncated"], false, "{body}");
        let found = body["matches"].as_array().unwrap().iter();
        let found: Vec<_> = found.map(|found| text_of(&found["id"])).collect();
        for id in ids {
            let seen = match found.contains(id) {
                true => Seen::Near(family),
                false => Seen::NotNear(family),
            };
            self.note(id, begin, Act::Read(seen));
        }
        true
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
