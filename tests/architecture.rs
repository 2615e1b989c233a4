//! The house rules that are written as absences, held against the source.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

/// The layers of the server, bottom up: each may use only those before it. That no crate below uses
/// any of them is held by the compiler.
const LAYERS: [&str; 6] = ["trusted_file", "http", "config", "telemetry", "app", "cli"];

/// The layers of the engine's crate, likewise.
const ENGINE_LAYERS: [&str; 6] = ["budget", "background", "stored", "storage", "backend", "engine"];

/// The layers of the commands on files, likewise.
const FILES_LAYERS: [&str; 17] = [
    "failure",
    "failures",
    "feature",
    "interrupt",
    "memory",
    "meter",
    "input",
    "output",
    "offline",
    "corpus",
    "templates",
    "dedup",
    "pairs",
    "evaluate",
    "decontaminate",
    "passages",
    "sketch",
];

/// Modules of crates below that are known here by their names.
const BELOW: [&str; 7] =
    ["document", "budget", "background", "stored", "storage", "backend", "engine"];

/// The layers of the core, likewise.
const CORE_LAYERS: [&str; 9] =
    ["document", "simd", "text", "measure", "sketch", "scheme", "index", "join", "passages"];

/// The names that the core and the model do without. The compiler holds both only to their lists of
/// dependencies.
const FORBIDDEN_IN_CORE: [&str; 4] = ["std::fs", "std::net", "std::time", "std::env"];

/// The names that some layers of the server do without.
const FORBIDDEN: [(&[&str], &[&str]); 3] = [
    (&["budget"], &["tokio", "std::fs", "std::net", "std::time", "tracing"]),
    (&["storage"], &["akin_core::index", "akin_core::join"]),
    (&["engine"], &["crate::storage"]),
];

/// A source file, with the layer that it belongs to.
struct Source {
    layer: String,
    path: PathBuf,
    text: String,
}

fn server() -> Vec<Source> {
    sources("src")
}

fn engine() -> Vec<Source> {
    sources("crates/akin-engine/src")
}

fn files() -> Vec<Source> {
    sources("crates/akin-files/src")
}

fn core() -> Vec<Source> {
    sources("crates/akin-core/src")
}

fn model() -> Vec<Source> {
    sources("crates/akin-model/src")
}

fn all() -> impl Iterator<Item = Source> {
    server().into_iter().chain(engine()).chain(files()).chain(core()).chain(model())
}

fn postgres() -> Vec<Source> {
    sources("crates/akin-postgres/src")
}

fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).unwrap().to_owned();
                let layer = relative.iter().next().unwrap().to_str().unwrap();
                let layer = layer.trim_end_matches(".rs").to_owned();
                let text = fs::read_to_string(&path).unwrap();
                sources.push(Source { layer, path: relative, text });
            }
        }
    }
    sources
}

/// The code of a file: without comments, and without its tests, which may use what they like. A
/// test module ends with the first line that closes a brace at its own depth.
fn code(source: &str) -> String {
    let mut code = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let indent = &line[..line.len() - line.trim_start().len()];
            let end = format!("{indent}}}");
            let item = lines.find(|line| !line.trim_start().starts_with("#[")).unwrap_or_default();
            if item.ends_with('{') {
                lines.find(|line| *line == end);
            }
        } else if !line.trim_start().starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs" || part == "testing.rs")
}

/// The layers that a piece of code names, as `crate::layer`.
fn uses(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("crate::").map(|(at, prefix)| {
        let rest = &code[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

/// How many uses of other layers there are; each is checked.
fn checked_uses(sources: &[Source], layers: &[&str]) -> usize {
    let rank = |layer: &str| layers.iter().position(|known| *known == layer);
    let mut checked = 0;
    for Source { layer, path, text } in sources.iter().filter(|source| !is_test(&source.path)) {
        if ["lib", "main", "fuzzing"].contains(&layer.as_str()) {
            continue;
        }
        let own = rank(layer).unwrap_or_else(|| panic!("{layer} is not a known layer"));
        let code = code(text);
        assert!(!code.contains("use crate::{"), "{}: one `use` a layer", path.display());
        let below = |used: &&str| BELOW.contains(used) && rank(used).is_none();
        for used in uses(&code).filter(|used| *used != layer.as_str() && !below(used)) {
            let used_rank = rank(used).unwrap_or_else(|| panic!("{}: {used}?", path.display()));
            assert!(used_rank < own, "{} must not use crate::{used}", path.display());
            checked += 1;
        }
    }
    checked
}

#[test]
fn a_layer_uses_only_those_before_it() {
    let checked = checked_uses(&server(), &LAYERS)
        + checked_uses(&engine(), &ENGINE_LAYERS)
        + checked_uses(&files(), &FILES_LAYERS)
        + checked_uses(&core(), &CORE_LAYERS);
    assert!(checked > 250, "the imports were not found: {checked}");
}

#[test]
fn test_modules_alone_are_left_out_of_the_checked_code() {
    let source = "a();\n#[cfg(test)]\nmod tests {\n    b();\n}\nc();\n#[cfg(test)]\nmod d;\ne();\n";
    assert_eq!(code(source), "a();\nc();\ne();\n");
}

#[test]
fn the_core_does_without_the_world() {
    let check = |source: &Source, forbidden: &[&str]| {
        let code = code(&source.text);
        for name in forbidden {
            assert!(!code.contains(name), "{} must do without {name}", source.path.display());
        }
    };
    for source in core().iter().chain(&model()).filter(|source| !is_test(&source.path)) {
        check(source, &FORBIDDEN_IN_CORE);
    }
    for source in server().iter().chain(&engine()).filter(|source| !is_test(&source.path)) {
        for (_, forbidden) in
            FORBIDDEN.iter().filter(|(layers, _)| layers.contains(&source.layer.as_str()))
        {
            check(source, forbidden);
        }
    }
}

/// The compiler holds each crate to its list of dependencies; this holds the list of the crate of
/// files to what a library without async, HTTP and SQL needs.
#[test]
fn files_are_worked_on_without_async_http_and_sql() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let packages: Vec<&str> = lock.split("[[package]]").collect();
    let needs = |name: &str| -> Vec<&str> {
        let head = format!("name = \"{name}\"\n");
        let package = packages.iter().find(|package| package.trim_start().starts_with(&head));
        let package = package.unwrap_or_else(|| panic!("{name} is in the lock file"));
        let needs = package.split_once("dependencies = [").map_or("", |(_, needs)| needs);
        let names = needs.lines().filter_map(|line| line.trim().strip_prefix('"'));
        names.filter_map(|name| name.split(['"', ' ']).next()).collect()
    };
    let mut reached = vec!["akin-files"];
    let mut at = 0;
    while at < reached.len() {
        let further = needs(reached[at]);
        reached
            .extend(further.into_iter().filter(|name| !reached.contains(name)).collect::<Vec<_>>());
        at += 1;
    }
    assert!(reached.contains(&"akin-core"), "the lock file was not understood: {reached:?}");
    for forbidden in ["akin-engine", "tokio", "axum", "hyper", "rusqlite", "libsqlite3-sys"] {
        assert!(!reached.contains(&forbidden), "akin-files must do without {forbidden}");
    }
}

/// A backend is a crate, its settings, and what opens it: nothing else of the product names it.
/// CONTRIBUTING.md has the list with the manifest, the default settings and the tests.
#[test]
fn few_files_name_a_backend() {
    let names = |of: &Source| code(&of.text).to_lowercase().contains("postgres");
    let mut naming: Vec<PathBuf> = all().filter(names).map(|of| of.path).collect();
    naming.sort_unstable();
    assert_eq!(naming, ["config/backends.rs", "config/settings.rs"].map(PathBuf::from));
}

#[test]
fn there_are_no_rooms_for_odds_and_ends() {
    for Source { path, .. } in all() {
        for part in path.iter().map(|part| part.to_str().unwrap().trim_end_matches(".rs")) {
            assert!(!["util", "utils", "helpers", "common", "prelude"].contains(&part), "{part}");
        }
    }
}

#[test]
fn files_fit_in_a_head() {
    for Source { path, text: source, .. } in all().chain(postgres()) {
        let lines = source.lines().count();
        assert!(lines <= 400, "{} has {lines} lines, more than 400", path.display());
        let longest = source.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest <= 100, "{} has a line of {longest} characters", path.display());
    }
}

#[test]
fn unsafe_code_is_in_one_folder_and_says_why() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    assert!(manifest.unwrap().contains("unsafe_code = \"deny\""));
    for Source { layer, path, text: source } in all() {
        assert!(layer == "simd" || !source.contains("allow(unsafe_code"), "{}", path.display());
        for (at, _) in source.match_indices("unsafe {") {
            let before = source[..at].lines().rev().take(5);
            let says_why = before.into_iter().any(|line| line.contains("// SAFETY: "));
            assert!(says_why, "{}: an unsafe block without its reason", path.display());
        }
    }
}
