//! Documents that are under way for longer than the lease.

use std::thread;

use serde_json::{Value, json};

use crate::servers::Servers;
use crate::valkey_nodes::{Node, Options, Reply, Valkey, poll};

const SKIP: &str = "/documents?on_duplicate=skip";

/// Of 60 words, of which the copy has another one changed.
fn near_copy(copy: usize) -> String {
    let word = |at: usize| match at == 20 + copy {
        true => format!("edited{copy}"),
        false => format!("word{at}"),
    };
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

fn post(servers: &Servers, copy: usize) -> (u16, Value) {
    let document = json!({ "id": format!("copy{copy}"), "text": near_copy(copy) }).to_string();
    let answer = servers.callers[0].call("POST", SKIP, ("application/json", document)).unwrap();
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

/// The only key like this, and the master that has it.
fn only<'v>(valkey: &'v Valkey, pattern: &str) -> Option<(&'v Node, Vec<u8>)> {
    let found = valkey.masters().flat_map(|master| {
        let keys = master.call(&["KEYS", pattern]);
        let key = |key: &Reply| match key {
            Reply::Bulk(key) => (master, key.clone()),
            other => panic!("no key: {other:?}"),
        };
        keys.items().iter().map(key).collect::<Vec<_>>()
    });
    let mut found: Vec<_> = found.collect();
    assert!(found.len() < 2, "{pattern}");
    found.pop()
}

/// When the work on a document was noted the last time, in milliseconds.
fn noted(master: &Node, queue: &[u8], item: &[u8]) -> Option<i64> {
    match master.call(&[b"ZSCORE", queue, item]) {
        Reply::Bulk(score) => String::from_utf8(score).unwrap().parse().ok(),
        _ => None,
    }
}

/// A document waits for an earlier one, which is under way in another process, for longer than the
/// lease. Its own process works, so it is not withdrawn.
#[test]
fn a_document_that_waits_for_longer_than_the_lease_is_not_withdrawn() {
    const LEASE_MS: i64 = 3_000;
    let valkey = Valkey::start(&Options { has_replicas: false, ..Options::default() });
    let servers = Servers::start(&valkey, 2, &[("deadline_ms", "1000"), ("lease_ms", "3000")]);
    assert_eq!(post(&servers, 0).0, 201);
    // The first copy becomes pending again, as if its process went on renewing its note.
    let (master, document) = only(&valkey, "akin:*:d{*copy0").unwrap();
    let Reply::Bulk(record) = master.call(&[&b"GET"[..], &document]) else { panic!("no record") };
    let after = |kind: u8| {
        let place = |byte| document.iter().position(|other| *other == byte).unwrap();
        let (open, end) = (place(b'{'), place(b'}'));
        [&document[..open - 1], &[kind], &document[open..=end]].concat()
    };
    let pending = [&after(b'p')[..], &record[1..7], b"copy0"].concat();
    let item = [&b"V"[..], &record[1..15], b"copy0"].concat();
    let later = b"9000000000000";
    assert_eq!(master.call(&[&b"ZADD"[..], &after(b'q'), later, &item]), Reply::Number(1));
    assert!(matches!(master.call(&[&b"RENAME"[..], &document, &pending]), Reply::Status(_)));

    thread::scope(|scope| {
        let waiting = scope.spawn(|| post(&servers, 1));
        let mut first = None;
        poll("the note of the document that waits is renewed for longer than the lease", || {
            let Some((master, key)) = only(&valkey, "akin:*:p{*copy1") else { return false };
            let Reply::Bulk(record) = master.call(&[&b"GET"[..], &key]) else { return false };
            let part = key.iter().position(|byte| *byte == b'}').unwrap();
            let mut queue = key[..=part].to_vec();
            let kind = queue.iter().position(|byte| *byte == b'{').unwrap() - 1;
            queue[kind] = b'q';
            let item = [&b"V"[..], &record[1..15], b"copy1"].concat();
            let Some(noted) = noted(master, &queue, &item) else { return false };
            noted - *first.get_or_insert(noted) > LEASE_MS
        });
        assert_eq!(master.call(&[&b"DEL"[..], &pending]), Reply::Number(1));
        let (status, answer) = waiting.join().unwrap();
        assert_eq!((status, &answer["status"]), (201, &json!("created")), "{answer}");
    });
}
