//! `--json`: one line of JSON on stdout, in place of what is written for people.

use std::fs;

use serde_json::{Value, json};

use crate::serving::Serving;
use crate::{akin, akin_with_stdin};

/// The line of a command that goes well, and nothing on stderr.
#[track_caller]
fn line(arguments: &[&str]) -> Value {
    let ended = akin(arguments);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    assert_eq!(ended.stdout.lines().count(), 1, "{arguments:?}: {}", ended.stdout);
    serde_json::from_str(&ended.stdout).unwrap()
}

const DOCUMENTS: &str = r#"{"id": "a", "text": "one two three four five six seven"}
{"id": "b", "text": "One two three four five six seven"}
{"id": "c", "text": "..."}
"#;

#[test]
fn commands_on_files_write_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (docs, out) = (path("docs.jsonl"), path("out.jsonl"));
    fs::write(&docs, DOCUMENTS).unwrap();
    let summary = line(&["dedup", &docs, "--output", &out, "--json"]);
    let recall = summary["expected_recall"].as_f64().unwrap();
    assert!((0.99..1.0).contains(&recall), "{summary}");
    let expected = json!({
        "documents": 3, "representatives": 2, "near_duplicates": 1, "clusters": 1, "empty": 1,
        "shingles_removed": 5, "shingles_lost": 0, "short": 0, "failed": 0, "files_skipped": 0, "threshold": 0.8, "expected_recall": recall,
    });
    assert_eq!(summary, expected);
    let shards = line(&["dedup", &docs, "--output-dir", &path("shards"), "--json"]);
    assert_eq!(shards, expected);
    let refused = akin(&["dedup", &docs, "--json"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("--output"), "{}", refused.stderr);

    let pairs = akin(&["pairs", &docs, "--json"]).stdout;
    let pair: Value = serde_json::from_str(&pairs).unwrap();
    assert_eq!(pair, json!({"a": "a", "b": "b", "resemblance": 1.0}));
    assert_eq!(line(&["openapi", "--json"])["openapi"], "3.1.0");
    assert_eq!(line(&["check-config", "--json"])["collection"]["shingles"]["size"], 3);
}

#[test]
fn commands_on_servers_and_their_data_write_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (data, backup) = (path("restored"), path("backup.tar"));
    let serving = Serving::start();
    serving.wait_until_ready();
    let url = ["--url", &serving.url];
    akin_with_stdin(&[&["import", "-"], &url[..]].concat(), DOCUMENTS.as_bytes());
    assert_eq!(line(&[&["health", "--json"], &url[..]].concat()), json!({"status": "ready"}));
    let export = ["export", "--json", "--output", &path("out.jsonl")];
    assert_eq!(line(&[&export[..], &url].concat()), json!({"documents": 2}));
    for unnamed in [["export", "--json"], ["backup", "--json"]] {
        let refused = akin(&[&unnamed[..], &url].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        assert!(refused.stderr.contains("--output"), "{}", refused.stderr);
    }
    let saved = line(&[&["backup", "--json", "--output", &backup], &url[..]].concat());
    assert_eq!(saved["bytes"], fs::metadata(&backup).unwrap().len());
    let restored = line(&["restore", &backup, "--data-dir", &data, "--quiet", "--json"]);
    assert_eq!(restored, json!({"collections": [{"name": "default", "documents": 2}]}));
    assert_eq!(line(&["verify", &data, "--json"])["sound"], true);
    let reindexed = line(&["reindex", "--data-dir", &data, "--json"]);
    assert_eq!(reindexed, json!({"documents": 2}));

    let create = ["keys", "create", "--name", "shop", "--actions", "read", "--data-dir", &data];
    let key = line(&[&create[..], &["--json"]].concat());
    assert!(key["key"].as_str().unwrap().starts_with("akin_"), "{key}");
    assert_eq!((&key["name"], &key["actions"]), (&json!("shop"), &json!(["read"])));
    let revoked = line(&["keys", "revoke", "shop", "--data-dir", &data, "--json"]);
    assert_eq!(revoked, json!({"revoked": "shop", "left": 0}));
}
