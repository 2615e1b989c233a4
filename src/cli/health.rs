//! `akin health`: a check for supervisors and container runtimes.

use std::process::ExitCode;

use super::client::{Server, read_whole};
use super::failure::Failure;

/// Ask a server whether it is ready: exit code 0 if so, 1 otherwise
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    server: Server,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let client = arguments.server.client()?;
    let response = client.get("/readyz")?;
    read_whole(response)?;
    Ok(ExitCode::SUCCESS)
}
