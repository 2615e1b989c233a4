//! Connections that take all file descriptors.

use std::net::TcpStream;
use std::process::Command;

use crate::client::Client;
use crate::model::Model;
use crate::server::Server;

/// akin with a limit of open files.
fn start(limit: u32, data: &std::path::Path, connections_max: &str) -> Result<Server, String> {
    let mut command = Command::new("sh");
    let akin = env!("CARGO_BIN_EXE_akin");
    let script = format!("ulimit -n {limit}; exec {akin} serve --listen 127.0.0.1:0 --data-dir $0");
    command.args(["-c", &script]).arg(data);
    command.env("AKIN__LOG__FORMAT", "json");
    command.env("AKIN__SERVER__CONNECTIONS_MAX", connections_max);
    Server::spawn(command)
}

#[test]
fn connections_leave_the_store_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(400, dir.path(), "4096").unwrap();
    assert!(server.log().contains("connections_max is lowered"), "{}", server.log());
    let (client, mut model) = (Client::new(&server.url), Model::new());
    client.get("/healthz").unwrap();
    let address = server.url.trim_start_matches("http://").to_owned();
    let idle: Vec<TcpStream> = (0..600).map_while(|_| TcpStream::connect(&address).ok()).collect();
    assert!(idle.len() > 200, "{}", idle.len());
    // The client's own connection was there before.
    model.add(&client, "default", "a").unwrap();
    model.check(&client).unwrap();
    assert!(client.bytes("/backup").unwrap().len() > 1_000);
    drop(idle);
    model.add(&Client::new(&server.url), "default", "b").unwrap();
    assert!(server.is_running());
    assert!(server.stop().0.success());
}

#[test]
fn a_limit_that_leaves_no_connections_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = start(48, dir.path(), "4096").err().unwrap();
    assert!(refused.contains("open files"), "{refused}");
}
