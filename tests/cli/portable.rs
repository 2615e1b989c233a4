//! Collections that move: exported and imported again, saved and restored.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use flate2::read::GzDecoder;
use serde_json::json;

use crate::akin;
use crate::serving::Serving;

/// Runs a command that must do what it is asked; gives back what it printed.
#[track_caller]
fn done(arguments: &[&str]) -> String {
    let ended = akin(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended.stdout
}

/// Documents of every kind, in no particular order of their ids.
fn documents() -> String {
    let words = |from: usize| -> String {
        (from..from + 40).map(|word| format!("word{word}")).collect::<Vec<_>>().join(" ")
    };
    let texts = (0..700).map(|number| {
        let id = format!("https://example.org/{}?q=é", number * 7919 % 701);
        json!({"id": id, "text": words(number), "metadata": {"n": number}}).to_string()
    });
    let others = [
        json!({"id": "tokens", "tokens": ["a", ["b", 3], "c d"]}).to_string(),
        r#"{"id":"spaced","text":"a \"quoted\" line\nand another\u0000","metadata":{ "z" :1.50, "a":[ ] }}"#
            .to_owned(),
    ];
    texts.chain(others).map(|line| line + "\n").collect()
}

#[test]
fn a_collection_survives_export_and_import_byte_for_byte() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let (dir, url) = (tempfile::tempdir().unwrap(), serving.url.as_str());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let [docs, settings] = ["docs.jsonl", "settings.json"].map(path);
    fs::write(&docs, documents()).unwrap();
    fs::write(&settings, r#"{"shingles": {"size": 2, "multiset": true}}"#).unwrap();
    done(&["import", &docs, "--collection", "one", "--settings", &settings, "--url", url]);

    let [first, whole_settings] = ["first.jsonl", "whole.json"].map(path);
    let export = ["export", "-o", &first, "--collection", "one", "--settings", &whole_settings];
    done(&[&export[..], &["--url", url]].concat());
    let import = ["import", &first, "--collection", "two", "--settings", &whole_settings];
    done(&[&import[..], &["--url", url, "--jobs", "3"]].concat());
    let second = path("second.jsonl.gz");
    done(&["export", "-o", &second, "--collection", "two", "--url", url]);
    for (flag, file) in [("-o", &second), ("--settings", &whole_settings)] {
        let before = fs::read(file).unwrap();
        let refused = akin(&["export", flag, file, "--url", url]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        assert!(refused.stderr.contains("exists already"), "{}", refused.stderr);
        assert!(fs::read(file).unwrap() == before, "{file} is overwritten");
    }

    let first = fs::read_to_string(first).unwrap();
    assert_eq!(first.lines().count(), 702);
    let mut unpacked = String::new();
    let second = fs::read(second).unwrap();
    GzDecoder::new(&second[..]).read_to_string(&mut unpacked).unwrap();
    assert!(first == unpacked, "the second export differs");
    assert!(first.contains(r#""metadata":{ "z" :1.50, "a":[ ] }"#), "metadata is as it came");
    assert!(first.contains(r#"{"id":"tokens","tokens":["a",["b",3],"c d"]}"#));
    let stdout = done(&["export", "--collection", "two", "--url", url]);
    assert!(stdout == first, "what goes to stdout differs");
    let settings = fs::read_to_string(whole_settings).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["shingles"]["size"], 2);
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn a_collection_without_texts_is_not_exported() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let (dir, url) = (tempfile::tempdir().unwrap(), serving.url.as_str());
    let settings = dir.path().join("settings.json");
    fs::write(&settings, r#"{"store": {"text": false}}"#).unwrap();
    let docs = dir.path().join("a.txt");
    fs::write(&docs, "a text that is not kept").unwrap();
    let settings = ["--settings", settings.to_str().unwrap(), "--collection", "bare"];
    done(&[&["import", docs.to_str().unwrap(), "--url", url], &settings[..]].concat());
    let out = dir.path().join("out.jsonl");
    let ended =
        akin(&["export", "-o", out.to_str().unwrap(), "--collection", "bare", "--url", url]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("store.text = false"), "{}", ended.stderr);
    assert!(!out.exists());
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn an_import_with_other_settings_is_refused() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let dir = tempfile::tempdir().unwrap();
    let (settings, docs) = (dir.path().join("settings.json"), dir.path().join("a.txt"));
    fs::write(&docs, "a text").unwrap();
    fs::write(&settings, r#"{"shingles": {"size": 9}}"#).unwrap();
    let [docs, settings] = [&docs, &settings].map(|path| path.to_str().unwrap());
    let ended = akin(&["import", docs, "--settings", settings, "--url", &serving.url]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("the collection 'default' has the settings"), "{}", ended.stderr);
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn an_export_that_breaks_off_leaves_no_file() {
    let described = r#"{"name": "default", "settings": {"store": {"text": true}}, "documents": 2}"#;
    let url = breaking_off(described);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.jsonl");
    let ended = akin(&["export", "-o", out.to_str().unwrap(), "--url", &url]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("the export broke off"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A server that describes its collection, and begins an export that it does not end.
pub fn breaking_off(described: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_head(&stream);
        let length = described.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{described}").unwrap();
        read_head(&stream);
        let line = "{\"id\":\"a\",\"text\":\"x\"}\n";
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        write!(stream, "{head}{:x}\r\n{line}\r\n", line.len()).unwrap();
    });
    format!("http://{address}")
}

fn read_head(stream: &std::net::TcpStream) {
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.take_while(|line| !line.is_empty()).for_each(drop);
}

#[test]
fn collections_are_reindexed_with_and_without_a_server() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let (dir, url) = (tempfile::tempdir().unwrap(), serving.url.as_str());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let [docs, old, settings] = ["docs.jsonl", "old.json", "settings.json"].map(path);
    fs::write(&docs, documents()).unwrap();
    fs::write(&old, "{}").unwrap();
    fs::write(&settings, r#"{"shingles": {"size": 2}}"#).unwrap();
    done(&["import", &docs, "--collection", "news", "--settings", &old, "--url", url]);
    let ended = akin(&["reindex", "news", "--settings", &settings, "--url", url]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("documents reindexed: 702"), "{}", ended.stderr);
    let ended = akin(&["reindex", "nowhere", "--settings", &settings, "--url", url]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let ended = akin(&["reindex", "--data-dir", &path("empty")]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
}
