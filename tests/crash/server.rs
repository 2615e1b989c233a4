//! The real binary on a free port.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use ureq::Agent;

use crate::serving::Process;

pub struct Server {
    process: Process,
    pub url: String,
    agent: Agent,
}

impl Server {
    /// Starts it and waits until it is ready.
    pub fn start(dir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir)
            .env("AKIN__LOG__FORMAT", "json")
            .env("AKIN__COLLECTION__PASSAGES__WORDS", "13")
            .env("AKIN__STORAGE__EXPIRY_INTERVAL_S", "1");
        let mut process = Process::spawn(command).unwrap();
        process.await_ready().unwrap();
        Self { url: process.url.clone(), process, agent: Agent::new_with_defaults() }
    }

    pub fn add(&self, document: &Value) {
        let request = self.agent.post(format!("{}/documents", self.url));
        request.content_type("application/json").send(document.to_string()).unwrap();
    }

    pub fn begin_snapshot(&self) {
        self.agent.post(format!("{}/snapshots", self.url)).send_empty().unwrap();
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Every document's text by its id, once it is seen that each expires as it should.
    pub fn export(&self) -> HashMap<String, String> {
        let lines = self.get("/export").unwrap();
        let document = |line: &str| {
            let document: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| document[name].as_str().unwrap().to_owned();
            let expires_at = document.get("expires_at").and_then(Value::as_str);
            assert_eq!(expires_at, crate::writer::expires_at(&text("text")), "{document}");
            (text("id"), text("text"))
        };
        lines.lines().map(document).collect()
    }

    pub fn finds(&self, text: &str, id: &str) -> bool {
        self.is_match("similar?threshold=1", text, id)
    }

    /// Whether the document is found by its whole text as a passage.
    pub fn finds_passages(&self, text: &str, id: &str) -> bool {
        self.is_match("passages", text, id)
    }

    fn is_match(&self, call: &str, text: &str, id: &str) -> bool {
        let mut answer = self
            .agent
            .post(format!("{}/{call}", self.url))
            .content_type("text/plain")
            .send(text)
            .unwrap();
        let answer: Value =
            serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        answer["matches"].as_array().unwrap().iter().any(|found| found["id"] == id)
    }

    pub fn stats(&self) -> Value {
        serde_json::from_str(&self.get("/stats").unwrap()).unwrap()
    }

    pub fn collections(&self) -> Vec<String> {
        let listed: Value = serde_json::from_str(&self.get("/collections").unwrap()).unwrap();
        let names = listed["collections"].as_array().unwrap().iter();
        names.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    }

    pub fn ids(&self, collection: &str) -> Vec<Value> {
        let listed = self.get(&format!("/collections/{collection}/documents")).unwrap();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        listed["ids"].as_array().unwrap().clone()
    }

    /// Makes a collection that is there with the same settings already.
    pub fn make_again(&self, collection: &str, settings: &str) {
        let path = format!("{}/collections/{collection}", self.url);
        let made = self.agent.put(path).content_type("application/json").send(settings).unwrap();
        assert_eq!(made.status(), 200);
    }

    fn get(&self, path: &str) -> Result<String, ureq::Error> {
        let mut answer = self.agent.get(format!("{}{path}", self.url)).call()?;
        answer.body_mut().with_config().limit(u64::MAX).read_to_string()
    }
}
