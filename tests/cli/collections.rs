//! The commands for collections and documents of a running server.

use serde_json::{Value, json};

use crate::serving::Serving;
use crate::{Ended, akin, akin_with_stdin};

/// A server and the commands that go to it.
struct Site(Serving);

impl Site {
    fn start() -> Self {
        let serving = Serving::start();
        serving.wait_until_ready();
        Self(serving)
    }

    fn ended(&self, arguments: &[&str]) -> Ended {
        akin(&[arguments, &["--url", &self.0.url]].concat())
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> Ended {
        let ended = self.ended(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let ended = self.done(&[arguments, &["--json"]].concat());
        assert_eq!((ended.stdout.lines().count(), ended.stderr.as_str()), (1, ""), "{arguments:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }

    fn fill(&self) {
        let text = "the museum opens at ten from Tuesday to Sunday and is closed on Mondays";
        let near = text.replace("Mondays", "Monday");
        let documents = [("a", text), ("b", "quite another text"), ("c", &near), ("d", text)];
        let lines = documents.map(|(id, text)| json!({"id": id, "text": text}).to_string());
        let import = ["import", "-", "--url", &self.0.url];
        let ended = akin_with_stdin(&import, lines.join("\n").as_bytes());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

#[test]
fn collections_are_created_listed_shown_and_dropped() {
    let site = Site::start();
    let settings = site.0.data_dir.join("../settings.json");
    let settings = settings.to_str().unwrap();
    std::fs::write(settings, r#"{"shingles": {"size": 2}}"#).unwrap();
    let create = ["collections", "create", "news", "--settings", settings];
    assert_eq!(site.done(&create).stderr, "created 'news'\n");
    let again = site.done(&create);
    assert_eq!(again.stderr, "'news' exists already, with these settings\n");
    let other = site.ended(&["collections", "create", "news"]);
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("shingles"), "{}", other.stderr);
    assert_eq!(site.json(&["collections", "create", "blog"])["name"], "blog");

    assert_eq!(site.done(&["collections", "list"]).stdout, "blog\ndefault\nnews\n");
    let listed = site.json(&["collections", "list"]);
    assert_eq!(listed["collections"][2], json!({"name": "news"}));
    let shown = site.done(&["collections", "show", "news"]).stdout;
    assert!(shown.starts_with("documents  0, with 0 distinct sets\n"), "{shown}");
    assert!(shown.contains("\n[shingles]\n") && shown.contains("\nsize = 2\n"), "{shown}");
    assert_eq!(site.json(&["collections", "show", "news"])["settings"]["shingles"]["size"], 2);

    assert_eq!(site.done(&["collections", "drop", "news"]).stderr, "dropped 'news'\n");
    assert_eq!(site.json(&["collections", "drop", "blog"]), json!({"dropped": "blog"}));
    assert_eq!(site.done(&["collections", "list"]).stdout, "default\n");
    for refused in ["drop", "show"] {
        let ended = site.ended(&["collections", refused, "news"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
        assert!(ended.stderr.contains("news"), "{}", ended.stderr);
    }
}

#[test]
fn documents_are_shown_and_removed_by_their_ids() {
    let site = Site::start();
    site.fill();
    let got = site.ended(&["get", "c", "nowhere", "a"]);
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), "not stored: nowhere\n"));
    let lines: Vec<Value> =
        got.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["c", "a"]);
    assert!(lines[1]["text"].as_str().unwrap().ends_with("Mondays"), "{lines:?}");
    let sketched = site.done(&["get", "a", "--include", "sketch,shingles"]).stdout;
    let sketched: Value = serde_json::from_str(&sketched).unwrap();
    assert!(sketched["included"]["shingles"].is_array(), "{sketched}");
    let many: Vec<String> = (0..50).map(|n| format!("a{n}")).collect();
    let many: Vec<&str> = ["get", "a"].into_iter().chain(many.iter().map(String::as_str)).collect();
    assert_eq!(site.ended(&many).stderr.lines().count(), 50, "they take several calls");

    assert_eq!(site.done(&["delete", "a", "nowhere"]).stderr, "documents removed: 1\n");
    assert_eq!(site.json(&["delete", "b", "c"]), json!({"removed": 2}));
    assert_eq!(site.json(&["stats"])["documents"], 1);
    let elsewhere = site.ended(&["delete", "d", "--collection", "news"]);
    assert_eq!(elsewhere.code, Some(1));
    assert!(elsewhere.stderr.contains("news"), "{}", elsewhere.stderr);
    assert_eq!(site.json(&["stats"])["documents"], 1);
}

#[test]
fn stats_and_clusters_are_shown() {
    let site = Site::start();
    site.fill();
    let stats = site.done(&["stats"]).stdout;
    assert!(stats.starts_with("documents  4, with 3 distinct sets\nkeys       "), "{stats}");
    let version = format!("\nserver     akin {}, up for ", env!("CARGO_PKG_VERSION"));
    assert!(stats.contains(&version), "{stats}");

    let clusters = site.done(&["clusters", "--threshold", "0.7"]);
    let shown: Vec<_> = clusters.stdout.lines().collect();
    assert!(shown[0].ends_with("  3 documents"), "{shown:?}");
    assert_eq!((shown[1], shown[3], shown.len()), ("  1.0000  a", "  1.0000  d", 4));
    assert!(shown[2].starts_with("  0.8") && shown[2].ends_with("  c"), "{shown:?}");
    assert_eq!(clusters.stderr, "clusters: 1; documents in them: 3\n");
    let cluster = site.json(&["clusters", "--threshold", "0.7"]);
    assert_eq!((&cluster["size"], &cluster["representative"]), (&json!(3), &json!("a")));
    let large = site.done(&["clusters", "--min-size", "4", "--linkage", "representative"]);
    assert_eq!(
        (large.stdout.as_str(), large.stderr.as_str()),
        ("", "clusters: 0; documents in them: 0\n")
    );

    let of = site.done(&["clusters", "--id", "c", "--threshold", "0.7"]).stdout;
    assert_eq!(of, clusters.stdout);
    let unknown = site.ended(&["clusters", "--id", "nowhere"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""));
}
