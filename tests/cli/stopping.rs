//! Signals to stop: during the start, and with a load balancer in front.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpStream;

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::process::Process;
use crate::serving::Serving;
use crate::{akin, command};

/// The exit codes that a shell reports for processes ended by SIGINT and SIGTERM.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

fn send(name: &str, process: u32) {
    let kill = format!("kill -{name} {process}");
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// The kernel drops a signal without a handler if the process has the number 1, so the exit code
/// has to be the handler's.
#[test]
fn a_signal_that_comes_before_the_settings_are_read_ends_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("akin.toml");
    mkfifoat(CWD, &config, Mode::RUSR | Mode::WUSR).unwrap();
    for (signal, code) in [("TERM", TERMINATED), ("INT", INTERRUPTED)] {
        let mut serve = command(&["serve", "--config", config.to_str().unwrap()]);
        let mut child = serve.stderr(std::process::Stdio::null()).spawn().unwrap();
        // Opens once akin reads the settings, which then never end.
        let settings = OpenOptions::new().write(true).open(&config).unwrap();
        send(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        drop(settings);
    }
}

fn serving(dir: &std::path::Path, shutdown_delay_ms: &str) -> Process {
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
    serve.arg(dir).env("AKIN__SERVER__SHUTDOWN_DELAY_MS", shutdown_delay_ms);
    let mut process = Process::spawn(serve).unwrap();
    process.await_ready().unwrap();
    process
}

const NOT_READY: &str = "stopping: not ready, connections are still accepted";

#[test]
fn a_server_that_stops_is_not_ready_before_it_accepts_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = serving(dir.path(), "600000");
    let connection = |process: &Process| {
        let answer = ureq::get(format!("{}/stats", process.url)).call().unwrap();
        answer.headers().get("connection").map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(connection(&process), None);
    process.signal("TERM");
    assert!(process.await_line(NOT_READY));
    // A client that kept its connection would lose the request that meets the end of the server.
    assert_eq!(connection(&process).as_deref(), Some("close"));
    let address = process.url.strip_prefix("http://").unwrap();
    let mut old = TcpStream::connect(address).unwrap();
    let stats = format!("GET /stats HTTP/1.0\r\nhost: {address}\r\nconnection: keep-alive\r\n\r\n");
    old.write_all(stats.as_bytes()).unwrap();
    // The end of the answer is the end of the connection.
    let answer = std::io::read_to_string(old).unwrap().to_ascii_lowercase();
    let closes: Vec<_> = answer.lines().filter(|line| line.starts_with("connection:")).collect();
    assert_eq!(closes, ["connection: close"], "{answer}");
    // Each command opens a connection of its own.
    let health = akin(&["health", "--url", &process.url]);
    assert_eq!(health.code, Some(1));
    assert!(health.stderr.contains("the server is stopping"), "{}", health.stderr);
    let stats = akin(&["stats", "--url", &process.url]);
    assert_eq!(stats.code, Some(0), "{}", stats.stderr);
    // Nobody has to wait for the end of the delay.
    process.signal("TERM");
    assert_eq!(process.end().0.code(), Some(INTERRUPTED));
}

#[test]
fn after_the_delay_the_listener_closes_and_the_server_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = serving(dir.path(), "1");
    process.signal("TERM");
    let (status, log) = process.end();
    assert!(status.success(), "{log}");
    let at = |message: &str| log.find(message).unwrap_or_else(|| panic!("no {message} in {log}"));
    assert!(at(NOT_READY) < at("stopping: requests in progress may finish"), "{log}");
    assert_eq!(akin(&["health", "--url", &process.url]).code, Some(1));
}

#[test]
fn without_a_delay_the_listener_closes_at_once() {
    let serving = Serving::start();
    serving.wait_until_ready();
    serving.signal("INT");
    serving.wait_for_log("stopping: requests in progress may finish");
    assert!(!serving.log().contains(NOT_READY), "{}", serving.log());
    assert!(serving.ended().success());
}
