//! Kill -9 while a collection is reindexed and written to: it has its old or its new settings, and
//! every document that was acknowledged.

use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use crate::server::Server;

const KILLS: usize = 8;
const DOCUMENTS_FIRST: usize = 400;

fn settings(round: usize) -> String {
    json!({"shingles": {"size": round % 2 + 1}}).to_string()
}

fn json_of(agent: &Agent, url: &str) -> Option<Value> {
    let text = agent.get(url).call().ok()?.body_mut().read_to_string().ok()?;
    serde_json::from_str(&text).ok()
}

/// Begins one reindex after the other and adds documents meanwhile, until the server dies. Tells of
/// each document once it is acknowledged, and of each reindex that is done.
fn work(url: &str, next: &mut usize, tell: &Sender<()>) {
    let agent = Agent::new_with_defaults();
    let collection = format!("{url}/collections/news");
    for round in 0.. {
        let begun = agent
            .post(format!("{collection}/reindex"))
            .content_type("application/json")
            .send(settings(round));
        if begun.is_err() {
            return;
        }
        loop {
            let Some(status) = json_of(&agent, &format!("{collection}/reindex")) else { return };
            assert_ne!(status["state"], "failed", "{status}");
            if status["state"] == "done" {
                break;
            }
            let add = agent.post(format!("{collection}/documents?check=false&id={next}"));
            if add.content_type("text/plain").send(format!("document {next} of them")).is_err() {
                return;
            }
            *next += 1;
            let _ = tell.send(());
        }
        let _ = tell.send(());
    }
}

/// Where a reindex was complete but the old collection could not be removed, the old one came back,
/// with its deleted documents. So after each kill the collection has its old or its new settings,
/// with every acknowledged document.
#[test]
fn killed_reindex_leaves_old_or_new_collection_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut next = 0;
    for kill in 0..=KILLS {
        let mut server = Server::start(dir.path());
        if kill == 0 {
            let agent = Agent::new_with_defaults();
            let made = format!("{}/collections/news", server.url);
            agent.put(made).content_type("application/json").send(settings(0)).unwrap();
            let lines: Vec<_> = (0..DOCUMENTS_FIRST)
                .map(|id| json!({"id": id.to_string(), "text": format!("document {id} of them")}))
                .map(|document| document.to_string() + "\n")
                .collect();
            let add = agent.post(format!("{}/collections/news/documents", server.url));
            let mut added = add.content_type("application/x-ndjson").send(lines.concat()).unwrap();
            added.body_mut().read_to_string().unwrap();
            next = DOCUMENTS_FIRST;
        }
        check(&server, dir.path(), next);
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let (url, next) = (server.url.clone(), &mut next);
            scope.spawn(move || work(&url, next, &tell));
            for _ in 0..=kill * 3 {
                told.recv_timeout(Duration::from_secs(60)).expect("the client goes on");
            }
            server.kill();
        });
    }
}

/// What was not acknowledged may be there as well.
fn check(server: &Server, dir: &std::path::Path, acknowledged: usize) {
    let agent = Agent::new_with_defaults();
    let collection = format!("{}/collections/news", server.url);
    let size = json_of(&agent, &collection).unwrap()["settings"]["shingles"]["size"].clone();
    assert!(size == 1 || size == 2, "{size}");
    for id in (0..acknowledged).rev().step_by(7).chain([acknowledged - 1]) {
        let stored = json_of(&agent, &format!("{collection}/documents/{id}")).unwrap();
        assert_eq!(stored["text"], format!("document {id} of them"), "{stored}");
        assert_eq!(stored["shingles"], if size == 1 { 4 } else { 3 }, "{stored}");
    }
    let directories = std::fs::read_dir(dir.join("collections")).unwrap().count();
    assert_eq!(directories, 2, "remains are cleared");
}
