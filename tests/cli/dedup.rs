//! Which documents `dedup` keeps, and where it writes them.

use std::fs::{self, File};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::crawls::fine_web;
use crate::inputs::put;
use crate::{akin, akin_with_stdin};

/// Words of a family; of two of its texts all but the last few words are equal.
fn words(family: usize, last: usize) -> String {
    let word = |n: usize| format!("f{family}w{n}");
    (0..60).map(word).chain((0..last).map(|n| format!("end{n}"))).collect::<Vec<_>>().join(" ")
}

fn line(id: &str, text: &str, further: &Value) -> String {
    let mut document = json!({"id": id, "text": text});
    document.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    document.to_string() + "\n"
}

#[track_caller]
fn dedup(arguments: &[&str]) -> String {
    let ended = akin(&[&["dedup", "--mode", "exact"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended.stdout
}

fn ids(lines: &str) -> Vec<String> {
    let id = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["id"].as_str().unwrap().to_owned()
    };
    lines.lines().map(id).collect()
}

fn path(dir: &TempDir, name: &str) -> String {
    dir.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn old_documents_of_a_pipe_are_read_as_often_as_needed() {
    let dir = tempfile::tempdir().unwrap();
    let [new, old] = [0, 1].map(|last| -> String {
        let line = |n: usize| line(&n.to_string(), &words(n, last), &json!({}));
        (0..600).map(line).collect()
    });
    let file = put(dir.path(), "new", new);
    for (further, code) in [
        (&["--threshold", "0.9"][..], 0),
        (&["--threshold", "0.9", "--memory-max-mib", "1"], 0),
        (&["--threshold", "0.9", "--mode", "exact"], 0),
        (&["--rule", "contained"], 0),
        (&["--threshold", "0.9", "--ignore-templates", "1"], 0),
        (&["--threshold", "0.9", "--ignore-templates", "0"], 2),
    ] {
        let arguments = [&["dedup", &file, "--against", "-"], further].concat();
        let ended = akin_with_stdin(&arguments, old.as_bytes());
        assert_eq!((ended.code, &*ended.stdout), (Some(code), ""), "{further:?}");
    }
}

#[test]
fn the_document_to_keep_is_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        line("c", &words(1, 1), &json!({"date": "2024-05-01", "score": 0.5})),
        line("a", &words(1, 0), &json!({"date": "2023-12-31", "score": 0.25})),
        line("d", &words(1, 2), &json!({"date": "2024-04-30", "score": 0.75})),
        line("z", &words(2, 0), &json!({})),
    ];
    let file = put(dir.path(), "docs", lines.concat());
    for (keep, kept) in
        [("id", "a"), ("first", "c"), ("longest", "d"), ("newest", "c"), ("score", "d")]
    {
        for linkage in ["representative", "single"] {
            let written = dedup(&[&file, "--keep", keep, "--linkage", linkage]);
            assert_eq!(ids(&written), [kept, "z"], "{keep} {linkage}");
        }
    }
    assert_eq!(ids(&dedup(&[&file])), ["c", "z"], "the first, by default");
    let ended = akin(&["dedup", &file, "--keep", "fisrt"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("as its fisrt"), "{}", ended.stderr);
}

#[test]
fn new_documents_are_compared_with_all_old_ones() {
    let dir = tempfile::tempdir().unwrap();
    // Each is near the next only.
    let chain =
        |n: usize| (n * 5..n * 5 + 60).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let old = [line("o1", &chain(0), &json!({})), line("o2", &chain(1), &json!({}))].concat();
    let new = [
        line("n1", &chain(2), &json!({})),
        line("o1", &words(1, 0), &json!({})),
        line("n3", &words(1, 1), &json!({})),
        line("n4", &words(2, 1), &json!({})),
    ];
    let (old, new) = (put(dir.path(), "old", old), put(dir.path(), "new", new.concat()));
    let threshold = ["--threshold", "0.8"];
    let alone = dedup(&[&[new.as_str(), "--keep", "id"], &threshold[..]].concat());
    assert_eq!(ids(&alone), ["n1", "n3", "n4"]);
    // The id of an old document is free, and an old one is never written.
    let kept = dedup(&[&[new.as_str(), "--against", &old], &threshold[..]].concat());
    assert_eq!(ids(&kept), ["o1", "n4"]);
    let parts = dedup(&[
        &new,
        "--against",
        &old,
        "--against",
        &alone_in(&dir, &alone),
        "--threshold",
        "0.8",
    ]);
    assert_eq!(ids(&parts), Vec::<String>::new());
}

/// What a report says of each document: id, file, kept id and file, and the similarity.
fn reported(report: &str) -> Vec<String> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let name = |file: &Value| file.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let (id, kept) = (line["id"].as_str().unwrap(), &line["kept"]);
        let (file, kept_file, kept_id) =
            (name(&line["file"]), name(&kept["file"]), kept["id"].as_str().unwrap());
        let score = line.get("resemblance").or(line.get("points")).map_or(-1.0, number);
        format!("{id} {file} {kept_id} {kept_file} {score:.3}")
    };
    report.lines().map(line).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn a_report_names_the_kept_document_and_the_similarity() {
    let dir = tempfile::tempdir().unwrap();
    let old = [line("a", &words(1, 0), &json!({})), line("o", &words(4, 0), &json!({}))].concat();
    let new = [
        line("a", &words(1, 2), &json!({})),
        line("b", &words(2, 0), &json!({})),
        line("c", &words(2, 0), &json!({})),
        line("b", &words(3, 0), &json!({})),
        line("d", &words(3, 1), &json!({})),
        line("e", "", &json!({})),
    ];
    let old = put(dir.path(), "old", old);
    let (new, more) = (put(dir.path(), "new", new.concat()), path(&dir, "more"));
    put(dir.path(), "more", line("f", &words(2, 3), &json!({})));
    // Of the first documents 60 words are equal, and the shingles of three words are two fewer.
    let expected =
        ["a new a old 0.967", "c new b new 1.000", "b new b new -1.000", "f more b new 0.951"];
    let report = path(&dir, "report.jsonl");
    let common = [&new, &more, "--against", &old, "--duplicate-ids", "keep-first"];
    for mode in ["exact", "verified", "estimated"] {
        let further = ["--mode", mode, "--force", "--report", &report];
        let ended = akin(&[&["dedup"], common.as_slice(), &further].concat());
        assert_eq!((ended.code, ids(&ended.stdout).join(" ").as_str()), (Some(0), "b d e"));
        assert_eq!(reported(&fs::read_to_string(&report).unwrap()), expected, "{mode}");
    }
    let out = path(&dir, "out.jsonl");
    let further = ["--report", "-", "--annotate", "--output", &out];
    assert_eq!(reported(&dedup(&[common.as_slice(), &further].concat())), expected);
    for (further, why) in [
        (vec!["--report", "-"], "the report would be mixed"),
        (vec!["--report", new.as_str(), "--force"], "is an input, too"),
        (vec!["--report", report.as_str()], "exists already"),
    ] {
        let ended = akin(&[&["dedup"], common.as_slice(), &further].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{further:?}");
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
}

#[test]
fn a_report_of_records_has_their_points() {
    let dir = tempfile::tempdir().unwrap();
    let record = |id: &str, name: &str| json!({"id": id, "fields": {"name": name}}).to_string();
    let lines = [record("a", "ann lee carter"), record("b", "ann lee barter")].join("\n");
    let settings = json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name"]},
    });
    let file = put(dir.path(), "people", lines);
    let settings = put(dir.path(), "settings", settings.to_string());
    let out = path(&dir, "out");
    let report = dedup(&[&file, "--settings", &settings, "--report", "-", "--output", &out]);
    let of: Value = serde_json::from_str(&report).unwrap();
    let [file] = [file.as_str()];
    let kept = json!({"id": "a", "file": file});
    assert_eq!(of, json!({"id": "b", "file": file, "kept": kept, "points": of["points"]}));
    assert!((80..100).contains(&of["points"].as_u64().unwrap()), "{of}");
}

fn alone_in(dir: &TempDir, lines: &str) -> String {
    put(dir.path(), "alone", lines)
}

#[test]
fn each_input_has_a_shard() {
    let dir = tempfile::tempdir().unwrap();
    put(
        dir.path(),
        "in/a.jsonl.gz",
        crate::inputs::gz(line("a", &words(1, 0), &json!({})).as_bytes()),
    );
    put(dir.path(), "in/sub/b.csv", format!("id,text\nb,{}\nc,{}\n", words(1, 1), words(2, 0)));
    put(dir.path(), "in/sub/d.jsonl", line("d", &words(2, 1), &json!({})));
    put(dir.path(), "in/rows", fine_web(6));
    let out = path(&dir, "out");
    let arguments = ["dedup", &path(&dir, "in"), "--output-dir", &out, "--quiet"];
    let ended = akin(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let file = |name: &str| fs::read(format!("{out}/{name}")).unwrap();
    let lines = |name: &str| ids(&String::from_utf8(file(name)).unwrap());
    assert_eq!(file("a.jsonl.gz")[..2], [0x1f, 0x8b]);
    assert_eq!(lines("sub/b.csv.jsonl"), ["c"]);
    assert_eq!(lines("sub/d.jsonl"), Vec::<String>::new());
    let rows = SerializedFileReader::new(File::open(format!("{out}/rows")).unwrap()).unwrap();
    assert_eq!(rows.metadata().file_metadata().num_rows(), 3);
    let again = akin(&arguments);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let inside = akin(&["dedup", &path(&dir, "in"), "--output-dir", &path(&dir, "in/out")]);
    assert!(inside.stderr.contains("is an input, too"), "{}", inside.stderr);
}

#[test]
fn rows_of_parquet_keep_all_their_columns() {
    let dir = tempfile::tempdir().unwrap();
    let file = put(dir.path(), "crawl", fine_web(1000));
    let out = path(&dir, "out.parquet");
    dedup(&[&file, "--output", &out, "--keep", "token_count"]);
    let rows = |path: &str| {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        (rows, reader.metadata().file_metadata().clone())
    };
    let ((before, was), (after, is)) = (rows(&file), rows(&out));
    // Of each pair the second has the higher count.
    let expected: Vec<_> = before.iter().skip(1).step_by(2).cloned().collect();
    assert_eq!(after, expected);
    assert_eq!((is.schema(), is.key_value_metadata()), (was.schema(), was.key_value_metadata()));
    let lines = dedup(&[&file, "--output", &path(&dir, "out.jsonl")]);
    assert_eq!(lines, "");
    let written = fs::read_to_string(path(&dir, "out.jsonl")).unwrap();
    assert_eq!((ids(&written).len(), ids(&written)[0].as_str()), (500, "<urn:uuid:0>"));
    let lines = put(dir.path(), "lines", line("a", &words(1, 0), &json!({})));
    for (arguments, why) in [
        (vec!["dedup", &lines, "--output", &path(&dir, "x.parquet")], "is not Parquet"),
        (
            vec!["dedup", &file, "--annotate", "--output-dir", &path(&dir, "y")],
            "--annotate with --output-dir does not",
        ),
    ] {
        let ended = akin(&arguments);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
    assert!(!dir.path().join("x.parquet").exists());
}

/// The keys of its representatives take more than the memory that is allowed.
#[test]
fn a_corpus_larger_than_memory_is_deduplicated_through_files() {
    let dir = tempfile::tempdir().unwrap();
    let lines = |from: usize, to: usize| -> String {
        (from..to).map(|n| line(&format!("d{n}"), &words(n % 2_700, n % 3), &json!({}))).collect()
    };
    let file = put(dir.path(), "docs", lines(0, 3_000));
    let old = put(dir.path(), "old", lines(5_400, 5_600));
    for (further, kept) in [(vec![], 2_700), (vec!["--against", &old], 2_500)] {
        let run = |memory: &str| {
            let options = ["dedup", &file, "--quiet", "--memory-max-mib", memory];
            akin(&[options.as_slice(), &further].concat())
        };
        let (little, much) = (run("1"), run("1000"));
        assert_eq!((little.code, &little.stderr), (Some(0), &much.stderr), "{further:?}");
        assert!(little.stdout == much.stdout, "{further:?}");
        assert_eq!(much.stdout.lines().count(), kept, "{}", much.stderr);
    }
}

#[test]
fn the_sets_of_records_are_kept_however_little_memory_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let settings = json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name", "street", "phone"], "points": 250},
    });
    let settings = put(dir.path(), "settings", settings.to_string());
    let record = |n: usize| {
        let name = (n as u64 / 2 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let fields = json!({"name": format!("{name:016x}{}", n % 2),
            "street": format!("{} main street", n / 2), "phone": format!("555{:07}", n / 2)});
        format!("{}\n", json!({"id": format!("r{n}"), "fields": fields}))
    };
    let file = put(dir.path(), "records", (0..8_000).map(record).collect::<Vec<_>>().concat());
    let run = |memory: &str| {
        akin(&["dedup", &file, "--settings", &settings, "--quiet", "--memory-max-mib", memory])
    };
    let (little, much) = (run("1"), run("1000"));
    assert_eq!((little.code, &little.stderr), (Some(0), &much.stderr));
    assert!(little.stdout == much.stdout);
    assert_eq!(much.stdout.lines().count(), 4_000, "{}", much.stderr);
}

#[test]
fn a_corpus_over_the_memory_limit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String =
        (0..3000).map(|n| line(&format!("d{n}"), &words(n, 0), &json!({}))).collect();
    let file = put(dir.path(), "docs", lines);
    for (command, mib) in [("dedup", "0"), ("pairs", "2")] {
        let ended = akin(&[command, &file, "--memory-max-mib", mib]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
        assert!(ended.stderr.contains("of memory that are allowed"), "{}", ended.stderr);
        assert!(ended.stderr.contains("--against"), "{}", ended.stderr);
    }
    assert_eq!(akin(&["pairs", &file, "--memory-max-mib", "100"]).code, Some(0));
}
