//! Every format that is read, and what is refused.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::inputs::{gz, put};
use crate::server::Server;
use crate::{Ended, akin, akin_with_stdin};

fn zst(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 1).unwrap()
}

/// Imports one file of this content, under a name that says nothing.
pub fn import(data: &[u8], options: &[&str]) -> (Vec<Value>, Ended) {
    let dir = tempfile::tempdir().unwrap();
    let file = put(dir.path(), "data", data);
    let server = Server::start();
    let ended = akin(&[&["import", &file, "--url", &server.url()], options].concat());
    let mut documents = server.documents();
    for document in &mut documents {
        if let Some(id) = document["id"].as_str() {
            document["id"] = json!(id.replace(&file, "data"));
        }
    }
    (documents, ended)
}

/// What is imported, plain and compressed.
#[track_caller]
pub fn imported(data: &[u8], options: &[&str]) -> Vec<Value> {
    let (documents, ended) = import(data, options);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for packed in [gz(data), zst(data)] {
        assert_eq!(import(&packed, options).0, documents);
    }
    documents
}

#[track_caller]
pub fn refused(data: &[u8], options: &[&str], why: &str) {
    let (documents, ended) = import(data, options);
    assert_eq!((documents.len(), ended.code), (0, Some(1)), "{why}: {}", ended.stderr);
    assert!(ended.stderr.contains(why), "{why} is not in {}", ended.stderr);
}

#[test]
fn a_file_of_c4_is_imported() {
    let line = |n: usize| {
        let url = format!("https://a.example/{n}");
        json!({"text": format!("page {n}"), "timestamp": "2019-04-25T12:57:54Z", "url": url})
    };
    let lines: String = (0..3).map(|n| line(n).to_string() + "\n").collect();
    let documents = imported(lines.as_bytes(), &[]);
    let metadata = json!({"timestamp": "2019-04-25T12:57:54Z", "url": "https://a.example/1"});
    assert_eq!(documents.len(), 3);
    assert_eq!(documents[1], json!({"id": "data:2", "text": "page 1", "metadata": metadata}));
    let options = ["--id-column", "url", "--metadata-columns", "timestamp"];
    let documents = imported(lines.as_bytes(), &options);
    let metadata = json!({"timestamp": "2019-04-25T12:57:54Z"});
    let expected = json!({"id": "https://a.example/0", "text": "page 0", "metadata": metadata});
    assert_eq!(documents[0], expected);
    let none = imported(lines.as_bytes(), &["--metadata-columns", ""]);
    assert_eq!(none[0], json!({"id": "data:1", "text": "page 0"}));
}

#[test]
fn json_arrays_and_multiline_objects_are_read() {
    let expected = [json!({"id": "a", "text": "x [\"{ y"}), json!({"id": "7", "text": "z"})];
    let objects =
        ["{\n \"id\": \"a\",\r\n \"text\": \"x [\\\"{ y\"}", "{\n\"id\":7,\"text\":\"z\" }"];
    let expected: Vec<Value> = expected.into_iter().rev().collect();
    for text in [
        format!("[\n{} ,\n{}\n]\n", objects[0], objects[1]),
        format!("{}\n{}", objects[0], objects[1]),
    ] {
        let documents = imported(text.as_bytes(), &[]);
        assert_eq!(documents, expected, "{text}");
    }
    for (text, why) in [
        ("[{\"text\":\"x\"}", "data:2: the array is not closed"),
        ("[{\"text\":\"x\"} {\"text\":\"y\"}]", "data:2: an object is expected"),
        ("[{\"text\":\"x\"}] {}", "data:2: there is more after the end"),
        ("[{\"text\":\"x\"},7]", "data:2: an object is expected"),
        ("{\n\"text\":\"x\"}\n{\"text\":", "data:2: the object is not closed"),
    ] {
        let (documents, ended) = import(text.as_bytes(), &[]);
        assert_eq!((documents.len(), ended.code), (1, Some(1)), "{text}");
        assert!(ended.stderr.contains(why), "{why}: {}", ended.stderr);
    }
}

#[test]
fn texts_of_several_columns_and_of_chats_are_one_text() {
    let table = b"title,body,id\nShip,It sails.,a\n,Only a body.,b\n";
    let both = ["--text-column", "title,body"];
    let expected = json!([{"id": "a", "text": "Ship\n\nIt sails."},
        {"id": "b", "text": "Only a body."}]);
    assert_eq!(json!(imported(table, &both)), expected);
    let table = b"id,\"title, in full\",body,n\na,Ship,It sails.,1\n";
    let options = ["--format", "csv", "--metadata-columns", ""];
    let quoted = [&options[..], &["--text-column", "\"title, in full\",body"]].concat();
    let expected = json!([{"id": "a", "text": "Ship\n\nIt sails."}]);
    assert_eq!(json!(imported(table, &quoted)), expected);
    let (_, ended) = import(table, &["--text-column", "\"title"]);
    assert!(ended.stderr.contains("the double quotes are not closed"), "{}", ended.stderr);
    assert_eq!(ended.code, Some(2));
    let chat = br#"{"id": "c", "messages": [{"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": "Here."}]}"#;
    let chosen = ["--text-column", "messages", "--roles", "assistant"];
    assert_eq!(json!(imported(chat, &chosen)), json!([{"id": "c", "text": "Here."}]));
    let usual = String::from_utf8_lossy(chat).replace("messages", "text").replace("\n       ", "");
    let expected = json!([{"id": "c", "text": "Where is it?\n\nHere."}]);
    assert_eq!(json!(imported(usual.as_bytes(), &[])), expected);
    let of_role = imported(usual.as_bytes(), &chosen[2..]);
    assert_eq!(json!(of_role), json!([{"id": "c", "text": "Here."}]));
    let deduplicated = akin_with_stdin(&["dedup", "-"], usual.as_bytes());
    assert_eq!(deduplicated.stdout.trim_end(), usual, "{}", deduplicated.stderr);

    let dir = tempfile::tempdir().unwrap();
    let line = |id: &str, title: &str, chat: &str| {
        let chat = json!([{"role": "user", "content": chat}]);
        json!({"id": id, "title": title, "messages": chat}).to_string() + "\n"
    };
    let (first, second) = (line("1", "one two", "three four"), line("2", "One, two", "THREE four"));
    let lines = [&*first, &*second, &*line("3", "two", "three four")].concat();
    let file = put(dir.path(), "chats.jsonl", &lines);
    let columns = ["--text-column", "title,messages"];
    let kept = akin(&[&["dedup", &file, "--threshold", "1"], &columns[..]].concat());
    assert_eq!(kept.stdout, lines.replace(&second, ""), "{}", kept.stderr);
    let words = "one two three four five six seven eight nine ten eleven twelve";
    let long =
        put(dir.path(), "long.jsonl", [line("1", words, "a"), line("2", words, "b")].concat());
    let cut = akin(&[&["dedup", &long, "--spans", "10"], &columns[..]].concat());
    assert!(cut.stderr.contains("texts of several columns"), "{}", cut.stderr);
    assert_eq!((cut.code, cut.stdout.as_str()), (Some(1), ""));
}

#[test]
fn tables_are_detected_from_their_first_line() {
    let expected = [
        json!({"id": "a", "text": "one, \"two\"\nthree", "metadata": {"lang": "en"}}),
        json!({"id": "b", "text": "é", "metadata": {"lang": ""}}),
    ];
    for separator in [",", "\t", ";", "|"] {
        let rows = ["id text lang", "a \"one, \"\"two\"\"\nthree\" en", "b é "];
        // The spaces within a text are no separators.
        let rows = rows.map(|row| row.replace(", ", ",_").replace(' ', separator));
        let table = rows.join("\r\n").replace(",_", ", ");
        assert_eq!(imported(table.as_bytes(), &[]), expected, "{table}");
    }
    let documents = imported(b"n;body\n1;x\n", &["--text-column", "body", "--id-column", "n"]);
    assert_eq!(documents, [json!({"id": "1", "text": "x"})]);
    let documents = imported(b"body;n\nx;1\n", &["--text-column", "body"]);
    assert_eq!(documents, [json!({"id": "data:2", "text": "x", "metadata": {"n": "1"}})]);
    let options = ["--metadata-columns", "lang"];
    refused(b"id,text\na,b\n", &options, "data:1: there is no column 'lang' but id, text");
}

#[test]
fn texts_in_other_encodings_are_read() {
    let text = "id,text\na,déjà vu\n";
    let expected = [json!({"id": "a", "text": "déjà vu"})];
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(imported(&latin, &["--encoding", "latin1"]), expected);
    assert_eq!(imported(&wide, &["--encoding", "utf-16le"]), expected);
    assert_eq!(imported(&[b"\xff\xfe", &wide[..]].concat(), &[]), expected);
    assert_eq!(imported(&[b"\xef\xbb\xbf", text.as_bytes()].concat(), &[]), expected);
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(imported(&[b"\xfe\xff", &big[..]].concat(), &[]), expected);
    refused(&latin, &[], "not UTF-8: name its encoding by --encoding");
    refused(&wide, &[], "if it is UTF-16, name that by --encoding");
    let prose: Vec<u8> = "un café au lait".chars().map(|c| c as u8).collect();
    let documents = imported(&prose, &["--encoding", "windows-1252"]);
    assert_eq!(documents, [json!({"id": "data", "text": "un café au lait"})]);
}

#[test]
fn unknown_formats_are_refused_with_advice() {
    for (data, why) in [
        (&b"%PDF-1.4 text"[..], "extract its text first"),
        (b"PK\x03\x04 text", "unpack it"),
        (b"BZh91AY", "unpack it"),
        (b"\x7fELF\0\0", "it is not text"),
        (b"<?xml version=\"1.0\"?><pages>", "it is XML"),
        (b"{\"title\":\"t\",\"body\":\"b\"}\n", "there is no column 'text' but title, body"),
        (b"", "there was nothing to import"),
    ] {
        refused(data, &[], why);
        refused(&gz(data), &[], why);
    }
    let cut = gz("{\"id\":\"a\",\"text\":\"x\"}\n".repeat(9000).as_bytes());
    let (_, ended) = import(&cut[..cut.len() - 9], &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("failed: ") && ended.stderr.contains("data"), "{}", ended.stderr);
    let ended = akin_with_stdin(&["import", "-", "--url", &Server::start().url()], b"some words");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("--format text reads it as a single text"), "{}", ended.stderr);
}

/// Two pages of words that are nearly the same, and one that is not, in a file of this content.
fn corpus(dir: &TempDir, name: &str, write: impl Fn(&[(String, String)]) -> Vec<u8>) -> String {
    let words = |from: usize| (from..from + 60).map(|n| format!("w{n}")).collect::<Vec<_>>();
    let page = |n: usize, from: usize| (format!("p{n}"), words(from).join(" "));
    put(dir.path(), name, write(&[page(1, 0), page(2, 1), page(3, 500)]))
}

#[test]
fn offline_commands_read_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let table = corpus(&dir, "table", |pages| {
        let rows = pages.iter().map(|(id, text)| format!("{id}\t{text}\tx\n"));
        [b"url\tbody\tlang\n".to_vec(), rows.collect::<String>().into_bytes()].concat()
    });
    let lines = corpus(&dir, "lines", |pages| {
        let line = |(id, text): &(String, String)| json!({"url": id, "body": text, "lang": "x"});
        let lines: Vec<String> = pages.iter().map(|page| format!("{}\n", line(page))).collect();
        gz(lines.concat().as_bytes())
    });
    let columns = ["--id-column", "url", "--text-column", "body"];
    let gold = put(dir.path(), "gold.tsv", "p1\tp2\n");
    for file in [&table, &lines] {
        let run = |arguments: &[&str]| {
            let ended = akin(&[arguments, &columns[..]].concat());
            assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
            ended.stdout
        };
        assert!(run(&["pairs", file]).starts_with("p1\tp2\t0.9"));
        let kept = run(&["dedup", file]);
        let kept: Vec<Value> =
            kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names =
            kept.iter().map(|line| if line["url"].is_null() { &line["id"] } else { &line["url"] });
        assert_eq!(names.collect::<Vec<_>>(), ["p1", "p3"]);
        // Further fields are kept along.
        assert!(kept[0]["lang"] == "x" || kept[0]["metadata"]["lang"] == "x", "{}", kept[0]);
        assert!(run(&["evaluate", file, &gold, "--at", "0.8"]).contains("1.0000  1.0000  1.0000"));
        assert!(run(&["demo", file, "--quiet"]).contains("3 accepted"));
    }
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for command in ["pairs", "dedup"] {
        let ended = akin(&[command, empty.to_str().unwrap()]);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("there is no document in the inputs"), "{}", ended.stderr);
    }
}
