//! The clusters that a collection keeps, after the server was killed.

use serde_json::{Value, json};

use crate::process::client::Caller;
use crate::serving::Serving;

/// An index for exact lookups finds every pair.
const SETTINGS: &str = "
[collection.clusters]
threshold = 0.8
[collection.scheme]
exact_from = 0.8
";

fn text(of: usize, changed: usize) -> String {
    let word = |at| if at == changed { "other".to_owned() } else { format!("w{of}x{at}") };
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

fn json(caller: &Caller, path: &str) -> Value {
    serde_json::from_slice(&caller.get(path).unwrap().1).unwrap()
}

/// The clusters, once they are up to date.
fn clusters(caller: &Caller) -> String {
    while json(caller, "/stats")["clusters"]["state"] != "current" {}
    String::from_utf8(caller.get("/clusters").unwrap().1).unwrap()
}

fn sizes(clusters: &str) -> Vec<u64> {
    let size = |line| serde_json::from_str::<Value>(line).unwrap()["size"].as_u64().unwrap();
    clusters.lines().map(size).collect()
}

#[test]
fn clusters_are_the_same_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("akin.toml");
    std::fs::write(&config, SETTINGS).unwrap();
    let options = ["--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let start = || {
        let serving = Serving::start_with(&dir.path().join("data"), &options);
        serving.wait_until_ready();
        let caller = Caller::new(&serving.url);
        (serving, caller)
    };
    let (serving, caller) = start();
    // Clusters of 1 to 9 documents.
    let documents = (1..10).flat_map(|of| (0..of).map(move |at| (of, at)));
    let line = |(of, at): (usize, usize)| {
        json!({"id": format!("{of}.{at}"), "text": text(of, at * 5)}).to_string() + "\n"
    };
    let body: String = documents.map(line).collect();
    let posted = caller.call("POST", "/documents", ("application/x-ndjson", body)).unwrap();
    assert!(posted.status == 200 && !posted.body.contains("\"error\""), "{}", posted.body);
    assert_eq!(sizes(&clusters(&caller)), (2..10).collect::<Vec<_>>());
    let removed = caller.call("DELETE", "/documents/9.0", ("application/json", String::new()));
    assert_eq!(removed.unwrap().status, 204);
    let changes = json!({"metadata": {"a": "version with another ordinal"}}).to_string();
    let changed = caller.call("PATCH", "/documents/9.1", ("application/json", changes));
    assert_eq!(changed.unwrap().status, 200);
    let before = clusters(&caller);
    assert_eq!(sizes(&before), [2, 3, 4, 5, 6, 7, 8, 8]);
    serving.kill();

    let (serving, caller) = start();
    assert_eq!(clusters(&caller), before);
    let document = json(&caller, "/documents/9.8");
    let last: Value = serde_json::from_str(before.lines().last().unwrap()).unwrap();
    assert_eq!(document["cluster"], last["cluster"]);
    assert_eq!(last["representative"], "9.1");
    assert!(serving.stop().success());
}
