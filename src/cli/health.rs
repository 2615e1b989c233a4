//! `akin health`: for whoever watches over a server.

use std::process::ExitCode;

use super::client::{Client, Server};
use super::failure::Failure;

/// Ask a server whether it is ready: exit code 0 if so, 1 otherwise
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    server: Server,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let client = Client::new(&arguments.server.url)?;
    let response = client.get("/readyz")?;
    Client::body(response)?;
    Ok(ExitCode::SUCCESS)
}
