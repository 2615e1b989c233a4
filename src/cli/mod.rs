//! The command line. Data goes to stdout, everything else to stderr.

mod backup;
mod check_config;
mod client;
mod clusters;
mod collections;
mod compare;
mod curve;
mod demo;
mod documents;
mod examples;
mod export;
mod failure;
mod health;
mod import;
mod interrupt;
mod keys;
mod man;
mod pairs;
mod reindex;
mod remote;
mod restore;
mod serve;
mod similar;
mod stats;
#[cfg(test)]
mod tests;
mod verify;

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use serde_json::Value;

use self::failure::Failure;
use crate::http::{openapi_json, openapi_yaml};
use akin_files::output::print_json;
use akin_files::{decontaminate, dedup, evaluate, passages, sketch};

/// A near-duplicate search server (MinHash LSH with exact Jaccard verification)
#[derive(Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Backup(backup::Arguments),
    Restore(restore::Arguments),
    Reindex(reindex::Arguments),
    Collections(collections::Arguments),
    Get(documents::Get),
    Delete(documents::Delete),
    Stats(stats::Arguments),
    Clusters(clusters::Arguments),
    Keys(keys::Arguments),
    Verify(verify::Arguments),
    Similar(similar::Arguments),
    Compare(compare::Arguments),
    Curve(curve::Arguments),
    Dedup(dedup::Arguments),
    Decontaminate(decontaminate::Arguments),
    Pairs(pairs::Arguments),
    Passages(passages::Arguments),
    Sketch(sketch::Arguments),
    Evaluate(evaluate::Arguments),
    Demo(demo::Arguments),
    CheckConfig(check_config::Arguments),
    Health(health::Arguments),
    /// Write a shell completion script
    Completions {
        shell: Shell,
    },
    Man(man::Arguments),
    /// Write the OpenAPI document, as YAML
    Openapi {
        /// Write JSON instead
        #[arg(long)]
        json: bool,
    },
}

/// How a command reports its work.
#[derive(Args)]
struct Reporting {
    /// Write a summary as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Reporting {
    /// Writes the summary: to stdout as JSON, or to stderr as a sentence.
    fn summarise(&self, json: &Value, text: &str) -> Result<(), Failure> {
        if self.json {
            return print_json(json);
        }
        eprintln!("{text}");
        Ok(())
    }
}

/// Exit code 0: success; 1: failure; 2: wrong arguments; 130: interrupted.
#[must_use]
pub fn main() -> ExitCode {
    if let Err(error) = interrupt::watch() {
        return failure::report(Failure::new(format!("cannot wait for signals: {error}")));
    }
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match cli.command {
        Command::Serve(arguments) => serve::run(arguments).map(success),
        Command::Import(arguments) => import::run(arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Backup(arguments) => backup::run(&arguments).map(success),
        Command::Restore(arguments) => restore::run(arguments).map(success),
        Command::Reindex(arguments) => reindex::run(arguments).map(success),
        Command::Collections(arguments) => collections::run(arguments).map(success),
        Command::Get(arguments) => documents::get(&arguments),
        Command::Delete(arguments) => documents::delete(&arguments).map(success),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Clusters(arguments) => clusters::run(&arguments).map(success),
        Command::Keys(arguments) => keys::run(arguments).map(success),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Similar(arguments) => similar::run(&arguments).map(success),
        Command::Compare(arguments) => compare::run(arguments).map(success),
        Command::Curve(arguments) => curve::run(arguments).map(success),
        Command::Dedup(arguments) => dedup::run(arguments, serve::collection),
        Command::Decontaminate(arguments) => decontaminate::run(arguments),
        Command::Pairs(arguments) => pairs::run(arguments),
        Command::Passages(arguments) => passages::run(arguments),
        Command::Sketch(arguments) => sketch::run(arguments, serve::collection),
        Command::Evaluate(arguments) => evaluate::run(arguments, serve::collection),
        Command::Demo(arguments) => demo::run(arguments),
        Command::CheckConfig(arguments) => check_config::run(arguments).map(success),
        Command::Health(arguments) => health::run(arguments).map(success),
        Command::Completions { shell } => write(&completions(shell)).map(success),
        Command::Man(arguments) => man::run(&arguments).map(success),
        Command::Openapi { json: false } => write(openapi_yaml().as_bytes()).map(success),
        Command::Openapi { json: true } => write((openapi_json() + "\n").as_bytes()).map(success),
    };
    done.unwrap_or_else(failure::report)
}

/// The whole command line, as `--help`, manual pages and completions show it.
fn command() -> clap::Command {
    examples::add(Cli::command())
}

fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "akin", &mut script);
    script
}

fn write(data: &[u8]) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(data)?;
    Ok(out.flush()?)
}

fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
