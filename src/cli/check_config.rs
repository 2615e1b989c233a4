//! `akin check-config`: the effective settings, or every fault in them.

use std::io::{Write, stdout};

use clap::Args;

use super::failure::Failure;
use super::serve::ConfigFile;
use akin_files::output::print_json;

/// Show the effective settings, or every fault in them
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    config: ConfigFile,
    /// Write JSON instead of TOML
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let settings = arguments.config.settings(vec![])?;
    if arguments.json {
        return print_json(&settings);
    }
    let text = toml::to_string(&settings).map_err(std::io::Error::other)?;
    stdout().write_all(text.as_bytes())?;
    Ok(())
}
