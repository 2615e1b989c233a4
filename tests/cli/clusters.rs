//! The clusters of a server that is killed.

use serde_json::{Value, json};

use crate::process::client::Caller;
use crate::serving::Serving;

/// Every pair is found.
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

/// The clusters once they are up to date: their names and sizes.
fn clusters(caller: &Caller) -> Vec<(String, u64)> {
    loop {
        let page = json(caller, "/clusters/stored?limit=1000");
        if page["state"] != "current" {
            continue;
        }
        let cluster =
            |of: &Value| (of["cluster"].as_str().unwrap().to_owned(), of["size"].as_u64().unwrap());
        return page["clusters"].as_array().unwrap().iter().map(cluster).collect();
    }
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
    let before = clusters(&caller);
    assert_eq!(
        before.iter().map(|(_, size)| *size).collect::<Vec<_>>(),
        (2..10).collect::<Vec<_>>()
    );
    let removed = caller.call("DELETE", "/documents/9.0", ("application/json", String::new()));
    assert_eq!(removed.unwrap().status, 204);
    let before = clusters(&caller);
    serving.kill();

    let (serving, caller) = start();
    assert_eq!(clusters(&caller), before);
    let document = json(&caller, "/documents/9.1");
    assert_eq!(document["cluster"], before.last().unwrap().0.as_str());
    assert!(serving.stop().success());
}
