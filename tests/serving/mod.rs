//! A process of akin that serves, shared by the test crates: spawned, heard, and killed when
//! dropped.

#![allow(dead_code, reason = "each test crate uses a part of it")]

pub mod client;
mod log;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use self::log::Log;

pub struct Process {
    child: Child,
    /// Where it listens: host and port.
    pub address: String,
    pub url: String,
    log: Arc<Log>,
    /// Empties the pipe of the log, or the server would wait for it.
    reader: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts `akin serve`, whose log is JSON, and waits until it listens.
    ///
    /// # Errors
    /// It ended before that: how, and its log.
    pub fn spawn(mut command: Command) -> Result<Self, String> {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::<Log>::default();
        let copy = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| copy.push(line));
            copy.end();
        });
        let (address, url) = (String::new(), String::new());
        let mut process = Self { child, address, url, log, reader: Some(reader) };
        let Some(address) = process.log.find_map(listening) else { return Err(process.printed()) };
        process.url = format!("http://{address}");
        process.address = address;
        Ok(process)
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub fn await_ready(&mut self) -> Result<(), String> {
        self.await_line(r#""message":"ready""#);
        // The log says so an instant before it is.
        while self.is_running() {
            if ureq::get(format!("{}/readyz", self.url)).call().is_ok() {
                return Ok(());
            }
            pause();
        }
        Err(self.printed())
    }

    /// Waits for a line of the log with this, after the last one waited for; `false` if it ended.
    pub fn await_line(&self, part: &str) -> bool {
        self.log.find_map(|line| line.contains(part).then_some(())).is_some()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        self.log.text()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends a signal, if it still runs.
    pub fn signal(&self, name: &str) {
        // The shell knows the command by itself; a program of that name is not everywhere.
        let kill = format!("kill -{name} \"$0\" 2>&-");
        let _ = Command::new("sh").args(["-c", &kill, &self.id().to_string()]).status();
    }

    /// Waits until it has ended by itself or by a signal; with its log.
    pub fn end(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (status, self.log())
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.end();
    }

    fn printed(&mut self) -> String {
        let (status, log) = self.end();
        format!("{status}: {log}")
    }
}

/// Between two looks at what another process does, from which a loop without pauses would take the
/// processor.
pub fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

impl Drop for Process {
    fn drop(&mut self) {
        // Ended already, unless a test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listening(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    line["address"].as_str().map(str::to_owned)
}
