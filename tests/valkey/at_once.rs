//! Near-duplicates that are posted at once to different processes.

use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use crate::servers::{Servers, ok};
use crate::valkey_nodes::{Options, Valkey};

const ROUNDS: usize = 100;

/// Of 200 words, of which each copy has another one changed.
fn near_copy(name: &str, copy: usize) -> String {
    let word = |at: usize| match at == 20 * (copy + 1) {
        true => format!("edited{copy}"),
        false => format!("{name}word{at}"),
    };
    (0..200).map(word).collect::<Vec<_>>().join(" ")
}

/// What each of several near-duplicates is answered; each process gets every second one.
fn post_at_once(servers: &Servers, name: &str, path: &str, copies: usize) -> Vec<Value> {
    let together = &Barrier::new(copies);
    thread::scope(|scope| {
        let post = |copy: usize| {
            let document = json!({ "id": format!("{name}-{copy}"), "text": near_copy(name, copy) });
            let caller = &servers.callers[copy % servers.callers.len()];
            scope.spawn(move || {
                together.wait();
                let body = ("application/json", document.to_string());
                let answer = caller.call("POST", path, body).unwrap();
                assert!(matches!(answer.status, 200 | 201), "{}: {}", answer.status, answer.body);
                serde_json::from_str(&answer.body).unwrap()
            })
        };
        let posts: Vec<_> = (0..copies).map(post).collect();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    })
}

#[test]
fn concurrent_skip_across_processes_stores_exactly_one() {
    let valkey = Valkey::start(&Options { has_replicas: false, ..Options::default() });
    let servers = Servers::start(&valkey, 2, &[]);
    for round in 0..ROUNDS {
        let answers = post_at_once(&servers, &format!("told{round}"), "/documents", 2);
        let is_told = |answer: &Value| !answer["duplicates"].as_array().unwrap().is_empty();
        assert!(answers.iter().any(is_told), "round {round}: neither is told: {answers:?}");
    }
    for round in 0..ROUNDS {
        let path = "/documents?on_duplicate=skip";
        let answers = post_at_once(&servers, &format!("skip{round}"), path, 4);
        let stored = answers.iter().filter(|answer| answer["status"] == "created").count();
        assert_eq!(stored, 1, "round {round}: {answers:?}");
    }
    let listed = ok(&servers.callers[0], "GET", "/documents?limit=1&count=true", &Value::Null);
    assert_eq!(listed["count"], 3 * ROUNDS);
}
