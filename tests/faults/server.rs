//! The real binary with the shim under it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::serving::Process;

/// How the process ends when the power is cut.
pub const EXIT_CUT: i32 = 86;

/// The compiled shim.
static SHIM: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
    let compiled = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread", "-o"])
        .args([&library, &source])
        .output()
        .expect("a C compiler is there, as SQLite needs one");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    (dir, library)
});

/// A data directory and what the shim needs beside it.
pub struct Disk {
    dir: TempDir,
}

impl Disk {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for part in ["data", "stash"] {
            std::fs::create_dir(dir.path().join(part)).unwrap();
        }
        Self { dir }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data").canonicalize().unwrap()
    }

    fn part(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The numbered calls of processes so far.
    pub fn calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.part("calls")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// Whether calls that need room fail.
    pub fn set_full(&self, is_full: bool) {
        set_flag(&self.part("full"), is_full);
    }

    /// Whether no more threads can be created.
    pub fn set_no_threads(&self, is_out: bool) {
        set_flag(&self.part("no-threads"), is_out);
    }

    /// akin with the shim under it; `fault` as the head of the shim has it.
    pub fn akin(&self, fault: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
        // A new stash each time: numbers begin at 0 again.
        let stash = self.part("stash");
        let _ = std::fs::remove_dir_all(&stash);
        std::fs::create_dir(&stash).unwrap();
        let _ = std::fs::remove_file(self.part("calls"));
        command
            .args(arguments)
            .env("LD_PRELOAD", &SHIM.1)
            .env("FAULTS_DIR", self.data())
            .env("FAULTS_STASH", stash)
            .env("FAULTS_LOG", self.part("calls"))
            .env("FAULTS_FULL", self.part("full"))
            .env("FAULTS_NO_THREADS", self.part("no-threads"))
            .env("FAULTS", fault)
            .env("AKIN__LOG__FORMAT", "json")
            .env("AKIN__STORAGE__EXPIRY_INTERVAL_S", "1");
        command
    }

    /// Checks the directory offline and without the shim: no damage, whatever happened.
    pub fn verify(&self) {
        let verified = verify(&self.data());
        let text = String::from_utf8_lossy(&verified.stdout).into_owned();
        let error = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(verified.status.success(), "akin verify: {text}{error}");
    }
}

fn set_flag(path: &Path, is_set: bool) {
    match is_set {
        true => std::fs::write(path, "").unwrap(),
        false => std::fs::remove_file(path).unwrap(),
    }
}

pub fn verify(data_dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command.arg("verify").arg(data_dir).output().unwrap()
}

pub struct Server {
    process: Process,
    pub url: String,
}

impl Server {
    pub fn start(disk: &Disk, fault: &str) -> Result<Self, String> {
        let data = disk.data();
        let listen = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
        Self::spawn(disk.akin(fault, &listen))
    }

    /// Starts it and waits until it is ready. `Err` with its log if it ends before that.
    pub fn spawn(command: Command) -> Result<Self, String> {
        let mut process = Process::spawn(command)?;
        process.await_ready()?;
        Ok(Self { url: process.url.clone(), process })
    }

    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Waits for a line of the log with this; `false` if the server has ended.
    pub fn await_line(&self, part: &str) -> bool {
        self.process.await_line(part)
    }

    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    pub fn kill(mut self) {
        self.process.kill();
    }

    /// Stops it as an operator does, or hears how it ended by itself; with its log.
    pub fn stop(mut self) -> (ExitStatus, String) {
        self.process.signal("TERM");
        self.process.end()
    }
}
