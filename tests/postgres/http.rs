//! Two processes of akin on one database, over HTTP.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::of_family;
use crate::postgres_server::{Database, PostgresServer};
use crate::serving::client::{Answer, Caller};
use crate::serving::{Process, pause};

pub struct Server {
    pub process: Process,
    pub caller: Caller,
    _dir: tempfile::TempDir,
}

impl Server {
    pub fn start(database: &Database) -> Self {
        Self::start_at(&database.url())
    }

    pub fn start_at(url: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Process::spawn(Self::command(url, dir.path())).unwrap();
        process.await_ready().unwrap();
        let caller = Caller::new(&process.url);
        Self { process, caller, _dir: dir }
    }

    fn command(url: &str, dir: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir)
            .env("AKIN__LOG__FORMAT", "json")
            .env("AKIN__STORAGE__BACKEND", "postgres")
            .env("AKIN__POSTGRES__TIMEOUT_MS", "2000")
            .env("AKIN__POSTGRES__URL", url);
        command
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.caller.call(method, path, ("application/json", body.to_string())).unwrap()
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.call(method, path, body);
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }
}

/// The remedy names nothing that is for data directories only.
#[test]
fn a_database_that_does_not_serve_is_refused_with_a_remedy_for_databases() {
    let Some(database) = Database::new() else { return };
    let name = database.sql("SELECT current_database()");
    database.sql(&format!(
        "ALTER DATABASE \"{name}\" SET default_transaction_isolation = 'serializable'"
    ));
    let dir = tempfile::tempdir().unwrap();
    let ended = Server::command(&database.url(), dir.path()).output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success(), "{told}");
    assert!(told.contains("default_transaction_isolation"), "{told}");
    assert!(told.contains("postgres.url, or AKIN__POSTGRES__URL"), "{told}");
    assert!(!told.contains("reindex") && !told.contains("--data-dir"), "{told}");
}

#[test]
fn two_servers_serve_the_same_documents() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (Server::start(&database), Server::start(&database));
    for n in 0..10 {
        let document = json!({"id": format!("d{n}"), "text": of_family(n % 3, n)});
        let server = if n % 2 == 0 { &one } else { &other };
        let (status, added) = server.json("POST", "/documents", &document);
        assert_eq!((status, &added["status"]), (201, &json!("created")), "{added}");
        assert_eq!(added["duplicates"].as_array().unwrap().len() as u64, n / 3);
    }
    let (status, found) = other.json("GET", "/similar?id=d0", &json!(null));
    assert_eq!((status, found["matches"].as_array().unwrap().len()), (200, 3));
    let (_, stats) = one.json("GET", "/stats", &json!(null));
    assert_eq!(stats["documents"], 10);
    let (_, listed) = one.json("GET", "/documents?limit=3", &json!(null));
    assert_eq!(listed["ids"], json!(["d0", "d1", "d2"]));
    assert_eq!(one.call("DELETE", "/documents/d0", &json!(null)).status, 204);
    assert_eq!(other.call("GET", "/documents/d0", &json!(null)).status, 404);
    let (_, exported) = other.json("GET", "/export?order=id", &json!(null));
    assert_eq!(exported, json!(null), "lines are not one value");
}

#[test]
fn operations_that_only_local_collections_have_are_answered_501() {
    let Some(database) = Database::new() else { return };
    let server = Server::start(&database);
    for (method, path, body) in [
        ("POST", "/snapshots", &json!(null)),
        ("GET", "/snapshots", &json!(null)),
        ("GET", "/backup", &json!(null)),
        ("PUT", "/collections/books", &json!({"passages": {"words": 32}})),
        ("PUT", "/collections/books", &json!({"clusters": {"threshold": 0.8}})),
        ("PUT", "/collections/books", &json!({"scheme": {"kind": "prefix"}})),
    ] {
        let (status, problem) = server.json(method, path, body);
        assert_eq!(status, 501, "{method} {path}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("not supported"), "{problem}");
    }
    // As of every collection without an index of passages.
    let probe = json!({"text": of_family(1, 1)});
    let (status, problem) = server.json("POST", "/passages", &probe);
    assert_eq!((status, &problem["code"]), (422, &json!("passages_off")), "{problem}");
}

/// A server that stops for a while holds no document back, and goes on with what is stored.
#[test]
fn a_server_that_is_stopped_for_a_while_does_not_keep_others_from_writing() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (Server::start(&database), Server::start(&database));
    let document = |n: u64| json!({"id": format!("d{n}"), "text": of_family(1, n)});
    assert_eq!(one.call("POST", "/documents", &document(0)).status, 201);
    one.process.signal("STOP");
    for n in 1..4 {
        assert_eq!(other.call("POST", "/documents", &document(n)).status, 201);
    }
    one.process.signal("CONT");
    let (status, added) = one.json("POST", "/documents", &document(4));
    assert_eq!((status, added["duplicates"].as_array().unwrap().len()), (201, 4));
}

/// A proxy sends no requests to a server that would refuse them.
#[test]
fn a_server_is_not_ready_while_its_database_is_down() {
    let Some(mut database) = PostgresServer::start(&["fsync=off"]) else { return };
    let server = Server::start_at(&database.url("postgres"));
    let await_status = |wanted| loop {
        let (status, answer) = server.json("GET", "/readyz", &json!(null));
        if status == wanted {
            break answer;
        }
        pause();
    };
    await_status(200);
    database.kill();
    let problem = await_status(503);
    assert_eq!(problem["code"], "out_of_service", "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("the database"), "{problem}");
    assert_eq!(server.call("GET", "/healthz", &json!(null)).status, 200);
    database.resume();
    await_status(200);
}
