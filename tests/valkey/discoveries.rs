//! All pairs of a server's documents, found by the command.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::remains::lose_sketch;
use crate::servers::Servers;
use crate::serving::Process;
use crate::serving::client::Caller;
use crate::valkey_nodes::{Options, Valkey};

/// Near-duplicates, three by three: two with equal texts, and one with other words.
fn documents() -> String {
    let document = |number: usize| {
        let (family, changed) = (number / 3, if number % 3 == 2 { 1 + number % 4 } else { 0 });
        let word = |at: usize| match at < changed {
            true => format!("d{number}w{at}"),
            false => format!("f{family}w{at}"),
        };
        let text: Vec<_> = (0..60).map(word).collect();
        json!({"id": format!("d{number:03}"), "text": text.join(" ")}).to_string() + "\n"
    };
    (0..300).map(document).collect()
}

fn post(caller: &Caller) {
    let posted = caller.call("POST", "/documents", ("application/x-ndjson", documents())).unwrap();
    assert!(posted.status == 200 && !posted.body.contains("\"error\""), "{}", posted.body);
}

/// Ids and similarity, in bits, of the lines of pairs.
fn pairs(lines: &str) -> BTreeSet<(String, String, u64)> {
    let pair = |line: &str| {
        let pair: Value = serde_json::from_str(line).unwrap();
        let id = |name: &str| pair.get(name)?.as_str().map(str::to_owned);
        Some((id("a")?, id("b")?, pair["resemblance"].as_f64()?.to_bits()))
    };
    let pairs: Vec<_> = lines.lines().filter_map(pair).collect();
    let once: BTreeSet<_> = pairs.iter().cloned().collect();
    assert_eq!(once.len(), pairs.len(), "a pair comes twice");
    once
}

fn akin_pairs(url: &str, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command.args(["pairs", "--json", "--url", url]).args(options).output().unwrap()
}

#[track_caller]
fn found(url: &str, options: &[&str]) -> BTreeSet<(String, String, u64)> {
    let Output { status, stdout, stderr } = akin_pairs(url, options);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    pairs(str::from_utf8(&stdout).unwrap())
}

#[test]
fn the_command_finds_the_pairs_of_a_server_of_its_own() {
    let valkey = Valkey::start(&Options { has_replicas: false, ..Options::default() });
    let mut servers = Servers::start(&valkey, 1, &[]);
    let dir = tempfile::tempdir().unwrap();
    let mut local = Command::new(env!("CARGO_BIN_EXE_akin"));
    local.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path());
    local.env("AKIN__LOG__FORMAT", "json").env("AKIN__COLLECTION__SKETCH__SEED", "7");
    let mut local = Process::spawn(local).unwrap();
    local.await_ready().unwrap();
    let local_caller = Caller::new(&local.url);
    for caller in [&servers.callers[0], &local_caller] {
        post(caller);
    }
    for mode in ["exact", "verified", "estimated"] {
        let (_, expected) = local_caller.get(&format!("/pairs?threshold=0.7&mode={mode}")).unwrap();
        let expected = pairs(str::from_utf8(&expected).unwrap());
        assert!(expected.len() >= 300, "{mode}: {}", expected.len());
        for url in [servers.url(0), &local.url] {
            assert_eq!(found(url, &["--threshold", "0.7", "--mode", mode]), expected, "{mode}");
        }
    }

    // Without a part of it, a document is passed over, and told.
    lose_sketch(&valkey, "d002");
    let Output { status, stdout, stderr } = akin_pairs(servers.url(0), &["--threshold", "0.7"]);
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success() && stderr.contains("document 'd002': "), "{stderr}");
    assert!(stderr.contains("cannot be read as documents: 1\n"), "{stderr}");
    let (_, all) = local_caller.get("/pairs?threshold=0.7&mode=exact").unwrap();
    let mut left = pairs(str::from_utf8(&all).unwrap());
    left.retain(|(a, b, _)| a != "d002" && b != "d002");
    assert_eq!(pairs(str::from_utf8(&stdout).unwrap()), left);

    // A part of the documents is never taken for all.
    servers.kill(0);
    let Output { status, stderr, .. } = akin_pairs(servers.url(0), &[]);
    assert!(!status.success(), "{}", String::from_utf8_lossy(&stderr));
}
