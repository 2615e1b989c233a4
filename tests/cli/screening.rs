//! What becomes of records that are no documents, of empty ones and of short ones; and which
//! records of a file are documents.

use std::fs;

use serde_json::{Value, json};

use crate::inputs::put;
use crate::server::Server;
use crate::serving::Serving;
use crate::{Ended, akin, akin_with_stdin};

const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve";

#[track_caller]
fn run(arguments: &[&str]) -> Ended {
    let ended = akin(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended
}

fn ids(lines: &str) -> Vec<String> {
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].to_string();
    lines.lines().map(id).collect()
}

/// Two that are nearly the same, and three with nothing to compare.
fn with_empty_documents() -> String {
    format!(
        "{{\"id\":1,\"text\":\"{WORDS}\"}}\n{{\"id\":2,\"text\":null}}\n{{\"id\":3,\"text\":\"\"}}\n\
         {{\"id\":4,\"text\":\"{WORDS}\"}}\n{{\"id\":5,\"text\":\" . \"}}\n"
    )
}

#[test]
fn empty_documents_are_kept_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let docs = put(dir.path(), "docs.jsonl", with_empty_documents());
    let kept = run(&["dedup", &docs]);
    assert_eq!(ids(&kept.stdout), ["1", "2", "3", "5"]);
    assert!(kept.stderr.contains("with nothing to compare, kept: 3"), "{}", kept.stderr);
    let dropped = run(&["dedup", &docs, "--drop-empty"]);
    assert_eq!(ids(&dropped.stdout), ["1"]);
    assert!(dropped.stderr.contains("with nothing to compare, left out: 3"), "{}", dropped.stderr);
    let pairs = run(&["pairs", &docs]);
    assert_eq!(pairs.stdout, "1\t4\t1.000000000\n");
    assert!(pairs.stderr.contains("with nothing to compare, left out: 3"), "{}", pairs.stderr);
    let gold = put(dir.path(), "gold", "1\t4\n");
    let evaluation = run(&["evaluate", &docs, &gold, "--json"]).stdout;
    let evaluation: Value = serde_json::from_str(&evaluation).unwrap();
    assert_eq!((&evaluation["documents"], &evaluation["empty"]), (&json!(2), &json!(3)));
    // A table has no null.
    let table = put(dir.path(), "docs.csv", format!("id,text\na,{WORDS}\nb,\n"));
    assert_eq!(ids(&run(&["dedup", &table]).stdout), ["\"a\"", "\"b\""]);
}

#[test]
fn an_import_counts_empty_documents() {
    let serving = Serving::start();
    let arguments = ["import", "-", "--url", &serving.url, "--json"];
    let ended = akin_with_stdin(&arguments, with_empty_documents().as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let counts = ["created", "empty", "short", "failed"].map(|name| &report["documents"][name]);
    assert_eq!(counts, [&json!(2), &json!(3), &json!(0), &json!(0)]);
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn invalid_records_fail_are_left_out_or_copied() {
    let dir = tempfile::tempdir().unwrap();
    let broken = ["{\"id\":\"b\",\"text\":7}", "{broken", "{\"id\":\"d\"}"];
    let [first, last] = ["a", "e"].map(|id| format!("{{\"id\":\"{id}\",\"text\":\"{id}\"}}"));
    let lines = [&first, broken[0], broken[1], broken[2], &last].join("\n") + "\n";
    let (docs, out) = (put(dir.path(), "docs.jsonl", &lines), dir.path().join("out"));
    let out = out.to_str().unwrap();
    let gold = put(dir.path(), "gold", "a\te\n");
    for command in
        [&["dedup", &docs][..], &["pairs", &docs], &["evaluate", &docs, &gold], &["sketch", &docs]]
    {
        let failed = akin(&[command, &["-o", out]].concat());
        assert_eq!(failed.code, Some(1), "{command:?}");
        for line in [":2: ", ":3: ", ":4: ", "as documents: 3", "--on-invalid"] {
            assert!(failed.stderr.contains(line), "{command:?}: {}", failed.stderr);
        }
        assert!(!fs::exists(out).unwrap(), "{command:?}");
        let skipped = run(&[command, &["-o", out, "--force", "--on-invalid", "skip"]].concat());
        assert!(skipped.stderr.contains("as documents: 3"), "{command:?}: {}", skipped.stderr);
        assert!(fs::metadata(out).unwrap().len() > 0 || command[0] == "pairs");
        if command[0] == "dedup" {
            assert_eq!(fs::read_to_string(out).unwrap(), format!("{first}\n{last}\n"));
        } else {
            let refused = akin(&[command, &["--on-invalid", "keep"]].concat());
            assert!(refused.stderr.contains("keep is only for dedup"), "{}", refused.stderr);
        }
        fs::remove_file(out).unwrap();
    }
    assert_eq!(run(&["dedup", &docs, "--on-invalid", "keep"]).stdout, lines);
    // What cannot be told from the rest cannot be copied.
    let array = put(dir.path(), "docs.json", "[{\"id\":\"a\",\"text\":\"a\"}, 7]");
    assert_eq!(akin(&["dedup", &array, "--on-invalid", "keep"]).code, Some(1));
    let server = Server::start();
    for (on_invalid, code) in [("fail", 1), ("skip", 0)] {
        let arguments = ["import", &docs, "--url", &server.url(), "--on-invalid", on_invalid];
        let ended = akin(&arguments);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        // This server takes whatever is JSON.
        assert!(ended.stdout.contains("4 accepted") && ended.stdout.contains("1 failed"));
    }
}

#[test]
fn short_texts_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let docs = put(
        dir.path(),
        "docs.jsonl",
        format!("{{\"id\":\"short\",\"text\":\"a b\"}}\n{}", with_empty_documents()),
    );
    let kept = run(&["dedup", &docs, "--min-words", "3"]);
    assert_eq!(ids(&kept.stdout), ["1", "2", "3", "5"]);
    assert!(kept.stderr.contains("too few words, left out: 1"), "{}", kept.stderr);
    assert_eq!(ids(&run(&["dedup", &docs, "--min-words", "2"]).stdout).len(), 5);
    let summary = run(&["sketch", &docs, "--min-words", "3", "--json", "-o", &format!("{docs}.x")]);
    let expected = "{\"documents\":2,\"empty\":3,\"short\":1,\"failed\":0,\"files_skipped\":0}\n";
    assert_eq!(summary.stdout, expected);
    let server = Server::start();
    let report = run(&["import", &docs, "--url", &server.url(), "--min-words", "3", "--json"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!((&report["documents"]["short"], server.documents().len()), (&json!(1), 5));
}

#[test]
fn files_in_unknown_formats_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "in/docs.jsonl", with_empty_documents());
    put(dir.path(), "in/paper.pdf", "%PDF-1.7");
    put(dir.path(), "in/blank.txt", " \n");
    let root = dir.path().join("in");
    let kept = run(&["dedup", root.to_str().unwrap()]);
    assert!(kept.stderr.contains("in an unknown format: 1; the first is"), "{}", kept.stderr);
    assert!(kept.stdout.contains("blank.txt"), "{}", kept.stdout);
}

#[test]
fn a_readable_file_that_is_not_read_fails_the_command() {
    for (name, content, why) in [
        ("b.jsonl", &b"{\"id\":\"b\",\"text\":\"caf\xe9\"}\n"[..], "b.jsonl:1: "),
        ("b", b"{\"id\":\"b\",\"text\":\"caf\xe9\"}\n", "b:1: "),
        ("latin", b"un caf\xe9", "latin: it is not UTF-8"),
        ("b.csv", b"id,text\nb,caf\xe9\n", "b.csv:2: it is not UTF-8"),
        ("data.arrow", b"ARROW1\0\0", "data.arrow: it is Arrow"),
        ("b.jsonl.xz", b"\xfd7zXZ\0", "b.jsonl.xz: it is compressed by xz"),
        ("nul.txt", b"a\0b", "nul.txt: it is not text"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "docs.jsonl", with_empty_documents());
        put(dir.path(), name, content);
        put(dir.path(), "photo.jpg", b"\xff\xd8\xff\xe0\0");
        let root = dir.path().to_str().unwrap();
        let ended = akin(&["dedup", root]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{name}: {}", ended.stderr);
        let kept = run(&["dedup", root, "--on-invalid", "skip"]);
        assert_eq!(ids(&kept.stdout).len(), 4, "{name}");
        assert!(kept.stderr.contains("in an unknown format: 1; the first is"), "{}", kept.stderr);
    }
}

#[test]
fn equal_failures_are_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "in/docs.jsonl", with_empty_documents());
    for n in 0..20 {
        put(dir.path(), &format!("in/{n}.json"), format!("{{\"name{n}\": \"x\"}}"));
    }
    let root = dir.path().join("in");
    let root = root.to_str().unwrap();
    let server = Server::start();
    for arguments in [
        &["import", root, "--url", &server.url()][..],
        &["pairs", root],
        &["demo", root, "--quiet"],
    ] {
        let said = akin(arguments).stderr;
        assert_eq!(said.matches("there is no column 'text'").count(), 1, "{arguments:?}: {said}");
        assert!(said.contains("failed: 19 more"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_demo_names_invalid_records_and_succeeds() {
    let dir = tempfile::tempdir().unwrap();
    let docs = put(dir.path(), "docs.jsonl", with_empty_documents() + "{\"id\":6}\n");
    let ended = akin(&["demo", &docs, "--quiet"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("2 accepted"), "{}", ended.stdout);
    assert!(ended.stderr.contains("docs.jsonl:"), "{}", ended.stderr);
    let refused = akin(&["demo", &docs, "--on-invalid", "skip"]);
    assert_eq!(refused.code, Some(2), "it would have no effect: {}", refused.stderr);
}

/// The HTTP API refuses the same numbers.
#[test]
fn ids_are_strings_or_integers_of_64_bits() {
    let dir = tempfile::tempdir().unwrap();
    let line = |id: &str| format!("{{\"id\":{id},\"text\":\"{WORDS}\"}}\n");
    let docs =
        put(dir.path(), "good", line("-9223372036854775808") + &line("18446744073709551615"));
    assert_eq!(run(&["pairs", &docs]).stdout.lines().count(), 1);
    for id in ["1.5", "1e3", "18446744073709551616", "true", "[1]"] {
        let docs = put(dir.path(), "bad", line(id));
        let said = akin(&["pairs", &docs]).stderr;
        assert!(said.contains("string or an integer"), "{id}: {said}");
    }
}

#[test]
fn malformed_lines_are_not_called_bodies() {
    let dir = tempfile::tempdir().unwrap();
    let docs = put(dir.path(), "docs.jsonl", "{\"id\": 1, \"text\": \"a b c\"}\n{\"id\": 2,\n");
    let said = akin(&["pairs", &docs]).stderr;
    assert!(said.contains(":2: malformed JSON: EOF") && !said.contains("body"), "{said}");
}

#[test]
fn the_first_document_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let lines = |id: &dyn Fn(usize) -> Value| -> String {
        let line = |n| json!({"id": id(n), "text": WORDS, "n": n}).to_string() + "\n";
        (1..13).rev().map(line).collect()
    };
    let kept = |name: &str, lines: String, options: &[&str]| {
        let docs = put(dir.path(), name, lines);
        let written = run(&[&["dedup", &docs], options].concat()).stdout;
        serde_json::from_str::<Value>(&written).unwrap()["n"].as_u64().unwrap()
    };
    let number = |n: usize| json!(n);
    assert_eq!(kept("none", lines(&|_| Value::Null), &[]), 12);
    assert_eq!(kept("numbers", lines(&number), &[]), 12);
    for threads in ["1", "3"] {
        let by_id = ["--keep", "id", "--threads", threads, "--memory-max-mib", "1"];
        assert_eq!(kept("numbers", lines(&number), &by_id), 1);
        assert_eq!(kept("names", lines(&|n| format!("d{n}").into()), &by_id), 1);
        // The places of lines count as numbers, too: the second line comes before the tenth.
        assert_eq!(kept("places", lines(&|_| Value::Null), &by_id), 12);
    }
}

#[test]
fn columns_may_lie_within_others() {
    let dir = tempfile::tempdir().unwrap();
    let line = |n: usize, text: &str| {
        json!({"meta": {"url": n, "lang": "en"}, "doc": {"text": text, "n": n}}).to_string() + "\n"
    };
    let docs = put(dir.path(), "docs.jsonl", line(7, WORDS) + &line(8, WORDS) + &line(9, "else"));
    let columns = ["--text-column", "doc.text", "--id-column", "meta.url"];
    let pairs = run(&[&["pairs", &docs], &columns[..]].concat());
    assert_eq!(pairs.stdout, "7\t8\t1.000000000\n");
    let kept = run(&[&["dedup", &docs, "--keep", "doc.n"], &columns[..]].concat());
    assert_eq!(kept.stdout, line(8, WORDS) + &line(9, "else"));
    let server = Server::start();
    run(&[&["import", &docs, "--url", &server.url()], &columns[..]].concat());
    let metadata = json!({"meta": {"lang": "en"}, "doc": {"n": 9}});
    assert_eq!(server.documents()[2], json!({"id": "9", "text": "else", "metadata": metadata}));

    let wrapped =
        json!({"page": 1, "out": {"data": [{"id": 1, "text": WORDS}, {"id": 2, "text": WORDS}]}});
    let docs = put(dir.path(), "docs.json", wrapped.to_string());
    assert_eq!(run(&["pairs", &docs, "--records", "out.data"]).stdout, "1\t2\t1.000000000\n");
    let wrapped = put(dir.path(), "plain.json", wrapped["out"].to_string());
    let hinted = akin(&["pairs", &wrapped]);
    assert!(hinted.stderr.contains("by --records data"), "{}", hinted.stderr);
    assert_eq!(run(&["dedup", &wrapped, "--records", "data"]).stdout.lines().count(), 1);
}

#[test]
fn pipes_are_deduplicated_and_urls_have_a_hint() {
    let ended = akin_with_stdin(&["dedup", "-"], with_empty_documents().as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ids(&ended.stdout), ["1", "2", "3", "5"]);
    for (url, command) in [
        ("s3://bucket/a.jsonl.gz", "`aws s3 cp s3://bucket/a.jsonl.gz - | akin … -`"),
        ("https://a.example/b", "`curl -sfL https://a.example/b | akin … -`"),
    ] {
        for command_of in ["dedup", "pairs", "import", "demo", "sketch"] {
            let ended = akin(&[command_of, url]);
            assert_eq!(ended.code, Some(1), "{command_of} {url}");
            assert!(ended.stderr.contains("is a URL"), "{}", ended.stderr);
            assert!(ended.stderr.contains(command), "{}", ended.stderr);
        }
    }
}
