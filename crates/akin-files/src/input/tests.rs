//! The findings of the readers in files of every format.

mod cut;

use std::fs;
use std::sync::atomic::AtomicU64;

use serde_json::{Value, json};

use super::formats::{Format, JSONL};
use super::open::COMPRESSIONS;
use super::{Event, FORMATS, InputCopies, Selection, read_inputs};

/// The documents of a file, and its failures.
pub fn read_with(selection: &Selection) -> (Vec<Value>, Vec<String>) {
    let (mut documents, mut failures) = (Vec::new(), Vec::new());
    let read = read_inputs(selection, &AtomicU64::new(0), &mut |event| {
        match event {
            Event::Item(item) => match item.json() {
                Ok(json) => documents.push(serde_json::from_slice(&json).unwrap_or(Value::Null)),
                Err(reason) => failures.push(reason),
            },
            Event::Failed { reason, .. } => failures.push(reason),
            _ => {}
        }
        Ok(())
    });
    assert!(read.is_ok());
    (documents, failures)
}

fn read(name: &str, bytes: &[u8]) -> (Vec<Value>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    read_with(&Selection { paths: vec![path], ..Selection::default() })
}

#[test]
fn marks_at_the_joints_of_files_are_not_read() {
    let expected = [json!({"id": "a", "text": "one"}), json!({"id": "b", "text": "two, \"3\""})];
    for (name, first, second) in [
        (
            "x.jsonl",
            "{\"id\":\"a\",\"text\":\"one\"}",
            "{\"id\":\"b\",\"text\":\"two, \\\"3\\\"\"}",
        ),
        (
            "x.json",
            "{\n\"id\":\"a\",\"text\":\"one\"}",
            "{\n\"id\":\"b\",\"text\":\"two, \\\"3\\\"\"}",
        ),
        ("x.csv", "text,id\none,a", "text,id\n\"two, \"\"3\"\"\",b"),
    ] {
        let file = format!("\u{feff}{first}\n\u{feff}{second}\n");
        assert_eq!(read(name, file.as_bytes()), (expected.to_vec(), vec![]), "{name}");
    }
    let quoted = "text,id\none,a\n\u{feff}\"two \"\"3\"\"\",b\n";
    assert_eq!(read("x.csv", quoted.as_bytes()).0[1]["text"], "two \"3\"");
}

#[test]
fn the_separator_of_a_table_is_that_of_the_column_of_texts() {
    for (name, table) in [
        ("x.csv", "text;a,b,c\none, two;1,2,3\n"),
        ("x", "text;a,b,c\none, two;1,2,3\n"),
        ("x.tsv", "text\ta;b;c\none, two\t1;2;3\n"),
    ] {
        let (documents, failures) = read(name, table.as_bytes());
        assert_eq!((documents.len(), failures), (1, vec![]), "{name}");
        assert_eq!(documents[0]["text"], "one, two", "{name}");
    }
}

#[test]
fn work_grows_with_the_columns_and_not_with_their_square() {
    let names: Vec<String> = (0..40_000).map(|n| format!("column{n}")).collect();
    let cells = vec!["x"; names.len()];
    let table = format!("text,{}\nwords,{}\n", names.join(","), cells.join(","));
    let (documents, failures) = read("wide.csv", table.as_bytes());
    assert_eq!((documents.len(), failures.len()), (1, 0));
    assert_eq!(documents[0]["metadata"].as_object().unwrap().len(), names.len());
}

#[test]
fn a_crawlers_own_records_are_not_documents() {
    let record = |kind: &str, uri: &str, content: &str, block: &str| {
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x>\r\nWARC-Target-URI: {uri}\r\n\
             Content-Type: {content}\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    };
    let http = "application/http; msgtype=response";
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>A page.";
    let warc = [
        record("warcinfo", "x", "application/warc-fields", "software: Wget\r\n"),
        record("request", "<http://a.example/>", http, "GET / HTTP/1.1\r\n\r\n"),
        record("response", "<http://a.example/>", http, answer),
        record("response", "dns:a.example", "text/dns", "20240518 a.example. 60 IN A 10.0.0.1"),
        record("resource", "dns:a.example", "text/plain", "a.example. 60 IN A 10.0.0.1"),
        record("resource", "metadata://gnu.org/software/wget/warc/wget.log", "text/plain", "log"),
    ];
    let (documents, failures) = read("crawl.warc", warc.concat().as_bytes());
    assert_eq!(failures, Vec::<String>::new());
    let metadata = json!({"url": "http://a.example/"});
    assert_eq!(documents, [json!({"id": "<urn:x>", "text": "A page.", "metadata": metadata})]);
}

#[test]
fn pages_are_extracted_once() {
    let record = |n: usize| {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Page \"{n}\".");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:{n}>\r\n\
             Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{answer}\r\n\r\n",
            answer.len()
        )
    };
    let broken = "WARC/1.0\r\nContent-Length: many\r\n\r\nx\r\n\r\n";
    let warc = [record(1), broken.to_owned(), record(2)].concat();
    let packed = zstd::encode_all(warc.as_bytes(), 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let paths = ["a.warc", "b.html", "c.warc.zst"].map(|name| dir.path().join(name));
    let write = |files: [&[u8]; 3]| {
        paths.iter().zip(files).for_each(|(path, file)| fs::write(path, file).unwrap());
    };
    let mut selection = Selection { paths: paths.to_vec(), ..Selection::default() };
    write([warc.as_bytes(), b"<title>T</title><p>A page.", &packed]);
    selection.keep_copies(InputCopies::new(tempfile::tempfile().unwrap(), 1 << 20, true));
    let first = read_with(&selection);
    assert_eq!((first.0.len(), first.1.len()), (5, 2));
    // Only the copies have the pages now.
    write([b"", b"", b""]);
    assert_eq!(read_with(&selection), first);
    write([warc.as_bytes(), b"<p>A page.", &packed]);
    selection.keep_copies(InputCopies::new(tempfile::tempfile().unwrap(), 40, true));
    assert_eq!(read_with(&selection).0.len(), 5);
    write([b"", b"<p>Another.", b""]);
    let again = read_with(&selection);
    assert_eq!((again.0.len(), &again.0[0]["text"]), (1, &json!("Another.")), "without room");
}

/// To read texts again takes no longer than to copy them.
#[test]
fn texts_of_a_crawl_are_not_copied() {
    let record = |kind: &str, block: &str| {
        let length = block.len();
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: text/plain\r\n\
             Content-Length: {length}\r\n\r\n{block}\r\n\r\n"
        )
    };
    let wet = record("warcinfo", "software: x") + &record("conversion", "A text.");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wet");
    fs::write(&path, wet).unwrap();
    let mut selection = Selection { paths: vec![path.clone()], ..Selection::default() };
    let spool = tempfile::tempfile().unwrap();
    selection.keep_copies(InputCopies::new(spool.try_clone().unwrap(), 1 << 20, true));
    assert_eq!(read_with(&selection).0.len(), 1);
    assert_eq!(spool.metadata().unwrap().len(), 0);
}

#[test]
fn kept_pages_count_the_bytes_of_their_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["a.html", "b.warc", "c.jsonl.zst"].map(|name| dir.path().join(name));
    let request = "WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 1\r\n\r\nx\r\n\r\n";
    let line = format!("{{\"text\": \"{}\"}}\n", "word ".repeat(20_000));
    let packed = zstd::encode_all(line.as_bytes(), 1).unwrap();
    let page = format!("<p>{}</p>", "<b>word</b> ".repeat(20_000));
    for (path, bytes) in paths.iter().zip([page.as_bytes(), request.as_bytes(), &packed]) {
        fs::write(path, bytes).unwrap();
    }
    let mut selection = Selection { paths: paths.to_vec(), ..Selection::default() };
    selection.keep_copies(InputCopies::new(tempfile::tempfile().unwrap(), 1 << 20, true));
    let bytes = || {
        let bytes_read = AtomicU64::new(0);
        assert!(read_inputs(&selection, &bytes_read, &mut |_| Ok(())).is_ok());
        Some(bytes_read.into_inner())
    };
    assert_eq!(bytes(), selection.bytes(|| true));
    assert_eq!(bytes(), selection.bytes(|| true), "of the copies");
}

#[test]
fn a_copy_is_unpacked_as_often_as_its_input() {
    let dir = tempfile::tempdir().unwrap();
    let packed = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    let line = b"{\"id\": \"a\", \"text\": \"one\"}\n";
    let path = dir.path().join("a.jsonl.zst.zst");
    fs::write(&path, packed(&packed(line))).unwrap();
    let mut selection = Selection { paths: vec![path.clone()], ..Selection::default() };
    selection.reading.format = Some(&JSONL);
    selection.keep_copies(InputCopies::new(tempfile::tempfile().unwrap(), 1 << 20, true));
    let first = read_with(&selection);
    assert_eq!(first.0, [Value::Null], "the line is noise");
    assert_eq!(read_with(&selection), first);
}

#[test]
fn the_page_of_formats_has_each_known_format() {
    let page = include_str!("../../../../docs/formats.md");
    for Format { name, extensions, magic, .. } in FORMATS {
        let name = format!("(`{name}`").replace("(`tsv`", "`tsv`");
        let is_of_format = |line: &&str| line.starts_with("| ") && line.contains(&name);
        let row = page.lines().find(is_of_format).unwrap_or_else(|| panic!("{name} has no row"));
        for extension in *extensions {
            assert!(row.contains(&format!("`.{extension}`")), "{row} lacks {extension}");
        }
        let magic = magic.map(|magic| format!("`{}`", magic.escape_ascii()));
        assert!(magic.is_none_or(|magic| row.ends_with(&format!(" {magic} |"))), "{row}");
    }
    for compression in &COMPRESSIONS {
        assert!(page.contains(&format!("`{}`", compression.extension)), "a compression");
    }
}
