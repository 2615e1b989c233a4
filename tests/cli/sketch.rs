//! Sketches and keys as Parquet, from files and from a server. What engines make of them is tested
//! by tests/join.sh.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};

use crate::inputs::put;
use crate::portable::breaking_off;
use crate::serving::Serving;
use crate::{akin, akin_with_stdin};

/// Every page has an edition with one more word, and one has a copy.
fn documents() -> String {
    let words = |page: usize| (0..50).map(|n| format!("p{page}w{n}")).collect::<Vec<_>>().join(" ");
    let editions = (0..30).flat_map(|page| {
        [("a", words(page)), ("b", words(page) + " more")]
            .map(|(edition, text)| json!({"id": format!("{page}{edition}"), "text": text}))
    });
    let others =
        [json!({"id": "copy", "text": words(7)}), json!({"id": "tokens", "tokens": ["x"]})];
    editions.chain(others).map(|document| document.to_string() + "\n").collect()
}

fn rows(path: &Path) -> BTreeMap<String, Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| (text(field(&row, "id")), row)).collect()
}

fn field<'r>(row: &'r Row, name: &str) -> &'r Field {
    row.get_column_iter().find(|(column, _)| *column == name).map(|(_, field)| field).unwrap()
}

fn text(field: &Field) -> String {
    match field {
        Field::Str(text) => text.clone(),
        other => panic!("{other} is no text"),
    }
}

fn list(row: &Row, name: &str) -> Vec<Field> {
    match field(row, name) {
        Field::ListInternal(list) => list.elements().to_vec(),
        other => panic!("{other} is no list"),
    }
}

#[track_caller]
fn done(arguments: &[&str]) -> String {
    let ended = akin(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended.stderr
}

fn described(path: &Path) -> Value {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let own = metadata.iter().find(|entry| entry.key == "akin").unwrap();
    serde_json::from_str(own.value.as_ref().unwrap()).unwrap()
}

#[test]
fn rows_have_the_columns_of_a_join() {
    let dir = tempfile::tempdir().unwrap();
    let docs = put(dir.path(), "docs", documents() + "{\"id\": \"empty\", \"text\": \"!\"}\n");
    let path = dir.path().join("out.parquet");
    let out = path.to_str().unwrap();
    let said = done(&["sketch", &docs, "--sets", "--threshold", "0.9", "-o", out]);
    assert!(
        said.contains("documents sketched: 62\ndocuments with nothing to compare, left out: 1"),
        "{said}"
    );
    assert!(said.contains("one of 5 bands"), "{said}");

    let rows = rows(&path);
    assert_eq!(rows.len(), 62);
    for row in rows.values() {
        assert_eq!((list(row, "sketch").len(), list(row, "bands").len()), (128, 5), "{row}");
        assert_eq!(field(row, "set_size"), &Field::UInt(list(row, "set").len() as u32));
    }
    let (one, copy, edition) = (&rows["7a"], &rows["copy"], &rows["7b"]);
    let of = |row: &Row, name: &str| field(row, name).clone();
    for name in ["fingerprint", "sketch", "bands", "set"] {
        assert_eq!(of(one, name), of(copy, name), "{name} of equal texts");
    }
    assert_ne!(of(one, "fingerprint"), of(edition, "fingerprint"));
    let shared = list(edition, "set").iter().filter(|e| list(one, "set").contains(e)).count();
    assert_eq!((shared, list(one, "set").len(), list(edition, "set").len()), (48, 48, 49));
    assert!(list(one, "bands").iter().any(|band| list(edition, "bands").contains(band)));

    let description = described(&path);
    assert_eq!((&description["bands"], &description["threshold"]), (&json!(5), &json!(0.9)));
    // With these settings the same sketches come again, without sets.
    let settings = put(dir.path(), "settings", description["settings"].to_string());
    let again = dir.path().join("again.parquet");
    let more = ["--settings", &settings, "-o", again.to_str().unwrap(), "--json"];
    let ended = akin_with_stdin(&[&["sketch", "-"], &more[..]].concat(), documents().as_bytes());
    let expected = "{\"documents\":62,\"empty\":0,\"short\":0,\"failed\":0,\"files_skipped\":0}\n";
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
    for (id, row) in self::rows(&again) {
        assert_eq!(of(&row, "sketch"), of(&rows[&id], "sketch"));
        assert!(row.get_column_iter().all(|(column, _)| column != "set"));
    }
}

#[test]
fn a_collection_has_the_rows_of_its_documents() {
    let serving = Serving::start();
    serving.wait_until_ready();
    let dir = tempfile::tempdir().unwrap();
    let docs = put(dir.path(), "docs.jsonl", documents());
    // Slots of two bytes, and a seed that is no secret.
    let settings = json!({"sketch": {"bits": 16, "seed": 7}, "shingles": {"size": 2}});
    let settings = put(dir.path(), "settings.json", settings.to_string());
    let within = ["--collection", "pages", "--url", &serving.url];
    done(&[&["import", &docs, "--settings", &settings], &within[..]].concat());

    let path = |name: &str| dir.path().join(name);
    let [of_files, of_server, whole] = ["files.parquet", "server.parquet", "whole.json"].map(path);
    let [files, server, settings] = [&of_files, &of_server, &whole].map(|p| p.to_str().unwrap());
    let export = ["export", "--sets", "--format", "parquet", "--settings", settings, "-o", server];
    done(&[&export[..], &within[..]].concat());
    done(&["sketch", &docs, "--sets", "--settings", settings, "-o", files]);
    assert_eq!(rows(&of_server), rows(&of_files));
    assert_eq!(described(&of_server), described(&of_files));

    let before = fs::read(&of_server).unwrap();
    for (arguments, reason) in [
        (vec!["export", "-o", server, "--format", "parquet"], "exists already"),
        (vec!["export", "-o", "new.jsonl", "--sets"], "--format parquet"),
        (vec!["sketch", docs.as_str(), "-o", docs.as_str(), "--force"], "is an input"),
    ] {
        let within = if arguments[0] == "export" { &within[..] } else { &[] };
        let ended = akin(&[&arguments, within].concat());
        assert_eq!(ended.code, Some(1), "{arguments:?}");
        assert!(ended.stderr.contains(reason), "{arguments:?}: {}", ended.stderr);
    }
    assert!(fs::read(&of_server).unwrap() == before, "the file is overwritten");
    assert_eq!(serving.stop().code(), Some(0));
}

#[test]
fn failed_sketches_leave_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let (docs, out) = (tempfile::tempdir().unwrap(), dir.path().join("out.parquet"));
    let out = out.to_str().unwrap();
    let settings = put(docs.path(), "settings", r#"{"scheme": {"kind": "prefix"}}"#);
    let docs = put(docs.path(), "docs", documents());
    let described = r#"{"name": "default", "settings": {"store": {"text": true}}, "documents": 2}"#;
    let url = breaking_off(described);
    for (arguments, reason) in [
        (vec!["sketch", docs.as_str(), "--settings", &settings], "there are no bands"),
        (vec!["export", "--url", &url], "the export"),
    ] {
        let ended = akin(&[&arguments, &["-o", out][..]].concat());
        assert_eq!(ended.code, Some(1), "{arguments:?}");
        assert!(ended.stderr.contains(reason), "{arguments:?}: {}", ended.stderr);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{arguments:?}");
    }
}
