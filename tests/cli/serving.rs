//! The real server, as a process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, mpsc};

use crate::{akin, command};

/// `akin serve` on a free port.
pub struct Serving {
    pub child: Child,
    pub url: String,
    pub data_dir: PathBuf,
    /// Its lines since it listens.
    log: Mutex<mpsc::Receiver<String>>,
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
        let mut child = command(&["serve", "--data-dir"])
            .arg(data_dir)
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = log.by_ref().find_map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            line["address"].as_str().map(str::to_owned)
        });
        // Its log must not fill up the pipe.
        let (lines, log_lines) = mpsc::channel();
        std::thread::spawn(move || {
            log.map_while(Result::ok).for_each(|line| drop(lines.send(line)));
        });
        let url = format!("http://{}", address.unwrap());
        let log = Mutex::new(log_lines);
        Self { child, url, data_dir: data_dir.to_owned(), log, dir: None }
    }

    pub fn wait_until_ready(&self) {
        while akin(&["health", "--url", &self.url]).code != Some(0) {
            std::thread::yield_now();
        }
    }

    /// Waits until the server logs this.
    pub fn wait_for_log(&self, part: &str) {
        let log = self.log.lock().unwrap();
        assert!(log.iter().any(|line| line.contains(part)), "{part} was never logged");
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        // The shell knows the command by itself; a program of that name is not everywhere.
        let kill = format!("kill -{name} \"$0\"");
        assert!(Command::new("sh").args(["-c", &kill, &pid]).status().unwrap().success());
    }

    pub fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        self.child.wait().unwrap()
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Only a test that failed leaves it running.
        let _ = self.child.kill();
    }
}
