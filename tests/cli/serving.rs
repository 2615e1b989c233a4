//! The real server, as a process.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::command;
use crate::process::{Process, pause};

/// `akin serve` on a free port.
pub struct Serving {
    process: Process,
    pub url: String,
    pub data_dir: PathBuf,
    /// The directory of its own, if it has one.
    dir: Option<tempfile::TempDir>,
}

impl Serving {
    /// Its store is in a directory of its own.
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut serving = Self::start_in(&dir.path().join("data"));
        serving.dir = Some(dir);
        serving
    }

    pub fn start_in(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &["--listen", "127.0.0.1:0"])
    }

    pub fn start_with(data_dir: &Path, options: &[&str]) -> Self {
        let mut serve = command(&["serve", "--data-dir"]);
        serve.arg(data_dir).args(options);
        let process = Process::spawn(serve).unwrap();
        Self { url: process.url.clone(), process, data_dir: data_dir.to_owned(), dir: None }
    }

    pub fn wait_until_ready(&self) {
        while ureq::get(format!("{}/readyz", self.url)).call().is_err() {
            pause();
        }
    }

    /// Waits until the server logs this.
    pub fn wait_for_log(&self, part: &str) {
        assert!(self.process.await_line(part), "{part} was never logged");
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    pub fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        self.process.end().0
    }

    /// How it ended by itself.
    pub fn ended(mut self) -> ExitStatus {
        self.process.end().0
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        self.process.kill();
    }
}
