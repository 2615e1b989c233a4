//! docs/limits.md has every setting with a number, with its default, and tests that exist.

use std::collections::BTreeMap;
use std::fs;

use toml::{Table, Value};

use crate::root;

/// Rows of a table on the page: the cells.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let cells = |line| {
        let inner: &str = str::strip_suffix(str::strip_prefix(line, "| ")?, " |")?;
        Some(inner.split(" | ").map(str::trim).collect::<Vec<_>>())
    };
    page.lines().filter_map(cells).filter(|cells| !cells[0].starts_with("---")).collect()
}

/// What stands between the first pair of backticks.
fn quoted(cell: &str) -> Option<&str> {
    cell.split('`').nth(1)
}

fn numbers(table: &Table, prefix: &str, found: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let name = format!("{prefix}{key}");
        match value {
            Value::Table(table) => numbers(table, &format!("{name}."), found),
            Value::Integer(number) => drop(found.insert(name, number.to_string())),
            Value::Float(number) => drop(found.insert(name, number.to_string())),
            _ => {}
        }
    }
}

#[test]
fn the_page_of_limits_has_every_number() {
    let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let settings = fs::read_to_string(root().join("config/default.toml")).unwrap();
    let mut defaults = BTreeMap::new();
    numbers(&settings.parse().unwrap(), "", &mut defaults);
    assert!(defaults.len() > 40, "{defaults:?}");
    let rows = rows(&page);
    let (_, no_limits) = page.split_once("no limit\n").unwrap();
    for (name, default) in &defaults {
        let of_collections = name.strip_prefix("collection.limits.");
        let key = of_collections.unwrap_or(name);
        let row = rows.iter().find(|row| quoted(row[0]) == Some(key));
        match row {
            Some(row) => {
                let shown = row[1].split(' ').next();
                assert_eq!(shown, Some(default.as_str()), "{name} has another default");
            }
            None => assert!(no_limits.contains(&format!("`{name}`")), "{name} is missing"),
        }
    }
}

/// Whether a function is there, and has the attribute of a test.
fn is_test(source: &str, name: &str) -> bool {
    let Some(at) = source.find(&format!("fn {name}(")) else { return false };
    let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
    let above = source[..line].lines().rev();
    let mut attributes = above.map(str::trim).take_while(|line| line.starts_with(['#', '/']));
    attributes.any(|line| line == "#[test]" || line.starts_with("#[tokio::test"))
}

#[test]
fn every_limit_has_a_test_that_exists() {
    let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let mut count = 0;
    for row in rows(&page).iter().filter(|row| *row.last().unwrap() != "test") {
        let test = quoted(row.last().unwrap()).unwrap_or_else(|| panic!("{row:?} has no test"));
        let (file, name) = test.split_once("::").unwrap();
        let source = fs::read_to_string(root().join(file)).unwrap();
        assert!(is_test(&source, name), "{test} is no test");
        count += 1;
    }
    assert!(count > 70, "{count}");
}
