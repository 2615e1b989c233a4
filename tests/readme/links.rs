//! Relative links among the Markdown files of this repository: the file is there, and so is the
//! heading.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders with files of others.
const FOREIGN: [&str; 5] = ["target", "node_modules", "venv", "dist", "build"];

/// Relative to `root`, in order.
pub fn markdown_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if path.is_dir() && !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn links_lead_somewhere() {
    let root = super::root();
    let mut broken = Vec::new();
    for file in markdown_files(root) {
        let text = fs::read_to_string(root.join(&file)).unwrap();
        for target in targets(&text).into_iter().filter(|target| !has_scheme(target)) {
            if let Err(fault) = follow(root, &file, &text, &target) {
                broken.push(format!("{}: {target}: {fault}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_index_has_every_page() {
    let index = fs::read_to_string(super::root().join("docs/README.md")).unwrap();
    let linked: BTreeSet<String> = targets(&index).into_iter().collect();
    for page in markdown_files(&super::root().join("docs")) {
        let page = page.display().to_string();
        assert!(
            page == "README.md" || linked.contains(&page),
            "docs/README.md does not link {page}"
        );
    }
}

fn follow(root: &Path, from: &Path, text: &str, target: &str) -> Result<(), &'static str> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() {
        return has_anchor(text, anchor);
    }
    let path = resolved(&from.parent().unwrap_or(Path::new("")).join(path)).ok_or("outside")?;
    let path = root.join(path);
    if !path.exists() {
        return Err("no such file");
    }
    if anchor.is_empty() || path.extension().is_none_or(|extension| extension != "md") {
        return Ok(());
    }
    has_anchor(&fs::read_to_string(path).unwrap(), anchor)
}

/// Without `..`; nothing if it leads out of the repository.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if !resolved.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    Some(resolved)
}

fn has_anchor(text: &str, anchor: &str) -> Result<(), &'static str> {
    let mut slugs: Vec<String> = Vec::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let slug = slug(heading.trim_start_matches('#').trim());
        let before = slugs.iter().filter(|known| **known == slug).count();
        slugs.push(if before == 0 { slug } else { format!("{slug}-{before}") });
    }
    if slugs.iter().any(|slug| slug == anchor) { Ok(()) } else { Err("no such heading") }
}

/// The anchor of a heading, as forges make it.
fn slug(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || "-_".contains(c) => Some(c),
        _ => None,
    };
    heading.to_lowercase().chars().filter_map(kept).collect()
}

fn has_scheme(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.chars().all(char::is_alphabetic))
}

/// What the text links to or shows, code left out.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    // Links may be broken between their text and their target's line end, but not within either.
    for line in prose(text) {
        let line = without_code(line);
        for (start, end) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')] {
            for (at, _) in line.match_indices(start) {
                let rest = &line[at + start.len()..];
                targets.extend(rest.split_once(end).map(|(target, _)| target.to_owned()));
            }
        }
    }
    targets
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    })
}

#[test]
fn a_broken_link_is_noticed() {
    let text = "# A `b`: c\n[x](y.md#z) `[no](code)` ![p](q.svg)\n```\n[no](block)\n```\n# A b c\n";
    assert_eq!(targets(text), ["y.md#z", "q.svg"]);
    assert_eq!(has_anchor(text, "a-b-c"), Ok(()));
    assert_eq!(has_anchor(text, "a-b-c-1"), Ok(()));
    assert!(has_anchor(text, "a-b").is_err());
    let root = super::root();
    assert!(follow(root, Path::new("docs/x.md"), text, "../README.md").is_ok());
    assert!(follow(root, Path::new("docs/x.md"), text, "README.md#no-such-heading").is_err());
    assert!(follow(root, Path::new("docs/x.md"), text, "no_such_file.md").is_err());
    assert!(follow(root, Path::new("docs/x.md"), text, "../../README.md").is_err());
}
