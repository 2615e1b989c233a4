//! A collection is reindexed by one server while several servers write to it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::servers::{Servers, document, text_of};
use crate::serving::client::{Answer, Caller};
use crate::valkey_nodes::{Options, Valkey, poll};

const NEWS: &str = "/collections/news";
const REINDEX: &str = "/collections/news/reindex";

fn call(caller: &Caller, method: &str, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    caller.call(method, path, ("application/json", body)).unwrap()
}

fn get(caller: &Caller, path: &str) -> Value {
    serde_json::from_str(&call(caller, "GET", path, &Value::Null).body).unwrap()
}

fn start() -> (Valkey, Servers) {
    let valkey = Valkey::start(&Options { has_replicas: false, ..Options::default() });
    let servers = Servers::start(&valkey, 2, &[("deadline_ms", "1000"), ("lease_ms", "3000")]);
    let made = call(&servers.callers[0], "PUT", NEWS, &json!({}));
    assert_eq!(made.status, 201, "{}", made.body);
    let theirs = &servers.callers[1];
    poll("the other server has it", || call(theirs, "GET", NEWS, &Value::Null).status == 200);
    (valkey, servers)
}

fn begin(caller: &Caller) -> Answer {
    call(caller, "POST", REINDEX, &json!({"shingles": {"unit": "character", "size": 5}}))
}

/// Repeats a write until it is not refused.
fn write(caller: &Caller, method: &str, id: &str) {
    loop {
        let (path, (media, body)) = match method {
            "POST" => (format!("{NEWS}/documents"), document(id)),
            _ => (format!("{NEWS}/documents/{id}"), ("application/json", String::new())),
        };
        let answer = caller.call(method, &path, (media, body)).unwrap();
        if matches!(answer.status, 200 | 201 | 204 | 404) {
            return;
        }
        assert!(answer.status == 503 && answer.says_when_to_retry, "{}", answer.body);
        thread::yield_now();
    }
}

/// Writes until it is told to end. Each document's last acknowledged write: whether it is there.
fn write_on(caller: &Caller, name: &str, ends: &AtomicBool, there: &Mutex<BTreeMap<String, bool>>) {
    for number in 0.. {
        let id = format!("{name}n{number}");
        write(caller, "POST", &id);
        there.lock().unwrap().insert(id.clone(), true);
        if number % 3 == 0 {
            write(caller, "DELETE", &id);
            there.lock().unwrap().insert(id, false);
        }
        if ends.load(Ordering::Relaxed) {
            return;
        }
    }
}

fn unit(caller: &Caller) -> Value {
    get(caller, NEWS)["settings"]["shingles"]["unit"].clone()
}

#[test]
fn a_reindex_loses_no_write_of_any_server() {
    let (_valkey, servers) = start();
    let [ours, theirs] = [&servers.callers[0], &servers.callers[1]];
    for number in 0..300 {
        write(ours, "POST", &format!("old{number}"));
    }
    let before = get(theirs, &format!("{NEWS}/documents/old7"));
    let (ends, there) = (AtomicBool::new(false), Mutex::default());
    thread::scope(|scope| {
        for (name, caller) in [("a", ours), ("b", ours), ("c", theirs), ("d", theirs)] {
            let (ends, there) = (&ends, &there);
            scope.spawn(move || write_on(caller, name, ends, there));
        }
        poll("there are writes", || there.lock().unwrap().len() > 50);
        let begun = begin(ours);
        assert_eq!(begun.status, 202, "{}", begun.body);
        let again = begin(theirs);
        assert!(again.status == 409 && again.body.contains("reindex_under_way"), "{}", again.body);
        // Every read is answered by the old or the new collection.
        poll("it has ended", || {
            for caller in [ours, theirs] {
                assert_eq!(get(caller, &format!("{NEWS}/documents/old9"))["id"], "old9");
            }
            get(ours, REINDEX)["state"] != "running"
        });
        assert_eq!(get(ours, REINDEX)["state"], "done", "{}", get(ours, REINDEX));
        assert_eq!(unit(ours), "character");
        poll("the other server has noticed", || unit(theirs) == "character");
        let written = there.lock().unwrap().len();
        poll("writes go on", || there.lock().unwrap().len() > written + 50);
        ends.store(true, Ordering::Relaxed);
    });
    for caller in [ours, theirs] {
        for (id, is_there) in &*there.lock().unwrap() {
            let path = format!("{NEWS}/documents/{id}");
            let status = call(caller, "GET", &path, &Value::Null).status;
            assert_eq!(status, if *is_there { 200 } else { 404 }, "{id}");
        }
        let stayed = there.lock().unwrap().values().filter(|is_there| **is_there).count();
        assert_eq!(get(caller, NEWS)["documents"], 300 + stayed);
        let after = get(caller, &format!("{NEWS}/documents/old7"));
        assert_eq!(after["stored_at"], before["stored_at"]);
        assert_ne!(after["shingles"], before["shingles"]);
        let probe = json!({ "text": text_of("old7") });
        let found = call(caller, "POST", &format!("{NEWS}/similar?threshold=1"), &probe);
        assert!(found.body.contains("\"old7\""), "{}", found.body);
    }
}

#[test]
fn a_server_that_dies_leaves_the_collection_as_it_was() {
    let (_valkey, mut servers) = start();
    let theirs = servers.callers[1].clone();
    for number in 0..20 {
        write(&theirs, "POST", &format!("old{number}"));
    }
    assert_eq!(begin(&servers.callers[0]).status, 202);
    let mut news = 0;
    poll("writes are refused, as it is about to end", || {
        news += 1;
        let (media, body) = document(&format!("new{news}"));
        let path = format!("{NEWS}/documents");
        theirs.call("POST", &path, (media, body)).unwrap().status == 503
    });
    servers.kill(0);
    write(&theirs, "POST", "newer");
    assert_eq!(unit(&theirs), "word");
    assert!(get(&theirs, NEWS)["documents"].as_u64().unwrap() >= 21);
    let begun = begin(&theirs);
    assert_eq!(begun.status, 202, "{}", begun.body);
    poll("it has ended", || get(&theirs, REINDEX)["state"] == "done");
    assert_eq!(get(&theirs, &format!("{NEWS}/documents/newer"))["id"], "newer");
}
