//! `akin verify`: finds damage in a data directory, and advises.

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::failure::{Failure, hint_for_directory, report};
use super::serve::{ConfigFile, flags};
use crate::config;
use crate::engine::{Finding, Verification, verify_directory};
use akin_files::output::print_json;

/// The exit code if nothing could be checked.
const UNCHECKED: u8 = 2;

/// Check a data directory that no server has open, and advise on damage
///
/// Reads every document, log entry and snapshot, and compares each with its checksum. Changes
/// nothing. Exit code 0: sound; 1: damaged; 2: not checked, for example because a server runs.
#[derive(Args)]
pub struct Arguments {
    /// Where documents are kept [default: ./akin-data]
    #[arg(value_name = "DATA_DIR")]
    data_dir: Option<String>,
    #[command(flatten)]
    config: ConfigFile,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match verified(arguments) {
        Ok(verification) => {
            match arguments.json {
                true => print_json(&as_json(&verification))?,
                false => stdout().lock().write_all(as_text(&verification).as_bytes())?,
            }
            Ok(if verification.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Err(failure) => {
            report(failure);
            Ok(ExitCode::from(UNCHECKED))
        }
    }
}

fn verified(arguments: &Arguments) -> Result<Verification, Failure> {
    let data_dir = arguments.data_dir.clone();
    let settings = arguments.config.clone().settings(flags(None, data_dir))?;
    let data_dir = &settings.storage.data_dir;
    let root = config::collections_dir(data_dir);
    if data_dir.is_dir() && !root.exists() {
        return Ok(Verification::default());
    }
    verify_directory(&root, &settings.collection).map_err(|error| {
        let data_dir = "--data-dir names the directory of a server";
        let hint = hint_for_directory(&error).unwrap_or(data_dir);
        Failure::with_hint(error.to_string(), hint)
    })
}

fn as_json(verification: &Verification) -> Value {
    let finding = |finding: &Finding| {
        let severity = if finding.is_damage { "damage" } else { "note" };
        json!({"severity": severity, "what": finding.what, "remedy": finding.remedy})
    };
    let all = |findings: &[Finding]| findings.iter().map(finding).collect::<Vec<_>>();
    let collections = verification.collections.iter().map(|of| {
        json!({
            "name": of.name.as_str(),
            "directory": of.dir,
            "documents": of.inspection.documents,
            "findings": all(&of.inspection.findings),
        })
    });
    json!({
        "sound": verification.is_sound(),
        "collections": collections.collect::<Vec<_>>(),
        "findings": all(&verification.findings),
    })
}

fn as_text(verification: &Verification) -> String {
    let lines = |findings: &[Finding]| {
        let line = |finding: &Finding| {
            let severity = if finding.is_damage { "damage" } else { "note" };
            format!("  {severity}: {}\n    {}\n", finding.what, finding.remedy)
        };
        findings.iter().map(line).collect::<String>()
    };
    let of_collections = verification.collections.iter().map(|of| {
        let is_sound = !of.inspection.findings.iter().any(|finding| finding.is_damage);
        let state = if is_sound { "sound" } else { "damaged" };
        let documents = of.inspection.documents;
        format!("{}  {documents} documents, {state}\n", of.name) + &lines(&of.inspection.findings)
    });
    of_collections.collect::<String>() + &lines(&verification.findings)
}
