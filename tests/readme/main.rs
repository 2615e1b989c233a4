//! Does what README.md says, in its order, and compares what comes with what it shows.
//!
//! A ```sh block is run by bash; the ```json or ```text block that follows it is what it prints.
//! ```console blocks are for reading only. `UPDATE=1 cargo test --test readme` rewrites what is
//! shown from what came.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod json;
mod output;
mod page;
mod reading;
#[path = "../serving/mod.rs"]
mod serving;

use std::fs;
use std::path::PathBuf;

use self::page::Page;
use self::reading::Reading;

fn page() -> (PathBuf, Page) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let page = Page::parse(&fs::read_to_string(&path).unwrap());
    (path, page)
}

#[test]
fn the_readme_shows_what_happens() {
    let (path, mut page) = page();
    let reading = Reading::start();
    let mut differences = Vec::new();
    let mut printed = Vec::new();
    for example in page.examples() {
        let came = reading.run(&example.commands);
        let shown = example.shown.as_ref();
        let shown = shown.map(|shown| (shown.language, page.text(&shown.lines)));
        if let Err(difference) = output::compare(shown.as_ref(), &came) {
            differences.push(format!("README.md:{}: {difference}", example.line));
            printed.push((example.clone(), came.text));
        }
    }
    if std::env::var_os("UPDATE").is_none() {
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
        return;
    }
    for (example, text) in printed.into_iter().rev() {
        let Some(shown) = example.shown else { continue };
        let lines = output::show(shown.language, &page.text(&shown.lines), &text);
        page.replace(shown.lines, &lines);
    }
    fs::write(path, page.to_string()).unwrap();
}

#[test]
fn the_readme_shows_every_path() {
    let (_, page) = page();
    let commands: Vec<&str> = page.examples().iter().map(|e| e.commands.as_str()).collect();
    let commands = commands.join("\n");
    let openapi = include_str!("../../openapi.yaml");
    let paths = openapi.lines().filter_map(|line| line.strip_prefix("  /")?.strip_suffix(':'));
    let paths: Vec<&str> = paths.map(|path| path.split('{').next().unwrap()).collect();
    assert!(paths.len() > 8, "{paths:?}");
    for path in paths {
        assert!(commands.contains(&format!(":2546/{path}")), "no example of /{path}");
    }
}

#[test]
fn the_readme_fits_a_window() {
    let (_, page) = page();
    for (number, line) in page.to_string().lines().enumerate() {
        assert!(line.chars().count() <= 120, "README.md:{} is too long", number + 1);
    }
}
