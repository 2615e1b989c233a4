//! Moving up: what one server has goes to Valkey by an export and an import, and answers are the
//! same afterwards.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::servers::{Servers, ok};
use crate::serving::Process;
use crate::serving::client::Caller;
use crate::valkey_nodes::{Options, Valkey};

const FAMILIES: usize = 30;
const COPIES: usize = 4;

/// Pages in families of near-duplicates: each copy has other words in other places.
fn pages() -> impl Iterator<Item = (String, String)> {
    let page = |family: usize, copy: usize| {
        let word = |n: usize| match copy > 0 && (n * 7 + family) % 40 < copy {
            true => format!("edit{family}x{copy}x{n}"),
            false => format!("word{family}x{n}"),
        };
        (format!("f{family}/{copy}"), (0..200).map(word).collect::<Vec<_>>().join(" "))
    };
    (0..FAMILIES).flat_map(move |family| (0..COPIES).map(move |copy| page(family, copy)))
}

fn local(dir: &Path) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir);
    command.env("AKIN__LOG__FORMAT", "json");
    // Expected recall is that of the bands: which pairs are missed depends on the seed.
    command.env("AKIN__COLLECTION__SKETCH__SEED", "7");
    let mut process = Process::spawn(command).unwrap();
    process.await_ready().unwrap();
    process
}

fn run(arguments: &[&str]) {
    let ended = Command::new(env!("CARGO_BIN_EXE_akin")).args(arguments).output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// What is found of every document, with every figure, and every document whole.
fn answers(caller: &Caller) -> Vec<Value> {
    let of = |(id, text): (String, String)| {
        let mut similar =
            ok(caller, "GET", &format!("/similar?id={id}&threshold=0.5"), &Value::Null);
        let mut by_text = ok(caller, "POST", "/similar?threshold=0.7", &json!({ "text": text }));
        for answer in [&mut similar, &mut by_text] {
            let answer = answer.as_object_mut().unwrap();
            answer.remove("took_us");
        }
        let mut whole = ok(caller, "GET", &format!("/documents/{id}"), &Value::Null);
        whole.as_object_mut().unwrap().remove("stored_at");
        json!([similar, by_text, whole])
    };
    pages().map(of).collect()
}

#[test]
fn export_and_import_to_valkey_keep_answers() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let one = local(&dir.path().join("one"));
    let caller = Caller::new(&one.url);
    for (n, (id, text)) in pages().enumerate() {
        let document = json!({ "id": id, "text": text, "metadata": { "n": n } });
        let answer = caller.call("POST", "/documents", ("application/json", document.to_string()));
        assert_eq!(answer.unwrap().status, 201, "{id}");
    }
    run(&["export", "-o", &path("all.ndjson"), "--url", &one.url]);

    let valkey = Valkey::start(&Options { has_replicas: false, ..Options::default() });
    let of_collection = [("wait_replicas", "0")];
    let servers = Servers::start(&valkey, 2, &of_collection);
    run(&["import", &path("all.ndjson"), "--url", servers.url(0)]);
    let (before, after) = (answers(&caller), answers(&servers.callers[1]));
    let matches = before.iter().map(|answer| answer[0]["matches"].as_array().unwrap().len());
    assert!(matches.sum::<usize>() >= FAMILIES * COPIES * (COPIES - 1) / 2, "there is something");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }

    // And back again.
    run(&["export", "-o", &path("back.ndjson"), "--url", servers.url(1)]);
    let lines = |name: &str| {
        let text = std::fs::read_to_string(path(name)).unwrap();
        let mut lines: Vec<_> = text.lines().map(without_times).collect();
        lines.sort_by_key(|line| line["id"].to_string());
        lines
    };
    assert_eq!(lines("all.ndjson"), lines("back.ndjson"));
}

fn without_times(line: &str) -> Value {
    let mut line: Value = serde_json::from_str(line).unwrap();
    line.as_object_mut().unwrap().remove("stored_at");
    line
}
