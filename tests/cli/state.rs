//! `dedup --state`: batches that are compared with all batches before.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::inputs::put;
use crate::numbers::Numbers;
use crate::{Ended, akin, command};

struct Batches {
    dir: TempDir,
    state: String,
}

/// A text of a family; texts of a family are more or less alike.
fn text(family: usize, changed: usize) -> String {
    let word = |n: usize| match n < changed {
        true => format!("c{changed}w{n}"),
        false => format!("f{family}w{n}"),
    };
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

fn line(id: &str, text: &str) -> String {
    json!({"id": id, "text": text}).to_string() + "\n"
}

impl Batches {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state").to_str().unwrap().to_owned();
        Self { dir, state }
    }

    fn put(&self, name: &str, lines: &str) -> String {
        put(self.dir.path(), name, lines)
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        akin(&[&["dedup", "--state", &self.state], arguments].concat())
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str], why: &str) {
        let before = self.files();
        let ended = self.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ended.stderr.contains(why), "{arguments:?}: {}", ended.stderr);
        assert_eq!(self.files(), before);
    }

    /// The bytes of the state.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let Ok(entries) = fs::read_dir(&self.state) else { return BTreeMap::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

/// Kept id by removed id.
fn reported(report: &Path) -> BTreeMap<String, String> {
    let lines = fs::read_to_string(report).unwrap();
    let id = |of: &Value| of["id"].as_str().unwrap().to_owned();
    let line = |line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let is_old = line["kept"].get("file").is_none();
        assert_eq!(line["kept"].get("batch").is_some(), is_old, "{line}");
        (id(&line), id(&line["kept"]))
    };
    lines.lines().map(line).collect()
}

/// Documents of many families, some of them equal, one without a word.
fn documents(random: &mut Numbers, from: usize, count: usize) -> String {
    let document = |n| {
        let text = text(random.below(30), random.below(12));
        line(&format!("d{n}"), &text)
    };
    (from..from + count).map(document).collect::<String>() + &line(&format!("e{from}"), "?")
}

#[test]
fn batches_keep_what_one_run_keeps() {
    let mut random = Numbers(7);
    for mode in ["exact", "verified"] {
        let batches = Batches::new();
        let options = ["--threshold", "0.7", "--mode", mode, "--quiet", "--force"];
        let parts: Vec<String> = (0..4).map(|n| documents(&mut random, n * 100, 40)).collect();
        let report = batches.dir.path().join("report");
        let (mut kept, mut removed) = (String::new(), BTreeMap::new());
        let mut ended = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let file = batches.put(&format!("part{number}"), part);
            let of = [&[file.as_str(), "--report", report.to_str().unwrap()], &options[..]];
            let run = batches.done(&of.concat());
            assert!(run.stderr.contains(&format!("batch {} is in the state;", number + 1)));
            kept += &run.stdout;
            removed.extend(reported(&report));
            ended.push((of.concat().iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), run));
        }
        let whole = batches.put("whole", &parts.concat());
        let of = [&["dedup", &whole, "--report", report.to_str().unwrap()], &options[..]];
        let one_run = akin(&of.concat());
        assert_eq!(kept, one_run.stdout, "{mode}");
        assert_eq!(removed, reported(&report), "{mode}");
        assert!(removed.len() > 20 && kept.lines().count() > 30, "{}", removed.len());
        // Every batch can be repeated, and the state stays as it is.
        let before = batches.files();
        for (number, (arguments, first)) in ended.iter().enumerate() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let again = batches.done(&arguments);
            assert_eq!(again.stdout, first.stdout, "{mode} {number}");
            let told = format!("batch {} is in the state already;", number + 1);
            assert!(again.stderr.contains(&told), "{}", again.stderr);
        }
        assert!(batches.files() == before, "{mode}");
    }
}

#[test]
fn a_killed_or_failed_run_leaves_the_state_as_it_was() {
    let batches = Batches::new();
    let first = batches.put("first", &(line("a", &text(1, 0)) + &line("b", &text(2, 0))));
    let second = batches.put("second", &(line("c", &text(1, 2)) + &line("d", &text(3, 0))));
    // Runs are killed while they write: nobody reads more than a byte of more than a pipe takes.
    let long = batches.put("long", &line("long", &text(4, 0).repeat(1000)));
    let pipe = batches.dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let killed = || {
        let out = pipe.to_str().unwrap();
        let mut child = command(&["dedup", &long, "--state", &batches.state, "--output", out])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = File::open(&pipe).unwrap();
        output.read_exact(&mut [0]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    };
    killed();
    assert_eq!(batches.done(&[&first]).stdout.lines().count(), 2);
    let before = batches.files();
    killed();
    let broken = batches.put("broken", &(line("x", &text(9, 0)) + "{\n"));
    let out = batches.put("out", "");
    batches.refused(&[&broken], "cannot be read as documents");
    batches.refused(&[&second, "--output", &out], "exists already");
    assert_eq!(batches.files(), before);
    // What a run wrote that did not end is not read.
    for name in ["sketches", "rows", "ids", "elements"] {
        let path = Path::new(&batches.state).join(name);
        let bytes = fs::read(&path).unwrap_or_default();
        fs::write(path, [bytes, vec![255; 1000]].concat()).unwrap();
    }
    assert_eq!(batches.done(&[&second]).stdout, line("d", &text(3, 0)));
    let third = batches.put("third", &(line("e", &text(3, 1)) + &line("f", &text(2, 1))));
    let ended = batches.done(&[&third, "--json", "--output", &out, "--force"]);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let counts = ["representatives", "near_duplicates", "batch", "state_documents"];
    assert_eq!(counts.map(|name| summary[name].as_u64()), [0, 2, 3, 3].map(Some), "{summary}");
    assert_eq!(summary["repeated"], false);
}

#[test]
fn a_state_is_of_one_run_at_a_time_and_of_one_kind() {
    let batches = Batches::new();
    let file = batches.put("docs", &line("a", &text(1, 0)));
    let records = json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name"]},
    });
    let records = batches.put("records", &records.to_string());
    batches.done(&[&file]);
    let lock = File::open(Path::new(&batches.state).join("lock")).unwrap();
    lock.lock().unwrap();
    batches.refused(&[&file], "another process uses the state");
    drop(lock);
    for (options, why) in [
        (vec!["--threshold", "0.7"], "threshold = 0.8, and this run has 0.7"),
        (vec!["--size", "2"], "shingles.size = 3, and this run has 2"),
        (vec!["--mode", "exact"], "mode = \"verified\", and this run has \"exact\""),
        (vec!["--keep", "longest"], "keep = \"first\", and this run has \"longest\""),
        (vec!["--linkage", "single"], "take --linkage representative"),
        (vec!["--settings", &records], "compared by their fields"),
    ] {
        batches.refused(&[&[file.as_str()], options.as_slice()].concat(), why);
    }
    let both = batches.run(&[&file, "--against", &file]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    let inside = akin(&["dedup", batches.dir.path().to_str().unwrap(), "--state", &batches.state]);
    assert!(inside.stderr.contains("is an input, too"), "{}", inside.stderr);
    for (name, bytes, why) in [
        ("rows", 9, "is damaged: rows has 9 bytes"),
        ("state.json", (1 << 28) + 1, "is damaged: it has more than 268435456 bytes"),
    ] {
        let path = Path::new(&batches.state).join(name);
        File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
        batches.refused(&[&file], why);
    }
    fs::remove_file(Path::new(&batches.state).join("state.json")).unwrap();
    batches.refused(&[&file], "is not empty, and has no state");
}

#[test]
fn a_state_overwrites_nothing_that_it_did_not_write() {
    let batches = Batches::new();
    let file = batches.put("docs", &line("a", &text(1, 0)));
    let at = |name: &str| Path::new(&batches.state).join(name);
    // A directory of others has files of these names, too.
    for name in ["ids", "rows", "lock"] {
        put(Path::new(&batches.state), name, "mine");
        batches.refused(&[&file], "is not empty, and has no state");
        fs::remove_file(at(name)).unwrap();
    }
    let is_file = Batches { state: batches.put("other", "mine"), ..Batches::new() };
    is_file.refused(&[&file], "not a directory");
    batches.done(&[&file]);
    for output in [["--output", "rows"], ["--report", "ids"], ["--output", "new"]] {
        let path = at(output[1]);
        let of = [&file, output[0], path.to_str().unwrap(), "--force"];
        batches.refused(&of, "is an input, too");
    }
    let own = at("ids");
    batches.refused(&[own.to_str().unwrap(), "--format", "text"], "is an input, too");

    let elements = fs::read(at("elements")).unwrap();
    let mut changed = elements.clone();
    changed[7] ^= 1;
    fs::write(at("elements"), changed).unwrap();
    batches.refused(&[&file], "batch 1 of elements has changed");
    fs::remove_file(at("elements")).unwrap();
    let other = batches.put("other", "mine");
    symlink(&other, at("elements")).unwrap();
    batches.refused(&[&file], "elements is a link or a pipe");
    fs::remove_file(at("elements")).unwrap();
    fs::hard_link(&other, at("elements")).unwrap();
    batches.refused(&[&file], "elements is a link or a pipe");
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    fs::remove_file(at("elements")).unwrap();
    assert!(Command::new("mkfifo").arg(at("elements")).status().unwrap().success());
    let ended = batches.run(&[&file]);
    assert!(ended.stderr.contains("elements is a link or a pipe"), "{}", ended.stderr);
}
