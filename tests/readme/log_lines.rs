//! The log lines and errors that the pages name are written by the sources.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// What stands in a line for a value.
const VALUES: [&str; 10] = ["…", "'ID'", " N ", " N,", " N;", " N)", " M ", " M:", " A ", " B "];

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let code = source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
            for line in code {
                // A string that goes on in the next line.
                match line.strip_suffix('\\') {
                    Some(begun) => text.push_str(begun),
                    None => writeln!(text, "{line}").unwrap(),
                }
            }
        }
    }
}

/// The parts of a line between its values.
fn parts(line: &str) -> Vec<String> {
    let marked = VALUES.iter().fold(format!(" {line} "), |line, value| line.replace(value, "\0"));
    let parts = marked.split('\0').map(str::trim).filter(|part| part.len() > 3);
    parts.map(str::to_owned).collect()
}

/// What stands between every two of the marks.
fn between<'a>(text: &'a str, begin: &str, end: char) -> Vec<&'a str> {
    text.split(begin).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

#[test]
fn named_log_lines_are_written_somewhere() {
    let read = |page: &str| fs::read_to_string(super::root().join(page)).unwrap();
    let mut written = String::new();
    for folder in
        ["src", "crates/akin-engine/src", "crates/akin-files/src", "crates/akin-model/src"]
    {
        sources(&super::root().join(folder), &mut written);
    }

    let operations = read("docs/operations.md");
    let (_, failures) = operations.split_once("## Failures").unwrap();
    let (failures, _) = failures.split_once("\n## ").unwrap();
    let rows = failures.lines().filter(|line| line.starts_with('|')).skip(2);
    let columns: Vec<&str> = rows.filter_map(|row| row.split(" | ").nth(1)).collect();
    let quoted = |column: &str| {
        let pieces = column.split('`').skip(1).step_by(2);
        pieces.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = columns.into_iter().flat_map(quoted).collect();
    let reliability = read("docs/reliability.md");
    lines.extend(between(&reliability, "log \"", '"').into_iter().map(str::to_owned));
    lines.extend(between(&reliability, "log then has \"", '"').into_iter().map(str::to_owned));

    assert!(lines.len() > 30, "{lines:?}");
    for line in lines {
        for part in parts(&line) {
            assert!(written.contains(&part), "no source has {part:?} of the line {line:?}");
        }
    }
}
