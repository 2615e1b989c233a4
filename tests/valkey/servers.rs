//! Processes of akin over the same Valkey.

use std::process::Command;

use serde_json::{Value, json};

use crate::serving::Process;
use crate::serving::client::{Answer, Caller};
use crate::valkey_nodes::Valkey;

pub struct Servers {
    processes: Vec<Process>,
    pub callers: Vec<Caller>,
    /// Their data directories, and the contents that they share.
    dir: tempfile::TempDir,
}

impl Servers {
    /// `settings`: keys of `[valkey]` and their values.
    ///
    /// # Panics
    /// If they do not become ready.
    pub fn start(valkey: &Valkey, count: usize, settings: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let start = |number| try_start(valkey, &dir, number, settings).unwrap();
        let processes: Vec<_> = (0..count).map(start).collect();
        let callers = processes.iter().map(|process| Caller::new(&process.url)).collect();
        Self { processes, callers, dir }
    }

    pub fn url(&self, number: usize) -> &str {
        &self.processes[number].url
    }

    pub fn kill(&mut self, number: usize) {
        self.processes[number].kill();
    }

    /// Starts a process again that was killed; it is among the servers once it is
    /// [put there](Self::replace).
    pub fn start_again(
        &self,
        valkey: &Valkey,
        number: usize,
        settings: &[(&str, &str)],
    ) -> Process {
        try_start(valkey, &self.dir, number, settings).unwrap()
    }

    pub fn replace(&mut self, number: usize, process: Process) {
        self.callers[number] = Caller::new(&process.url);
        self.processes[number] = process;
    }

    /// How many of these documents the first process does not have whole, or does not find. A
    /// document of which a part is lost is said to be damaged.
    pub fn lost(&self, ids: &[String]) -> usize {
        ids.iter().filter(|id| !self.has(id)).count()
    }

    fn has(&self, id: &str) -> bool {
        let caller = &self.callers[0];
        let path = format!("/documents/{id}");
        let answer = caller.call("GET", &path, ("application/json", String::new())).unwrap();
        if answer.status != 200 {
            let is_known = answer.status == 404 || answer.body.contains("document_damaged");
            assert!(is_known, "{id}: {} {}", answer.status, answer.body);
            return false;
        }
        let probe = json!({ "text": text_of(id) });
        let found = ok(caller, "POST", "/similar?threshold=1", &probe);
        found["matches"].as_array().unwrap().iter().any(|found| found["id"] == *id)
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        let answer = ok(&self.callers[0], "GET", "/documents?limit=1&count=true", &Value::Null);
        answer["count"].as_u64().unwrap()
    }

    pub fn add(&self, server: usize, id: &str) -> Answer {
        add(&self.callers[server], id)
    }
}

/// # Errors
/// It ended: its log.
pub fn try_start(
    valkey: &Valkey,
    dir: &tempfile::TempDir,
    number: usize,
    settings: &[(&str, &str)],
) -> Result<Process, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(dir.path().join(number.to_string()));
    command.env("AKIN__LOG__FORMAT", "json");
    command.env("AKIN__STORAGE__BACKEND", "valkey");
    // Whom the server trusts, if the nodes have TLS.
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/valkey/tls/ca.cert.pem");
    command.env("SSL_CERT_FILE", authority);
    // Which near-duplicates are found by chance is the same everywhere.
    command.env("AKIN__COLLECTION__SKETCH__SEED", "7");
    command.env("AKIN__VALKEY__NODES", json!(valkey.addresses()).to_string());
    let contents = format!("file://{}", dir.path().join("contents").display());
    command.env("AKIN__VALKEY__CONTENTS", contents);
    for (key, value) in settings {
        command.env(format!("AKIN__VALKEY__{}", key.to_uppercase()), value);
    }
    let mut process = Process::spawn(command)?;
    process.await_ready()?;
    Ok(process)
}

/// Words that no other document has.
pub fn text_of(id: &str) -> String {
    (0..30).map(|word| format!("{id}word{word}")).collect::<Vec<_>>().join(" ")
}

/// The body that adds a document.
pub fn document(id: &str) -> (&'static str, String) {
    ("application/json", json!({ "id": id, "text": text_of(id) }).to_string())
}

pub fn add(caller: &Caller, id: &str) -> Answer {
    caller.call("POST", "/documents", document(id)).unwrap()
}

#[track_caller]
pub fn ok(caller: &Caller, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = caller.call(method, path, ("application/json", body)).unwrap();
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}
