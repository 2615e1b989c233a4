//! The house rules that are written as absences, held against the source.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, bottom up: each may use only those before it.
const LAYERS: [&str; 19] = [
    "document",
    "budget",
    "connector",
    "simd",
    "text",
    "sketch",
    "measure",
    "scheme",
    "index",
    "join",
    "storage",
    "backend",
    "engine",
    "http",
    "config",
    "telemetry",
    "app",
    "cli",
    "fuzzing",
];

/// What some layers must do without.
const FORBIDDEN: [(&[&str], &[&str]); 4] = [
    (
        &["document", "budget", "simd", "text", "sketch", "measure", "scheme", "index", "join"],
        &["tokio", "axum", "serde_json", "metrics", "std::fs", "std::net", "std::time", "tracing"],
    ),
    (&["storage"], &["crate::index", "crate::join", "axum", "metrics"]),
    (&["backend", "engine"], &["axum", "metrics::"]),
    (&["http"], &["rusqlite"]),
];

fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
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
                let source = fs::read_to_string(&path).unwrap();
                sources.push((layer, relative, source));
            }
        }
    }
    sources
}

/// The code of a file: without comments, and without its tests, which may use what they like.
fn code(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod ").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs" || part == "testing.rs")
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|known| *known == layer)
}

/// The layers that a piece of code names, as `crate::layer`.
fn uses(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("crate::").map(|(at, prefix)| {
        let rest = &code[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn a_layer_uses_only_those_before_it() {
    let mut checked = 0;
    for (layer, path, source) in sources().iter().filter(|(_, path, _)| !is_test(path)) {
        if layer == "lib" || layer == "main" {
            continue;
        }
        let own = rank(layer).unwrap_or_else(|| panic!("{layer} is not a known layer"));
        let code = code(source);
        assert!(!code.contains("use crate::{"), "{}: one `use` a layer", path.display());
        for used in uses(&code).filter(|used| *used != layer.as_str()) {
            let used_rank = rank(used).unwrap_or_else(|| panic!("{}: {used}?", path.display()));
            assert!(used_rank < own, "{} must not use crate::{used}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 50, "the imports were not found: {checked}");
}

#[test]
fn the_core_does_without_the_world() {
    for (layer, path, source) in sources().iter().filter(|(_, path, _)| !is_test(path)) {
        for (_, forbidden) in
            FORBIDDEN.iter().filter(|(layers, _)| layers.contains(&layer.as_str()))
        {
            for name in *forbidden {
                assert!(!code(source).contains(name), "{} must do without {name}", path.display());
            }
        }
    }
}

#[test]
fn there_are_no_rooms_for_odds_and_ends() {
    for (_, path, _) in sources() {
        for part in path.iter().map(|part| part.to_str().unwrap().trim_end_matches(".rs")) {
            assert!(!["util", "utils", "helpers", "common", "prelude"].contains(&part), "{part}");
        }
    }
}

#[test]
fn files_fit_in_a_head() {
    for (_, path, source) in sources() {
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
    for (layer, path, source) in sources() {
        assert!(layer == "simd" || !source.contains("allow(unsafe_code"), "{}", path.display());
        for (at, _) in source.match_indices("unsafe {") {
            let before = source[..at].lines().rev().take(5);
            let says_why = before.into_iter().any(|line| line.contains("// SAFETY: "));
            assert!(says_why, "{}: an unsafe block without its reason", path.display());
        }
    }
}
