//! Which documents `dedup` removes by a rule or by their sources, and what it refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::akin;
use crate::inputs::put;

pub fn ids(lines: &str) -> BTreeSet<usize> {
    let id = |line: &str| -> usize {
        let line: Value = serde_json::from_str(line).unwrap();
        line["id"].as_str().unwrap().parse().unwrap()
    };
    lines.lines().map(id).collect()
}

fn documents(dir: &Path, name: &str, documents: &[(&str, &str, &str)]) -> String {
    let line = |(id, site, text): &(&str, &str, &str)| {
        json!({"id": id, "site": site, "text": text}).to_string() + "\n"
    };
    put(dir, name, documents.iter().map(line).collect::<String>())
}

const SHIP: &str = "the ship leaves the harbour at nine in the morning and returns at night";
const SHIPS: &str = "the ship leaves the harbour at nine in the morning and returns at noon";
const TRAIN: &str =
    "a train to the mountains goes every hour from the central station on track two";

fn written(arguments: &[&str]) -> Vec<String> {
    let ended = akin(&[&["dedup", "--mode", "exact", "--threshold", "0.6"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    let id =
        |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().into();
    ended.stdout.lines().map(id).collect()
}

#[test]
fn the_source_decides_which_document_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let web = documents(dir.path(), "web.jsonl", &[("w1", "a", SHIP), ("w2", "b", TRAIN)]);
    let books = documents(dir.path(), "books.jsonl", &[("b1", "b", SHIPS), ("b2", "a", TRAIN)]);
    let both = [web.as_str(), &books];
    assert_eq!(written(&both), ["w1", "w2"]);
    assert_eq!(written(&[&both[..], &["--sources", "books,web"]].concat()), ["b1", "b2"]);
    let by_site = ["--source-column", "site", "--sources", "b,a"];
    assert_eq!(written(&[&both[..], &by_site].concat()), ["w2", "b1"]);
    let ended = akin(&["dedup", &web, &books, "--sources", "bokks,web"]);
    assert!(ended.stderr.contains("no document is of the source bokks of"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("source web of"), "{}", ended.stderr);
}

#[test]
fn documents_of_one_source_are_not_linked_across_sources() {
    let dir = tempfile::tempdir().unwrap();
    let web = documents(dir.path(), "web.jsonl", &[("w1", "a", SHIP), ("w2", "a", SHIPS)]);
    let books = documents(dir.path(), "books.jsonl", &[("b1", "b", SHIP), ("b2", "b", TRAIN)]);
    let further = documents(dir.path(), "c.jsonl", &[("c1", "c", TRAIN), ("c2", "c", TRAIN)]);
    let all = [web.as_str(), &books, &further, "--across"];
    assert_eq!(written(&all), ["w1", "w2", "b2"]);
    let books_first = [&all[..], &["--sources", "books"]].concat();
    assert_eq!(written(&books_first), ["b1", "b2"]);
    assert_eq!(written(&[&all[..3], &["--keep", "none"]].concat()), Vec::<String>::new());
    assert_eq!(written(&[&web, &books, "--keep", "none"]), ["b2"]);
}

#[test]
fn a_source_that_would_lose_too_much_ends_the_run_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let web = documents(dir.path(), "web.jsonl", &[("w1", "a", SHIP), ("w2", "b", TRAIN)]);
    let books = documents(
        dir.path(),
        "books.jsonl",
        &[("b1", "b", SHIPS), ("b2", "a", TRAIN), ("b3", "a", "something else is in this text")],
    );
    let out = dir.path().join("out.jsonl");
    let run = |max: &str| {
        let path = out.to_str().unwrap();
        let arguments =
            ["dedup", &web, &books, "--threshold", "0.6", "--max-removed", max, "-o", path];
        akin(&[&arguments[..], &["--report", dir.path().join("r").to_str().unwrap()]].concat())
    };
    let ended = run("50%");
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("66.7 % of"), "{}", ended.stderr);
    assert!(ended.stderr.contains("books.jsonl: documents: 3; removed: 2"), "{}", ended.stderr);
    assert!(!out.exists() && !dir.path().join("r").exists());
    assert_eq!(run("70%").code, Some(0));
    assert!(out.exists());
    assert_eq!(run("70").code, Some(2), "a percentage is wanted");
}

#[test]
fn sources_are_counted_in_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let file = documents(
        dir.path(),
        "all.jsonl",
        &[("1", "a", SHIP), ("2", "b", SHIPS), ("3", "b", SHIP), ("4", "b", TRAIN)],
    );
    let out = dir.path().join("out.jsonl");
    let ended = akin(&[
        "dedup",
        &file,
        "--threshold",
        "0.6",
        "--source-column",
        "site",
        "--json",
        "-o",
        out.to_str().unwrap(),
    ]);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let expected = json!([
        {"source": "a", "documents": 1, "removed": 0, "largest_cluster": 3,
         "shingles_removed": 0, "shingles_lost": 0},
        {"source": "b", "documents": 3, "removed": 2, "largest_cluster": 3,
         "shingles_removed": 24, "shingles_lost": 1},
    ]);
    assert_eq!(summary["sources"], expected, "{summary}");
}

#[test]
fn sources_are_counted_with_rules_and_states() {
    let dir = tempfile::tempdir().unwrap();
    let part = SHIP.rsplit_once(" and").unwrap().0;
    let january = documents(dir.path(), "january.jsonl", &[("1", "a", SHIP), ("2", "b", TRAIN)]);
    let february = documents(dir.path(), "february.jsonl", &[("3", "a", part), ("4", "b", SHIP)]);
    for rule in [&["--rule", "contained"][..], &["--threshold", "0.6"]] {
        let state = dir.path().join(rule[1]);
        let out = dir.path().join("out.jsonl");
        let fixed = ["--source-column", "site", "--state", state.to_str().unwrap(), "--json"];
        let to = ["--force", "-o", out.to_str().unwrap()];
        let run = |file: &str| {
            let ended = akin(&[&["dedup", file], &fixed[..], &to, rule].concat());
            assert_eq!(ended.code, Some(0), "{rule:?}: {}", ended.stderr);
            serde_json::from_str::<Value>(&ended.stdout).unwrap()
        };
        assert_eq!(run(&january)["near_duplicates"], json!(0));
        let summary = run(&february);
        let of = |at: usize| {
            let source = &summary["sources"][at];
            (source["source"].clone(), source["documents"].clone(), source["removed"].clone())
        };
        assert_eq!(of(0), (json!("a"), json!(1), json!(1)), "{rule:?}: {summary}");
        assert_eq!(of(1), (json!("b"), json!(1), json!(1)), "{rule:?}: {summary}");
    }
    let arguments = ["--rule", "contained", "--max-removed", "40%"];
    let ended = akin(&[&["dedup", &january, &february], &arguments[..]].concat());
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
}

#[test]
fn runs_of_words_that_the_kept_documents_lack_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let part = SHIP.rsplit_once(" and").unwrap().0;
    let texts = [("1", "a", SHIP), ("2", "a", SHIPS), ("3", "a", TRAIN), ("4", "a", part)];
    let texts = [&texts[..], &[("5", "a", "the ship")]].concat();
    let file = documents(dir.path(), "all.jsonl", &texts);
    let out = dir.path().join("out.jsonl");
    let lost = |further: &[&str]| {
        let fixed = ["dedup", &file, "--force", "--json", "-o", out.to_str().unwrap()];
        let ended = akin(&[&fixed, further].concat());
        let summary: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
        ["shingles_removed", "shingles_lost"].map(|name| summary[name].as_u64())
    };
    assert_eq!(lost(&["--threshold", "0.6"]), [Some(20), Some(1)]);
    assert_eq!(lost(&["--rule", "contained"]), [Some(9), Some(0)]);
    assert_eq!(lost(&["--rule", "contained", "--keep", "none"]), [Some(21), Some(21)]);
    assert_eq!(lost(&["--threshold", "0.6", "--keep", "none"]), [Some(32), Some(32)]);
    assert_eq!(lost(&["--threshold", "1"]), [Some(0), Some(0)]);
    let ended = akin(&["dedup", &file, "--threshold", "0.6"]);
    let line = "runs of 3 words lost: 1 of 20 in removed documents\n";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
}

#[test]
fn shingles_that_many_documents_of_a_source_share_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let menu = "home news sport weather contact imprint search login";
    let own = ["the museum opens at ten", "a ferry leaves every hour", "no trains go on sundays"];
    let pages = own.map(|own| format!("{menu} {own}"));
    let [one, two, three] = pages.each_ref().map(String::as_str);
    let web = [("1", "a", one), ("2", "a", two), ("3", "a", three), ("4", "a", one)];
    let file = documents(dir.path(), "all.jsonl", &[&web[..], &[("5", "b", one)]].concat());
    let out = dir.path().join("out.jsonl");
    let run = |further: &[&str]| {
        let fixed = ["dedup", &file, "--threshold", "0.3", "--mode", "exact", "--json", "--force"];
        let to = ["--source-column", "site", "-o", out.to_str().unwrap()];
        let ended = akin(&[&fixed[..], &to, further].concat());
        let summary: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
        (ids(&std::fs::read_to_string(&out).unwrap()), summary["shingles_ignored"].as_u64())
    };
    assert_eq!(run(&[]), (BTreeSet::from([1]), None));
    assert_eq!(run(&["--ignore-templates", "2"]), (BTreeSet::from([1, 2, 3]), Some(6)));
    // Copies are no template.
    assert_eq!(run(&["--ignore-templates", "3"]), (BTreeSet::from([1]), Some(0)));
    // Of texts that are templates only, copies are left out as well.
    let (one, two) = ("only home news sport", "home news sport weather");
    let bare = [("1", "a", menu), ("2", "a", one), ("3", "a", two), ("4", "b", two)];
    let bare = documents(dir.path(), "bare.jsonl", &bare);
    let ended = akin(&["dedup", &bare, "--ignore-templates", "1", "--source-column", "site"]);
    assert_eq!(ids(&ended.stdout), BTreeSet::from([1, 2, 3]), "{}", ended.stderr);
    let old = documents(dir.path(), "old.jsonl", &[("0", "a", "no mail; HOME news sport weather")]);
    let further = ["--ignore-templates", "3", "--against", &old];
    assert_eq!(run(&further), (BTreeSet::from([1, 2, 3]), Some(2)));
    let ended = akin(&["dedup", &file, "--ignore-templates", "2", "--source-column", "site"]);
    let line = "runs of 3 words of templates, ignored: 6\n";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    for (further, code) in [
        (&["--rule", "contained"][..], 1),
        (&["--rule", "near"], 0),
        (&["--state", "state"], 2),
        (&["--spans", "20"], 2),
    ] {
        let ended = akin(&[&["dedup", &file, "--ignore-templates", "2"], further].concat());
        assert_eq!(ended.code, Some(code), "{further:?}: {}", ended.stderr);
    }
}

#[test]
fn annotations_have_the_size_of_the_cluster_and_the_similarity() {
    let dir = tempfile::tempdir().unwrap();
    let file = documents(dir.path(), "all.jsonl", &[("1", "a", SHIP), ("2", "b", SHIP)]);
    let ended = akin(&["dedup", &file, "--annotate"]);
    let lines: Vec<BTreeMap<String, Value>> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!((&line["cluster_size"], &line["representative"]), (&json!(2), &json!("1")));
    }
    assert_eq!(lines[0].get("resemblance"), None);
    assert_eq!(lines[1]["resemblance"], json!(1.0));
}

#[test]
fn a_table_of_clusters_is_csv_or_parquet() {
    let dir = tempfile::tempdir().unwrap();
    let of = [("1", "a", SHIP), ("2", "b", TRAIN), ("3", "b", SHIP)];
    let file = documents(dir.path(), "all.jsonl", &of);
    let table = |name: &str| {
        let path = dir.path().join(name);
        let ended = akin(&["dedup", &file, "--annotate", "-o", path.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        path
    };
    let lines = std::fs::read_to_string(table("clusters.csv")).unwrap();
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["id", "cluster", "cluster_size", "representative", "similarity"]);
    let without_cluster = |row: &[&str]| [row[0], row[2], row[3], row[4]].map(str::to_owned);
    let expected = [["1", "2", "1", "1"], ["2", "1", "2", "1"], ["3", "2", "1", "1"]];
    for (row, expected) in rows[1..].iter().zip(expected) {
        assert_eq!(without_cluster(row), expected);
    }
    assert_eq!((rows.len(), rows[1][1] == rows[3][1]), (4, true));
    let parquet = table("clusters.parquet");
    let shards = dir.path().join("shards");
    let shards = ["--output-dir", shards.to_str().unwrap()];
    let refused =
        akin(&[&["dedup", parquet.to_str().unwrap(), "--annotate"], &shards[..]].concat());
    assert!(refused.stderr.contains("does not write rows"), "{}", refused.stderr);
    let options = ["--text-column", "id", "--id-column", "id", "--annotate", "--keep", "first"];
    let read = akin(&[&["dedup", parquet.to_str().unwrap()], &options[..]].concat());
    let ids: Vec<Value> =
        read.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    let metadata = |at: usize, name: &str| ids[at]["metadata"][name].clone();
    assert_eq!(ids.len(), 3, "{}", read.stderr);
    assert_eq!(
        (metadata(2, "representative"), metadata(2, "cluster_size")),
        (json!("1"), json!(2))
    );
    assert_eq!(metadata(2, "similarity"), json!(1.0));
}

#[test]
fn names_that_say_another_format_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = documents(dir.path(), "all.jsonl", &[("1", "a", SHIP)]);
    let run = |name: &str, further: &[&str]| {
        let path = dir.path().join(name);
        let ended = akin(&[&["dedup", &file, "-o", path.to_str().unwrap()], further].concat());
        (ended.code, ended.stderr)
    };
    for (name, further) in
        [("x.csv", &[][..]), ("x.tsv.gz", &["--annotate"]), ("x.parquet.zst", &[]), ("x.html", &[])]
    {
        let (code, stderr) = run(name, further);
        assert_eq!(code, Some(1), "{name}");
        assert!(stderr.contains("would have lines of JSON, and its name says"), "{stderr}");
    }
    for (name, further) in
        [("x.csv.gz", &["--annotate"][..]), ("x", &[]), ("x.json", &[]), ("x.txt.gz", &[])]
    {
        assert_eq!(run(name, further).0, Some(0), "{name}");
    }
    for name in ["x.jsonl.bz2", "x.xz"] {
        assert!(run(name, &[]).1.contains("would not be compressed"), "{name}");
    }
    std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
    assert!(run("link", &[]).1.contains("exists already"));
}

#[test]
fn a_disk_without_room_is_refused_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    // A file of holes.
    let path = dir.path().join("large.jsonl");
    std::fs::File::create(&path).unwrap().set_len(1 << 43).unwrap();
    let ended = akin(&["dedup", path.to_str().unwrap(), "--ignore-templates", "2"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("left for temporary files"), "{}", ended.stderr);
}

#[test]
fn rules_that_cannot_be_kept_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = documents(dir.path(), "all.jsonl", &[("1", "a", SHIP)]);
    let near = [
        &["--threshold", "0.5"][..],
        &["--linkage", "single"],
        &["--mode", "exact"],
        &["--ignore-templates", "2"],
    ];
    let refused = |further: &[&str]| {
        let ended = akin(&[&["dedup", &file, "--rule", "contained"], further].concat());
        assert!(matches!(ended.code, Some(1 | 2)), "{further:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
        ended.stderr
    };
    for further in near {
        let near = akin(&[&["dedup", &file, "--rule", "near"], further].concat());
        assert_eq!(near.code, Some(0), "{}", near.stderr);
        let stderr = refused(further);
        let hint = format!("leave out {}, or take --rule near", further[0]);
        assert!(stderr.contains(&hint), "{stderr}");
    }
    refused(&["--unit", "character"]);
    refused(&["--spans", "20"]);
}

#[test]
fn a_state_is_refused_with_links_across_sources_before_it_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let file = documents(dir.path(), "all.jsonl", &[("1", "the state", SHIP), ("2", "b", SHIP)]);
    let state = dir.path().join("state");
    for further in [&[][..], &["--rule", "contained"], &["--source-column", "site"]] {
        let options = ["dedup", &file, "--across", "--state", state.to_str().unwrap()];
        let ended = akin(&[&options[..], further].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{further:?}");
        let why = "--state does not have the sources of documents";
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        assert!(ended.stderr.contains("by --against"), "{}", ended.stderr);
        assert!(!state.exists());
    }
}

#[test]
fn a_later_copy_of_documents_that_are_all_removed_is_removed_from_its_batch() {
    let dir = tempfile::tempdir().unwrap();
    for rule in ["near", "contained"] {
        let state = dir.path().join(rule);
        let state = state.to_str().unwrap();
        let run = |lines: &[(&str, &str, &str)]| {
            let file = documents(dir.path(), "batch.jsonl", lines);
            let options = ["--rule", rule, "--keep", "none", "--state", state];
            let ended = akin(&[&["dedup", &file], &options[..]].concat());
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            (ids(&ended.stdout), ended.stderr)
        };
        let (kept, stderr) = run(&[("1", "a", SHIP), ("2", "a", SHIP), ("3", "a", TRAIN)]);
        assert_eq!(kept, BTreeSet::from([3]), "{rule}");
        assert!(stderr.contains("documents in the state: 2\n"), "{stderr}");
        let new = "a balloon rises over the hills before anybody is awake";
        let (kept, stderr) = run(&[("4", "a", SHIP), ("5", "a", TRAIN), ("6", "a", new)]);
        assert_eq!(kept, BTreeSet::from([6]), "{rule}");
        assert!(stderr.contains("documents in the state: 3\n"), "{stderr}");
    }
}
