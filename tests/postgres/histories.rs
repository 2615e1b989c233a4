//! Histories: clients of two servers write in every way while two things fail at a time, and what
//! they read, texts included, is always what they were told. `AKIN_HISTORY_SECONDS=3600` plays on for
//! so long.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::of_family;
use crate::outages::{FAULTS, Fault, Servers};
use crate::serving::client::Caller;

const CLIENTS: usize = 8;

/// Ids that a client writes, and reads.
const IDS: u64 = 12;

/// Operations of all clients between two faults.
const BETWEEN: u64 = 60;

/// Operations while two things fail, so few that nothing waits for long, and while a disk is full:
/// tables and indexes seldom grow.
const DURING: u64 = 8;
const DURING_FULL: u64 = 120;

/// Milliseconds until a document expires.
const LIFETIME: u64 = 2_000;

/// Families of documents that stay begin with this.
const STAYING: u64 = 1_000_000;

/// A version of a document.
struct Version {
    text: String,
    /// In milliseconds since the epoch.
    expires_at: Option<u64>,
}

/// The versions that a document may have, `None` for no document: after a success one, after a
/// failure also that of the failed write, which may still happen until another write of the document
/// succeeds.
struct Possible(Vec<Option<Version>>);

impl Possible {
    /// Whether an answer that was awaited from a time on until now may have this text.
    fn allows(&self, text: Option<&str>, since: u64) -> bool {
        let now = now_ms();
        self.0.iter().any(|of| match (of, text) {
            (None, None) => true,
            (Some(version), None) => version.expires_at.is_some_and(|at| at <= now),
            (Some(version), Some(text)) => {
                version.text == text && version.expires_at.is_none_or(|at| since < at)
            }
            (None, Some(_)) => false,
        })
    }

    fn may_exist(&self, since: u64) -> bool {
        let exists = |of: &Version| of.expires_at.is_none_or(|at| since < at);
        self.0.iter().flatten().any(exists)
    }

    fn texts(&self) -> Vec<Option<&str>> {
        self.0.iter().map(|of| of.as_ref().map(|of| of.text.as_str())).collect()
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

struct Client {
    number: usize,
    servers: Vec<Caller>,
    /// By their paths.
    documents: HashMap<String, Possible>,
    /// The number of documents that stay, whose texts, and the ids for which others were skipped.
    stayed: u64,
    staying: HashMap<String, String>,
    reasons: HashSet<String>,
    /// Whether a failed removal of the collection may still happen.
    is_removal_open: bool,
    /// A state of random numbers.
    state: u64,
    failed: HashMap<u16, u64>,
}

type Answered = Result<(u16, Value), ()>;

impl Client {
    fn new(number: usize, servers: &[Caller]) -> Self {
        Self {
            number,
            servers: servers.to_vec(),
            documents: HashMap::new(),
            stayed: 0,
            staying: HashMap::new(),
            reasons: HashSet::new(),
            is_removal_open: false,
            state: 0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1),
            failed: HashMap::new(),
        }
    }

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

    fn path(&mut self) -> String {
        let n = self.below(IDS);
        format!("/documents/c{}-{n}", self.number)
    }

    fn collection(&self) -> String {
        format!("/collections/books{}", self.number)
    }

    fn possible(&mut self, path: &str) -> &mut Possible {
        self.documents.entry(path.to_owned()).or_insert_with(|| Possible(vec![None]))
    }

    /// Of most clients one server; of some either.
    fn server(&mut self) -> usize {
        let either = self.below(2) as usize;
        if self.number < CLIENTS - 2 { self.number % 2 } else { either }
    }

    /// `Err`: whether it has happened is unknown.
    fn call(&mut self, server: usize, method: &str, path: &str, body: &Value) -> Answered {
        let body = ("application/json", body.to_string());
        let answer = self.servers[server].call(method, path, body).unwrap();
        let value = serde_json::from_str(&answer.body).unwrap_or_default();
        match answer.status {
            status @ (503 | 507) => {
                *self.failed.entry(status).or_default() += 1;
                Err(())
            }
            status => Ok((status, value)),
        }
    }

    fn step(&mut self) {
        let path = self.path();
        match self.below(18) {
            0..=3 => self.put(&path, "", None),
            4 | 5 => self.put(&path, "?on_duplicate=skip", None),
            6 => self.put(&path, "?check=false", None),
            7 => self.bulk(),
            8 => self.put(&path, "", Some(now_ms() + LIFETIME)),
            9..=11 => self.remove(&path),
            12 | 13 => self.change_collection(),
            14 | 15 => self.add_to_stay(),
            _ => {
                let server = self.server();
                self.read(server, &path);
            }
        }
    }

    fn put(&mut self, path: &str, options: &str, expires_at: Option<u64>) {
        let (text, server, since) = (self.text(), self.server(), now_ms());
        let time = |at: u64| Timestamp::from_millisecond(at.cast_signed()).unwrap().to_string();
        let body = match expires_at {
            None => json!({"text": &text}),
            Some(at) => json!({"text": &text, "expires_at": time(at)}),
        };
        let answer = self.call(server, "PUT", &format!("{path}{options}"), &body);
        self.note(path, Version { text, expires_at }, since, answer);
    }

    fn note(&mut self, path: &str, version: Version, since: u64, answer: Answered) {
        let may_be_removed = path.starts_with("/collections") && self.is_removal_open;
        let possible = self.possible(path);
        let Ok((status, answer)) = answer else { return possible.0.push(Some(version)) };
        match (status, answer["status"].as_str()) {
            // A stopped server was late.
            (422, _) if version.expires_at.is_some() => {}
            (404, _) => assert!(possible.allows(None, since), "{path} is lost"),
            (200, Some("skipped")) => {
                assert!(possible.allows(None, since), "{path} was there: {:?}", possible.texts());
            }
            (201, Some("created")) => {
                let there = possible.texts();
                assert!(possible.allows(None, since), "{path} was there: {there:?}");
                possible.0 = vec![Some(version)];
            }
            (200, Some("replaced" | "unchanged")) => possible.0 = vec![Some(version)],
            _ => panic!("{path}: {status} {answer}"),
        }
        if may_be_removed {
            possible.0.push(None);
        }
    }

    /// Several documents of a request, with different ids.
    fn bulk(&mut self) {
        let texts: Vec<String> = (0..6).map(|_| self.text()).collect();
        let number = self.number;
        let id = |n: usize| format!("c{number}-{n}");
        let lines: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(n, text)| json!({"id": id(n), "text": text}).to_string())
            .collect();
        let (server, since) = (self.server(), now_ms());
        let body = ("application/x-ndjson", lines.join("\n"));
        let answer = self.servers[server].call("POST", "/documents", body).unwrap();
        assert!([200, 503, 507].contains(&answer.status), "{}: {}", answer.status, answer.body);
        let lines = answer.body.lines().map(|line| serde_json::from_str(line).unwrap());
        let results: HashMap<String, Value> =
            lines.filter_map(|of: Value| Some((of["id"].as_str()?.to_owned(), of))).collect();
        for (n, text) in texts.into_iter().enumerate() {
            let id = id(n);
            let answer = match results.get(&id) {
                Some(of) if of["status"] == "created" => Ok((201, of.clone())),
                Some(of) if of["status"] != "error" => Ok((200, of.clone())),
                Some(of) => {
                    let code = of["problem"]["status"].as_u64().unwrap() as u16;
                    assert!([503, 507].contains(&code), "{of}");
                    *self.failed.entry(code).or_default() += 1;
                    Err(())
                }
                None => Err(()),
            };
            let version = Version { text, expires_at: None };
            self.note(&format!("/documents/{id}"), version, since, answer);
        }
    }

    fn remove(&mut self, path: &str) {
        let (server, since) = (self.server(), now_ms());
        let answer = self.call(server, "DELETE", path, &json!(null));
        let possible = self.possible(path);
        match answer {
            Err(()) => possible.0.push(None),
            Ok((204, _)) => {
                assert!(possible.may_exist(since), "{path} was removed twice");
                possible.0 = vec![None];
            }
            // A write that failed may not have happened yet.
            Ok((404, _)) => {
                assert!(possible.allows(None, since), "{path} is lost: {:?}", possible.texts());
            }
            Ok((status, answer)) => panic!("{path}: {status} {answer}"),
        }
    }

    /// Creates or removes the collection of the client, or writes or reads its document, always at
    /// one server: the other learns of it later.
    fn change_collection(&mut self) {
        let (collection, server, since) = (self.collection(), self.number % 2, now_ms());
        let path = format!("{collection}/documents/a");
        match self.below(6) {
            0 => match self.call(server, "PUT", &collection, &json!({})) {
                Ok((201, _)) => {
                    let possible = self.possible(&path);
                    assert!(possible.allows(None, since), "{collection} was there");
                    possible.0 = vec![None];
                    self.is_removal_open = false;
                }
                Ok((200, _)) | Err(()) => {}
                Ok((status, answer)) => panic!("{collection}: {status} {answer}"),
            },
            1 => match self.call(server, "DELETE", &collection, &json!(null)) {
                Ok((204, _)) => {
                    self.possible(&path).0 = vec![None];
                    self.is_removal_open = false;
                }
                Ok((404, _)) => {
                    assert!(self.possible(&path).allows(None, since), "{collection} is lost");
                }
                Ok((status, answer)) => panic!("{collection}: {status} {answer}"),
                Err(()) => {
                    self.possible(&path).0.push(None);
                    self.is_removal_open = true;
                }
            },
            2 | 3 => {
                let text = self.text();
                let answer = self.call(server, "PUT", &path, &json!({"text": &text}));
                self.note(&path, Version { text, expires_at: None }, since, answer);
            }
            _ => self.read(server, &path),
        }
    }

    /// Adds a document that is never removed, unless a member of its family, which every client
    /// adds, is stored.
    fn add_to_stay(&mut self) {
        let id = format!("s{}-{}", self.number, self.stayed);
        let text = of_family(STAYING + self.stayed, self.number as u64);
        let (server, body) = (self.server(), json!({"id": &id, "text": &text}));
        match self.call(server, "POST", "/documents?on_duplicate=skip", &body) {
            Err(()) => return,
            Ok((200, answer)) if answer["status"] == "skipped" => {
                let reason = answer["duplicates"][0]["id"].as_str().unwrap();
                assert!(reason.ends_with(&format!("-{}", self.stayed)), "{id}: {answer}");
                self.reasons.insert(reason.to_owned());
            }
            Ok((200 | 201, _)) => drop(self.staying.insert(id, text)),
            Ok((status, answer)) => panic!("{id}: {status} {answer}"),
        }
        self.stayed += 1;
    }

    fn read(&mut self, server: usize, path: &str) {
        let since = now_ms();
        let stored = match self.call(server, "GET", path, &json!(null)) {
            Err(()) => return,
            Ok((200, document)) => Some(document["text"].as_str().unwrap().to_owned()),
            Ok((404, _)) => None,
            Ok((status, answer)) => panic!("{path}: {status} {answer}"),
        };
        let possible = self.possible(path);
        let texts = possible.texts();
        assert!(possible.allows(stored.as_deref(), since), "{path}: {stored:?} of {texts:?}");
    }

    /// At the end, by both servers.
    fn read_all(&mut self) {
        for server in 0..2 {
            for path in self.documents.keys().cloned().collect::<Vec<_>>() {
                self.read(server, &path);
            }
        }
        for (id, text) in self.staying.clone() {
            let stored = self.call(0, "GET", &format!("/documents/{id}"), &json!(null)).unwrap();
            assert_eq!(stored.1["text"], text, "{id}");
        }
        for id in self.reasons.clone() {
            let (status, _) =
                self.call(1, "GET", &format!("/documents/{id}"), &json!(null)).unwrap();
            assert_eq!(status, 200, "a document was skipped because of {id}");
        }
    }
}

/// Pairs of faults: the first seven have each fault.
fn pairs() -> impl Iterator<Item = (Fault, Fault)> {
    let of = |n: usize| (n % 7, (n % 7 + n / 7 + 1) % 7);
    (0..21)
        .map(move |n| (of(n).0.min(of(n).1), of(n).0.max(of(n).1)))
        .cycle()
        .map(|(one, other)| (FAULTS[one], FAULTS[other]))
}

/// Plays until the clients have ended, and returns them.
fn play(servers: &mut Servers, clients: Vec<Client>, end: Instant) -> Vec<Client> {
    let (done, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let run = |mut client: Client| {
        while !is_over.load(Ordering::Relaxed) {
            client.step();
            done.fetch_add(1, Ordering::Relaxed);
        }
        client
    };
    thread::scope(|scope| {
        let clients = clients.into_iter().map(|client| scope.spawn(|| run(client)));
        let clients: Vec<ScopedJoinHandle<'_, Client>> = clients.collect();
        let has_failed = || clients.iter().any(ScopedJoinHandle::is_finished);
        let await_more = |operations: u64| {
            let enough = done.load(Ordering::Relaxed) + operations;
            while done.load(Ordering::Relaxed) < enough && !has_failed() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        for (n, (one, other)) in pairs().enumerate() {
            // Each fault once, at least.
            if n >= FAULTS.len() && Instant::now() >= end || has_failed() {
                break;
            }
            await_more(BETWEEN);
            servers.begin(one);
            servers.begin(other);
            // Clients are refused, or served if they can be.
            let accepts = ![Fault::Standby, Fault::Pause, Fault::Crash].contains(&one);
            await_more(if accepts && [one, other].contains(&Fault::FullDisk) {
                DURING_FULL
            } else {
                DURING
            });
            servers.end(other, one);
            servers.end(one, other);
        }
        await_more(BETWEEN);
        is_over.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn clients_read_what_they_were_told_while_two_things_fail_at_a_time() {
    let Some(mut servers) = Servers::start() else { return };
    let callers = servers.akin.each_ref().map(|of| of.caller.clone());
    let seconds = std::env::var("AKIN_HISTORY_SECONDS").map_or(0, |of| of.parse().unwrap());
    let clients = (0..CLIENTS).map(|number| Client::new(number, &callers)).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let clients = play(&mut servers, clients, end);
    let (mut failed, mut stayed, mut skipped) = (HashMap::new(), 0, 0);
    for mut client in clients {
        client.failed.drain().for_each(|(status, n)| *failed.entry(status).or_insert(0) += n);
        stayed += client.staying.len();
        skipped += client.reasons.len();
        client.read_all();
    }
    println!("{failed:?} operations failed; {stayed} documents stay, others because of {skipped}");
    assert!(!failed.is_empty() && stayed > 0 && skipped > 0);
    let database = |sql: &str| servers.primary.sql("postgres", sql);
    let near = "WITH s AS (
            SELECT d.id, split_part(d.id, '-', 2) AS family, p.key
            FROM akin.documents d JOIN akin.postings p ON p.entry = d.entry
            WHERE d.id LIKE 's%' AND (p.key >> 32) & 255 < 9 -- the tables of a lookup at 0.8
        )
        SELECT count(DISTINCT (a.id, b.id)) FROM s a
        JOIN s b ON a.key = b.key AND a.family = b.family AND a.id < b.id";
    assert_eq!(database(near), "0");
    assert_eq!(crate::races::leftovers(database), "0|0|0|0");
}
