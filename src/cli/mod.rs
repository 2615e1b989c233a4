//! The command line. Data goes to stdout, everything else to stderr.

mod client;
mod failure;
mod import;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Near-duplicate search as a service.
#[derive(Parser)]
#[command(version, about, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Import(import::Arguments),
}

/// Exit code 0: done; 1: failed; 2: wrong arguments.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Import(arguments) => import::run(arguments),
    };
    match done {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
