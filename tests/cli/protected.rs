//! What is read is never written over, and what is replaced stays as private as it was.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::inputs::put;
use crate::{akin, command};

const DOCS: &str = "{\"id\":\"a\",\"text\":\"one two three four\"}\n\
                    {\"id\":\"b\",\"text\":\"one two three four\"}\n";

/// A directory with the files that the commands read.
struct Files {
    dir: TempDir,
}

const INPUTS: [(&str, &str); 5] = [
    ("docs.jsonl", DOCS),
    ("old/docs.jsonl", DOCS),
    ("gold", "a\tb\n"),
    ("settings.json", "{\"shingles\": {\"size\": 2}}"),
    ("config.toml", "[storage]\ndata_dir = \"x\"\n"),
];

impl Files {
    fn new() -> Self {
        let files = Self { dir: tempfile::tempdir().unwrap() };
        for (name, content) in INPUTS {
            put(files.dir.path(), name, content);
        }
        put(files.dir.path(), "list", "docs.jsonl\n");
        fs::hard_link(files.at("docs.jsonl"), files.at("hard")).unwrap();
        symlink("docs.jsonl", files.at("soft")).unwrap();
        symlink("old", files.at("linked")).unwrap();
        files
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, arguments: &[&str], stdout: Stdio) -> (Option<i32>, String) {
        let mut command = command(arguments);
        let child = command.current_dir(self.dir.path()).stdout(stdout).stderr(Stdio::piped());
        let ended = child.spawn().unwrap().wait_with_output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    }

    fn names(&self) -> usize {
        let count = |path: &Path| fs::read_dir(path).unwrap().count();
        count(self.dir.path()) + count(&self.at("old"))
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str], stdout: Stdio, why: &str) {
        let before = self.names();
        let (code, stderr) = self.run(arguments, stdout);
        assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(why), "{arguments:?}: {stderr}");
        for (name, content) in INPUTS {
            assert_eq!(fs::read_to_string(self.at(name)).unwrap(), content, "{arguments:?}");
        }
        assert_eq!(self.names(), before, "{arguments:?}");
    }
}

#[test]
fn no_command_overwrites_its_inputs() {
    let files = Files::new();
    let absolute = files.at("docs.jsonl").to_str().unwrap().to_owned();
    for arguments in [
        &["dedup", "docs.jsonl", "--output-dir", "."][..],
        &["dedup", "docs.jsonl", "--output-dir", "old/.."],
        &["dedup", "docs.jsonl", "--output-dir", "old", "--against", "old/docs.jsonl"],
        &["dedup", "docs.jsonl", "-o", "docs.jsonl"],
        &["dedup", "docs.jsonl", "-o", "./old/../docs.jsonl"],
        &["dedup", "docs.jsonl", "-o", &absolute],
        &["dedup", &absolute, "-o", "docs.jsonl"],
        &["dedup", "docs.jsonl", "-o", "hard"],
        &["dedup", "hard", "-o", "soft"],
        &["dedup", "docs.jsonl", "--against", "old", "-o", "linked/docs.jsonl"],
        &["dedup", "docs.jsonl", "--against", "old", "-o", "linked/new.jsonl"],
        &["dedup", "docs.jsonl", "--settings", "settings.json", "-o", "settings.json"],
        &["dedup", "--files-from", "list", "-o", "list"],
        &["dedup", "docs.jsonl", "--spans", "50", "-o", "hard"],
        &["dedup", "docs.jsonl", "--spans", "50", "--against", "gold", "-o", "gold"],
        &["dedup", "docs.jsonl", "--spans", "50", "-o", "out", "--report", "soft"],
        &["pairs", "docs.jsonl", "--config", "config.toml", "-o", "config.toml"],
        &["pairs", "old", "-o", "linked/docs.jsonl"],
        &["evaluate", "docs.jsonl", "gold", "-o", "gold"],
        &["sketch", "docs.jsonl", "-o", "hard"],
        &["decontaminate", "docs.jsonl", "--against", "old", "-o", "hard"],
        &["decontaminate", "docs.jsonl", "--against", "gold", "-o", "gold"],
        &["decontaminate", "docs.jsonl", "--against", "old", "--output-dir", "."],
        &["decontaminate", "docs.jsonl", "--against", "gold", "--report", "soft"],
        &["decontaminate", "docs.jsonl", "--against", "gold", "-o", "out", "--report", "gold"],
        &["passages", "docs.jsonl", "--in", "gold", "-o", "hard"],
        &["passages", "docs.jsonl", "--in", "gold", "-o", "gold"],
        &["export", "--key-file", "gold", "-o", "gold"],
        &["backup", "--ca", "gold", "-o", "gold"],
    ] {
        let arguments = [arguments, &["--force"]].concat();
        files.refused(&arguments, Stdio::null(), "is an input, too");
    }
    // A shell has opened it.
    let appended = OpenOptions::new().append(true).open(files.at("docs.jsonl")).unwrap();
    files.refused(&["dedup", "docs.jsonl"], appended.into(), "the output stdout is an input, too");
    let twice = ["dedup", "docs.jsonl", "old/docs.jsonl", "--output-dir", "out"];
    files.refused(&twice, Stdio::null(), "out/docs.jsonl would be written twice");
    let twice = ["export", "-o", "out", "--settings", "./out", "--force"];
    files.refused(&twice, Stdio::null(), "would be written twice");
    let of_report =
        |report| ["decontaminate", "docs.jsonl", "--against", "gold", "--report", report];
    for (report, out) in [("./out", ["-o", "out"]), ("out/docs.jsonl", ["--output-dir", "out"])] {
        let twice = [&of_report(report)[..], &out].concat();
        files.refused(&twice, Stdio::null(), "would be written twice");
    }
    let directory = ["dedup", "docs.jsonl", "-o", "old", "--force"];
    files.refused(&directory, Stdio::null(), "old is a directory");
    let other = ["dedup", "docs.jsonl", "--output-dir", "out", "--force"];
    assert_eq!(files.run(&other, Stdio::null()).0, Some(0));
    assert_eq!(files.run(&other, Stdio::null()).0, Some(0), "a shard is no input");
}

#[test]
fn replaced_files_stay_private() {
    let files = Files::new();
    let out = put(files.dir.path(), "out", "old");
    let docs = files.at("docs.jsonl").to_str().unwrap().to_owned();
    for mode in [0o600, 0o644] {
        fs::set_permissions(&out, Permissions::from_mode(mode)).unwrap();
        let ended = akin(&["dedup", &docs, "-o", &out, "--force"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(File::open(&out).unwrap().metadata().unwrap().mode() & 0o777, mode);
        assert!(fs::read_to_string(&out).unwrap().starts_with("{\"id\":\"a\""));
    }
}
