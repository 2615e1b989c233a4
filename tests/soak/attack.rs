//! Small requests that ask for gigabytes. What the system gave the process is measured, not what
//! the budget of memory says of itself.

use std::thread;

use serde_json::{Value, json};

use crate::memory::peak_bytes;
use crate::server::Server;
use crate::serving::client::Caller;
use crate::writer::JSON;

const MEMORY_MAX: usize = 64 << 20;

/// What a reservation does not count: the index, threads, connections, and memory that the
/// allocator keeps for a while.
const BESIDE: usize = 96 << 20;

/// Each with metadata that take a thousandth of the gigabytes once they are decoded.
const DOCUMENTS: usize = 60;

const LARGE_BODY: usize = 16 << 20;

#[test]
fn small_requests_cannot_take_much_memory() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("AKIN__SERVER__MEMORY_MAX", MEMORY_MAX.to_string()),
        ("AKIN__SERVER__REQUESTS_IN_FLIGHT_MAX", "100".to_owned()),
    ];
    let server = Server::start_with(dir.path(), &settings);
    let caller = Caller::new(&server.url);
    add_documents(&caller);
    let probes: Vec<_> = (0..40).map(|_| json!({"text": text(0)})).collect();
    let answer = "/similar?limit=10000&include=metadata";
    assert!(answered(&caller, answer, &json!(probes).to_string()) > 2 * MEMORY_MAX);
    let ids: Vec<_> = (0..DOCUMENTS).map(|at| format!("d{at}")).collect();
    assert!(answered(&caller, "/fetch", &json!({ "ids": ids }).to_string()) > DOCUMENTS * 60_000);
    let counted: Vec<_> =
        (0..100).map(|at| json!({"tokens": [[at.to_string(), 900_000]]})).collect();
    assert!(answered(&caller, "/collections/bags/similar", &json!(counted).to_string()) > 0);
    let large = format!("[{}{{}}]", "{},".repeat(LARGE_BODY / 3 - 1));
    refused(&caller, "POST", "/similar", large.clone());
    refused(&caller, "PUT", "/collections/large", large);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let answer = get(&caller, "/similar?id=d0&filter=@.values[0]==0");
                assert!([200, 503].contains(&answer), "{answer}");
            });
        }
    });
    let peak = peak_bytes(server.process_id());
    assert!(peak < MEMORY_MAX + BESIDE, "{peak} bytes at the most");
    assert_eq!(get(&caller, "/documents/d1"), 200);
}

fn add_documents(caller: &Caller) {
    let bags = (JSON, json!({"shingles": {"multiset": true}}).to_string());
    assert_eq!(caller.call("PUT", "/collections/bags", bags).unwrap().status, 201);
    let metadata: Value = json!({"values": vec![0; 30_000]});
    for at in 0..DOCUMENTS {
        let document = json!({"id": format!("d{at}"), "text": text(at), "metadata": metadata});
        let body = (JSON, document.to_string());
        let answer = caller.call("POST", "/documents?check=false", body).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
}

/// Texts that resemble each other.
fn text(changed: usize) -> String {
    let word = |at: usize| if at == changed { format!("e{at}") } else { format!("w{at}") };
    (0..200).map(word).collect::<Vec<_>>().join(" ")
}

/// Tries while the memory of an earlier request is still reserved.
const TRIES: usize = 50;

/// The bytes of an answer, of which each piece is thrown away.
fn answered(caller: &Caller, path: &str, body: &str) -> usize {
    let send = |_| {
        let request = caller.agent.post(format!("{}{path}", caller.url)).content_type(JSON);
        Some(request.send(body).unwrap()).filter(|answer| answer.status() != 503)
    };
    let mut answer = (0..TRIES).find_map(send).expect("the memory is given back");
    assert_eq!(answer.status(), 200, "{path}");
    let mut reader = answer.body_mut().with_config().limit(u64::MAX).reader();
    std::io::copy(&mut reader, &mut std::io::sink()).unwrap() as usize
}

/// The server does not read all of a body that it refuses, so its answer can be lost.
fn refused(caller: &Caller, method: &str, path: &str, body: String) {
    if let Ok(answer) = caller.call(method, path, (JSON, body)) {
        assert!(answer.status >= 400, "{}", answer.body);
    }
}

fn get(caller: &Caller, path: &str) -> u16 {
    caller.call("GET", path, (JSON, String::new())).unwrap().status
}
