//! `akin check-config`: the effective settings, or every fault in them.

use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};

use super::failure::Failure;
use super::serve::ConfigFile;

/// Show the effective settings, or every fault in them
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    config: ConfigFile,
    /// Write JSON instead of TOML
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let settings = arguments.config.settings(vec![])?;
    let value = serde_json::to_value(&settings).map_err(std::io::Error::from)?;
    let mut out = stdout().lock();
    match (value, arguments.json) {
        (Value::Object(sections), false) => out.write_all(toml(&sections).as_bytes())?,
        (value, _) => writeln!(out, "{value:#}")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// TOML of nested tables whose leaves are strings, numbers and truths, written as JSON writes them.
fn toml(sections: &Map<String, Value>) -> String {
    let mut lines = String::new();
    write_table("", sections, &mut lines);
    lines
}

fn write_table(path: &str, table: &Map<String, Value>, lines: &mut String) {
    let leaves: Vec<_> = table.iter().filter(|(_, value)| !value.is_object()).collect();
    if !leaves.is_empty() {
        let gap = if lines.is_empty() { "" } else { "\n" };
        let _ = writeln!(lines, "{gap}[{path}]");
    }
    for (key, value) in leaves {
        let _ = writeln!(lines, "{key} = {value}");
    }
    for (key, value) in table {
        if let Value::Object(inner) = value {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            write_table(&path, inner, lines);
        }
    }
}
