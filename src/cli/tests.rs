//! Holds the default of each option against the default of the API's parameter.

use std::collections::BTreeSet;

use clap::Arg;
use serde_json::{Value, json};

use super::command;
use crate::engine::CollectionSettings;
use crate::http::openapi_json;

/// The operation of the API that corresponds to a command.
const CALLS: [(&str, &str, &str); 8] = [
    ("dedup", "get", "/clusters"),
    ("clusters", "get", "/clusters"),
    ("pairs", "get", "/pairs"),
    ("evaluate", "get", "/pairs"),
    ("similar", "get", "/similar"),
    ("curve", "get", "/curve"),
    ("import", "post", "/documents"),
    ("export", "get", "/export"),
];

/// The reasons are in docs/command-line.md.
const DIFFERENT: [&str; 3] = [
    "dedup linkage: representative, not single",
    "export order: id, not stored",
    "pairs mode: exact, not verified",
];

/// Names for a default that comes from the settings.
const SETTINGS: [&str; 4] = ["configuration's", "settings'", "server's", "collection's"];

fn openapi() -> Value {
    serde_json::from_str(&openapi_json()).unwrap()
}

/// A value, `settings`, or nothing.
fn plain(default: &str) -> String {
    let default = default.trim_start_matches("the ").replace('`', "");
    let end = default.find(|c: char| c.is_whitespace() || ",;:]".contains(c));
    let word = default[..end.unwrap_or(default.len())].trim_end_matches('.');
    if SETTINGS.contains(&word) { "settings".into() } else { word.into() }
}

fn of_option(option: &Arg) -> String {
    if let Some(default) = option.get_default_values().first() {
        return default.to_string_lossy().into_owned();
    }
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    help.split_once("[default: ").map_or_else(String::new, |(_, default)| plain(default))
}

fn of_parameter(parameter: &Value) -> String {
    match &parameter["schema"]["default"] {
        Value::Null => {}
        Value::String(text) => return text.clone(),
        other => return other.to_string(),
    }
    let description = parameter["description"].as_str().unwrap_or_default().replace('\n', " ");
    let stated = description.split_once("y default ");
    stated.map_or_else(String::new, |(_, default)| plain(default))
}

#[test]
fn commands_have_the_defaults_of_the_api() {
    let document = openapi();
    let (mut compared, mut different) = (0, BTreeSet::new());
    for (name, method, path) in CALLS {
        let command = command();
        let command = command.find_subcommand(name).unwrap();
        let parameters = document["paths"][path][method]["parameters"].as_array().unwrap();
        for option in command.get_arguments() {
            let Some(long) = option.get_long().map(|long| long.replace('-', "_")) else { continue };
            let named = |wanted: &str| parameters.iter().find(|one| one["name"] == wanted);
            let Some(parameter) = named(&long) else {
                let switched_off = long.strip_prefix("no_").and_then(named);
                compared += usize::from(switched_off.is_some());
                assert!(switched_off.is_none_or(|on| of_parameter(on) == "true"), "{name} {long}");
                continue;
            };
            compared += 1;
            let (ours, theirs) = (of_option(option), of_parameter(parameter));
            if ours != theirs {
                different.insert(format!("{name} {long}: {ours}, not {theirs}"));
            }
        }
    }
    assert_eq!(different, DIFFERENT.map(str::to_owned).into());
    assert!(compared >= 22, "{compared} options have a parameter of their name");
}

#[test]
fn documented_settings_are_the_defaults() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    let mut compared = 0;
    for (section, of_section) in schemas["Settings"]["properties"].as_object().unwrap() {
        let Some(name) = of_section["$ref"].as_str() else { continue };
        let schema = &schemas[name.rsplit('/').next().unwrap()];
        for (key, property) in schema["properties"].as_object().unwrap() {
            let Some(documented) = property.get("default") else { continue };
            compared += 1;
            let settings: CollectionSettings =
                serde_json::from_value(json!({ section: { key: documented } })).unwrap();
            assert_eq!(settings, CollectionSettings::default(), "{section}.{key}: {documented}");
        }
    }
    assert!(compared >= 30, "{compared} settings have a documented default");
}
