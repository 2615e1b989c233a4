//! The real binary with the shim under it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::JoinHandle;

use tempfile::TempDir;

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
    child: Child,
    pub url: String,
    log: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(disk: &Disk, fault: &str) -> Result<Self, String> {
        let data = disk.data();
        let listen = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
        Self::spawn(disk.akin(fault, &listen))
    }

    /// Starts it and waits until it is ready. `Err` with its log if it ends before that because the
    /// power was cut.
    pub fn spawn(mut command: Command) -> Result<Self, String> {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut url = None;
        for line in lines.by_ref().map_while(Result::ok) {
            url = url.or_else(|| address(&line));
            let is_ready = line.contains(r#""message":"ready""#);
            log.lock().unwrap().push(line);
            if is_ready {
                break;
            }
        }
        let copy = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| copy.lock().unwrap().push(line));
        });
        let mut server = Self { child, url: url.unwrap_or_default(), log, reader: Some(reader) };
        // The log says so an instant before it is.
        loop {
            if server.child.try_wait().unwrap().is_some() {
                let (status, log) = server.end();
                return Err(format!("{status}: {log}"));
            }
            if ureq::get(format!("{}/readyz", server.url)).call().is_ok() {
                return Ok(server);
            }
            std::thread::yield_now();
        }
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.end();
    }

    /// Stops it as an operator does, or hears how it ended by itself; with its log.
    pub fn stop(mut self) -> (ExitStatus, String) {
        let pid = self.child.id().to_string();
        let _ = Command::new("sh").args(["-c", "kill -TERM \"$0\" 2>&-", &pid]).status();
        self.end()
    }

    fn end(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (status, self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already, unless a test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(line: &str) -> Option<String> {
    let start = line.find("127.0.0.1:")?;
    let address = &line[start..];
    let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
    Some(format!("http://{}", &address[..end.unwrap_or(address.len())]))
}
