//! A client of two servers that knows what it may read.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::CLIENTS;
use crate::of_family;
use crate::serving::client::{Answer, Caller};

/// Ids that a client writes, and reads.
const IDS: u64 = 12;

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

pub struct Client {
    number: usize,
    servers: Vec<Caller>,
    /// By their paths.
    documents: HashMap<String, Possible>,
    /// The number of documents that stay, whose texts, and the ids for which others were skipped.
    stayed: u64,
    pub staying: HashMap<String, String>,
    pub reasons: HashSet<String>,
    /// Whether a failed removal of the collection may still happen.
    is_removal_open: bool,
    /// A state of random numbers.
    state: u64,
    pub failed: HashMap<u16, u64>,
}

type Answered = Result<(u16, Value), ()>;

impl Client {
    pub fn new(number: usize, servers: &[Caller]) -> Self {
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

    /// `None`: the server was stopped for longer than `header_timeout_ms`, and has closed a
    /// connection whose first request came meanwhile.
    fn answer(
        &self,
        server: usize,
        method: &str,
        path: &str,
        body: (&str, String),
    ) -> Option<Answer> {
        match self.servers[server].call(method, path, body) {
            Err(ureq::Error::Io(error)) if error.kind() == ErrorKind::ConnectionReset => None,
            answer => Some(answer.unwrap()),
        }
    }

    /// `Err`: whether it has happened is unknown.
    fn call(&mut self, server: usize, method: &str, path: &str, body: &Value) -> Answered {
        let body = ("application/json", body.to_string());
        let answer = self.answer(server, method, path, body).ok_or(())?;
        let value = serde_json::from_str(&answer.body).unwrap_or_default();
        match answer.status {
            status @ (503 | 507) => {
                *self.failed.entry(status).or_default() += 1;
                Err(())
            }
            status => Ok((status, value)),
        }
    }

    pub fn step(&mut self) {
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
        let body = self.answer(server, "POST", "/documents", body).map_or(String::new(), |of| {
            assert!([200, 503, 507].contains(&of.status), "{}: {}", of.status, of.body);
            of.body
        });
        let lines = body.lines().map(|line| serde_json::from_str(line).unwrap());
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

    /// At the end, by both servers; of the collection of the client by the one that changed it.
    pub fn read_all(&mut self) {
        for server in 0..2 {
            for path in self.documents.keys().cloned().collect::<Vec<_>>() {
                if !path.starts_with("/collections") || server == self.number % 2 {
                    self.read(server, &path);
                }
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
