//! What of the files arrives at the server.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::server::Server;
use crate::{akin, akin_with_stdin};

pub fn gz(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub fn put(dir: &Path, name: &str, data: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, data).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_directory_of_compressed_and_plain_texts_is_imported() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "plain", "one \"quoted\"\ntext");
    put(dir.path(), "sub/changelog.gz", gz(b"in gzip"));
    put(dir.path(), "sub/z.txt.zst", zstd::encode_all(&b"in zstd"[..], 1).unwrap());
    put(dir.path(), "marked", "\u{feff}marked");
    put(dir.path(), "image", [b'a', 0, b'b']);
    put(dir.path(), "blank", " \n -- \n");
    put(dir.path(), "none", "");
    let server = Server::start();
    let root = dir.path().to_str().unwrap();
    let ended = akin(&["import", root, "--url", &server.url(), "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let id = |name: &str| format!("{root}/{name}");
    assert_eq!(
        server.documents(),
        [
            // The server tells that it has nothing to compare.
            json!({"id": id("blank"), "text": " \n -- \n"}),
            json!({"id": id("marked"), "text": "marked"}),
            json!({"id": id("plain"), "text": "one \"quoted\"\ntext"}),
            json!({"id": id("sub/changelog.gz"), "text": "in gzip"}),
            json!({"id": id("sub/z.txt.zst"), "text": "in zstd"}),
        ]
    );
    assert_eq!(server.received()[0].content_type, "application/x-ndjson");
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["files"], 5);
    assert_eq!(report["files_skipped"], json!({"not_read": 1, "empty": 1}));
    assert_eq!(report["documents"]["created"], 5);
}

#[test]
fn lines_of_json_are_sent_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let lines =
        "\u{feff}{\"id\": \"a\",  \"tokens\": [\"x\", [\"y\", 3]]}\r\n\n  \n{\"text\":\"no id\"}";
    let plain = put(dir.path(), "a.jsonl", lines);
    let packed = put(dir.path(), "b.ndjson.gz", gz(b"{\"id\":\"b\"}\n"));
    let server = Server::start();
    let ended = akin(&["import", &plain, &packed, "--url", &server.url()]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        server.lines(),
        [
            "{\"id\": \"a\",  \"tokens\": [\"x\", [\"y\", 3]]}",
            "{\"text\":\"no id\"}",
            "{\"id\":\"b\"}"
        ]
    );
}

#[test]
fn records_of_csv_become_documents_with_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let table = "url,body,lang\nu1,\"two\nlines, quoted\",en\nu2,x\nu3,last,de\n";
    let file = put(dir.path(), "pages.csv", table);
    let server = Server::start();
    let columns = ["--id-column", "url", "--text-column", "body"];
    let ended = akin(&[&["import", &file, "--url", &server.url()], &columns[..]].concat());
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains(&format!("{file}:4: the record has 2 fields, the first line has 3")),
        "{}",
        ended.stderr
    );
    assert_eq!(
        server.documents(),
        [
            json!({"id": "u1", "text": "two\nlines, quoted", "metadata": {"lang": "en"}}),
            json!({"id": "u3", "text": "last", "metadata": {"lang": "de"}}),
        ]
    );
    let ended = akin(&["import", &file, "--url", &server.url()]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("there is no column 'text' but url, body, lang"),
        "{}",
        ended.stderr
    );
}

#[test]
fn stdin_is_ndjson_by_default() {
    let server = Server::start();
    let url = server.url();
    let ended =
        akin_with_stdin(&["import", "-", "--url", &url], b"{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ended = akin_with_stdin(&["import", "-", "--url", &url, "--format", "text"], b"c d e");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let packed = gz(b"id,text\nf,g\n");
    let ended = akin_with_stdin(&["import", "-", "--url", &url, "--format", "csv"], &packed);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        server.lines(),
        [
            "{\"id\":\"a\"}",
            "{\"id\":\"b\"}",
            "{\"id\":\"stdin\",\"text\":\"c d e\"}",
            "{\"id\":\"f\",\"text\":\"g\"}"
        ]
    );
}

#[test]
fn only_included_extensions_are_read_from_directories() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.md", "b.txt.gz", "c.rst", "d"] {
        put(dir.path(), name, name);
    }
    let named = put(dir.path(), "named/e.xyz", "e");
    let root = dir.path().to_str().unwrap();
    let server = Server::start();
    let include = ["--include", "md", "--include", ".txt"];
    let ended = akin(&[&["import", root, &named, "--url", &server.url()], &include[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let texts: Vec<_> = server.documents().iter().map(|d| d["text"].clone()).collect();
    assert_eq!(texts, ["a.md", "b.txt.gz", "e"]);
}

#[test]
fn documents_are_sent_in_bounded_batches() {
    let mut lines: Vec<String> = (0..1200).map(|n| format!("{{\"id\":\"{n}\"}}\n")).collect();
    let long = "x".repeat(400_000);
    lines.extend((0..5).map(|n| format!("{{\"id\":\"l{n}\",\"text\":\"{long}\"}}\n")));
    let server = Server::start();
    let ended =
        akin_with_stdin(&["import", "-", "--url", &server.url()], lines.concat().as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(server.documents().len(), 1205);
    for received in server.received().iter() {
        assert!(received.body.len() <= 1 << 20);
        assert!(received.body.split(|byte| *byte == b'\n').count() <= 513);
    }
}
