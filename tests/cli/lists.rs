//! `--files-from`: lists of files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::serving::Serving;
use crate::{Ended, akin, akin_with_stdin};

const TEXT: &str = "the museum opens at ten from Tuesday to Sunday and is closed on Mondays";

/// Two equal files with names that no shell likes, a third beside them, and lists of the two.
fn files(dir: &Path) -> [String; 4] {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let [one, two, other] = ["one text.txt", "two\ntexts.txt", "other.txt"].map(path);
    for name in [&one, &two, &other] {
        fs::write(name, TEXT).unwrap();
    }
    fs::copy(&two, path("two.txt")).unwrap();
    fs::write(path("list"), format!("{one}\n{}\n", path("two.txt"))).unwrap();
    fs::write(path("list0"), format!("{one}\0{two}\0")).unwrap();
    [path("list"), path("list0"), one, path("two.txt")]
}

#[track_caller]
fn done(ended: Ended) -> Ended {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

#[test]
fn commands_on_files_take_lists_of_files() {
    let dir = tempfile::tempdir().unwrap();
    let [list, list0, one, two] = files(dir.path());
    let pairs = done(akin(&["pairs", "--files-from", &list])).stdout;
    assert_eq!(pairs, format!("{one}\t{two}\t1.000000000\n"));
    let named = fs::read(&list0).unwrap();
    let read = akin_with_stdin(&["pairs", "--files-from", "-", "-0"], &named);
    assert_eq!(read.code, Some(1), "a line break is in no id");
    assert!(read.stderr.contains("two\ntexts.txt: /id"), "{}", read.stderr);

    let deduped = done(akin(&["dedup", "--files-from", &list]));
    assert!(deduped.stderr.starts_with("documents: 2; representatives: 1;"), "{}", deduped.stderr);
    let gold = dir.path().join("gold.tsv");
    fs::write(&gold, format!("{one}\t{two}\n")).unwrap();
    let gold = gold.to_str().unwrap();
    let evaluated = done(akin(&["evaluate", gold, "--files-from", &list, "--json"])).stdout;
    let evaluated: Value = serde_json::from_str(&evaluated).unwrap();
    assert_eq!((&evaluated["documents"], &evaluated["gold"]), (&2.into(), &1.into()));
    let more = dir.path().join("other.txt");
    let both = ["evaluate", more.to_str().unwrap(), gold, "--files-from", &list, "--json"];
    let evaluated: Value = serde_json::from_str(&done(akin(&both)).stdout).unwrap();
    assert_eq!(evaluated["documents"], 3);

    let serving = Serving::start();
    serving.wait_until_ready();
    let import = ["import", "--files-from", &list0, "--null", "--json", "--url", &serving.url];
    let report: Value = serde_json::from_str(&akin(&import).stdout).unwrap();
    assert_eq!((&report["files"], &report["documents"]["created"]), (&2.into(), &1.into()));
    assert_eq!(report["documents"]["failed"], 1);
    let demo = done(akin(&["demo", "--files-from", &list, "--json"])).stdout;
    let demo: Value = serde_json::from_str(&demo).unwrap();
    assert_eq!((&demo["import"]["files"], &demo["identical"]), (&2.into(), &1.into()));
}

#[test]
fn faults_of_a_list_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("list");
    fs::write(&list, "/nowhere/a.txt\n").unwrap();
    let list = list.to_str().unwrap();
    let refused = |arguments: &[&str], why: &str, code: i32| {
        let ended = akin_with_stdin(arguments, b"");
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{arguments:?}");
        assert!(ended.stderr.contains(why), "{arguments:?}: {}", ended.stderr);
    };
    refused(&["pairs", "--files-from", list], "/nowhere/a.txt", 1);
    refused(&["pairs", "--files-from", "/nowhere/list"], "/nowhere/list", 1);
    refused(&["pairs", "-", "--files-from", "-"], "not both", 1);
    refused(&["dedup", "--files-from", "-"], "no document", 1);
    refused(&["pairs"], "<IN>", 2);
    refused(&["pairs", "-0", "docs.jsonl"], "--files-from", 2);
    refused(&["evaluate", "docs.jsonl"], "<GOLD>", 2);
}
