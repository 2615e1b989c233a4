//! Runs the commands of README.md and of the pages in docs/, in order, and compares their outputs
//! with the outputs on the pages.
//!
//! Each page has a server, a directory with `dump.parquet` and `crawl.warc`, and a bash of its own.
//! Bash runs the block ```sh, which prints the block ```json or ```text after it. The block ```toml
//! is a configuration that `akin check-config` accepts. The block ```console needs more than a test
//! has (root, a network, Docker) and is counted in `NOT_RUN`. `UPDATE=1 cargo test --test readme`
//! writes the outputs, and the plots, into the pages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod figures;
mod folds;
mod given;
mod json;
mod limits;
mod links;
mod log_lines;
mod output;
mod page;
mod plots;
mod reading;
#[path = "../serving/mod.rs"]
mod serving;
mod tables;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use self::page::Page;
use self::reading::Reading;

/// How many blocks of a page no test runs.
const NOT_RUN: [(&str, usize); 8] = [
    ("README.md", 3),
    ("docs/benchmarks.md", 1),
    ("docs/crawling.md", 2),
    ("docs/formats.md", 1),
    ("docs/install.md", 8),
    ("docs/postgres.md", 2),
    ("docs/quickstart.md", 1),
    ("docs/security.md", 1),
];

/// Pages that are tried at the same time.
const READERS: usize = 4;

const README_LINES_MAX: usize = 300;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<Page> {
    let documented = |path: &PathBuf| path.starts_with("docs") || path == Path::new("README.md");
    let paths = links::markdown_files(root()).into_iter().filter(documented);
    paths.map(|path| Page::parse(&path, &fs::read_to_string(root().join(&path)).unwrap())).collect()
}

fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

#[test]
fn the_pages_show_what_happens() {
    // Before the pages are read, as these passages are in the same files.
    let differences = Mutex::new(figures::differences());
    let waiting = Mutex::new(pages());
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                loop {
                    let Some(mut page) = waiting.lock().unwrap().pop() else { return };
                    let found = differences_of(&mut page);
                    differences.lock().unwrap().extend(found);
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    assert!(is_update() || differences.is_empty(), "{}", differences.join("\n\n"));
}

/// What a page shows otherwise than it comes; with `UPDATE` the page then shows it as it came.
fn differences_of(page: &mut Page) -> Vec<String> {
    if page.examples().is_empty() && page.settings().is_empty() {
        return Vec::new();
    }
    let reading = Reading::start();
    let mut differences = Vec::new();
    for (line, lines) in page.settings() {
        if let Err(faults) = reading.accepts(&page.text(lines)) {
            differences.push(format!("{}:{line}: {faults}", page.name()));
        }
    }
    let mut printed = Vec::new();
    for example in page.examples() {
        let came = reading.run(&example.commands);
        let shown = example.shown.as_ref();
        let shown = shown.map(|shown| (shown.language, page.text(&shown.lines)));
        if let Err(difference) = output::compare(shown.as_ref(), &came) {
            differences.push(format!("{}:{}: {difference}", page.name(), example.line));
            printed.push((example.clone(), came.text));
        }
    }
    if is_update() {
        update(page, printed);
    }
    differences
}

fn update(page: &mut Page, printed: Vec<(page::Example, String)>) {
    for (example, text) in printed.into_iter().rev() {
        let Some(shown) = example.shown else { continue };
        let lines = output::show(shown.language, &page.text(&shown.lines), &text);
        page.replace(shown.lines, &lines);
    }
    fs::write(root().join(page.name()), page.to_string()).unwrap();
}

#[test]
fn few_blocks_are_not_run() {
    let mut counted = String::new();
    for page in pages().iter().filter(|page| page.not_run() > 0) {
        writeln!(counted, "{} {}", page.name(), page.not_run()).unwrap();
    }
    let known: String = NOT_RUN.map(|(page, blocks)| format!("{page} {blocks}\n")).concat();
    assert_eq!(counted, known, "the pages' ```console blocks, and those in NOT_RUN");
}

#[test]
fn every_path_has_an_example() {
    let pages = pages();
    let commands: Vec<&str> =
        pages.iter().flat_map(Page::examples).map(|e| e.commands.as_str()).collect();
    let commands = commands.join("\n");
    let openapi = include_str!("../../openapi.yaml");
    let paths = openapi.lines().filter_map(|line| line.strip_prefix("  /")?.strip_suffix(':'));
    let paths: Vec<&str> = paths.map(|path| path.split('{').next().unwrap()).collect();
    assert!(paths.len() > 8, "{paths:?}");
    for path in paths {
        assert!(commands.contains(&format!(":2546/{path}")), "no example of /{path} in docs/");
    }
}

#[test]
fn every_command_has_a_row() {
    let akin = std::process::Command::new(env!("CARGO_BIN_EXE_akin")).arg("help").output().unwrap();
    let help = String::from_utf8(akin.stdout).unwrap();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then_some(name)
    });
    let page = fs::read_to_string(root().join("docs/command-line.md")).unwrap();
    for name in names {
        let has_row = |line: &str| line.starts_with('|') && line.contains(&format!("`{name}"));
        assert!(page.lines().any(has_row), "docs/command-line.md has no row for `akin {name}`");
    }
}

/// Those pages' programs are run by the tests of the clients.
#[test]
fn programs_are_those_of_the_clients() {
    let read = |page: &str| fs::read_to_string(root().join(page)).unwrap();
    let run = ["clients/python/README.md", "clients/js/README.md", "docs/clients.md"].map(read);
    let readme = read("README.md");
    let mut programs = 0;
    for block in readme
        .split("\n```")
        .filter(|block| block.starts_with("python\n") || block.starts_with("javascript\n"))
    {
        assert!(run.iter().any(|page| page.contains(block)), "no test runs:\n{block}");
        programs += 1;
    }
    assert_eq!(programs, 2);
}

#[test]
fn the_checks_run_the_test_command_of_the_readme() {
    let read = |page: &str| fs::read_to_string(root().join(page)).unwrap();
    let (readme, script) = (read("README.md"), read("tests/check.sh"));
    let command = readme.lines().find(|line| line.starts_with("cargo test")).unwrap();
    let is_run = script.lines().any(|line| line == format!("check {command}"));
    assert!(is_run, "tests/check.sh does not run `{command}`");
}

#[test]
fn the_readme_is_short_and_fits_a_window() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= README_LINES_MAX, "README.md has {lines} lines");
    for (number, line) in readme.lines().enumerate() {
        assert!(line.chars().count() <= 120, "README.md:{} is too long", number + 1);
    }
}
