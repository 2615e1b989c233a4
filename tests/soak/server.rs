//! The real binary with limits that its clients reach.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const REQUESTS_MAX: usize = 6;

pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Starts it and waits until it is ready.
    pub fn start(dir: &Path) -> Self {
        let built = || env!("CARGO_BIN_EXE_akin").to_owned();
        let mut child = Command::new(std::env::var("AKIN_SOAK_SERVER").unwrap_or_else(|_| built()))
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir)
            .env("AKIN__LOG__FORMAT", "json")
            .env("AKIN__LOG__LEVEL", "info")
            .env("AKIN__SERVER__REQUESTS_IN_FLIGHT_MAX", REQUESTS_MAX.to_string())
            .env("AKIN__SERVER__BULK_REQUESTS_MAX", "1")
            .env("AKIN__SERVER__DISCOVERIES_MAX", "1")
            .env("AKIN__STORAGE__QUEUE_WRITES_MAX", "4")
            .env("AKIN__STORAGE__EXPIRY_INTERVAL_S", "1")
            .env("AKIN__STORAGE__SETS_CACHE_BYTES", (4 << 20).to_string())
            .env("AKIN__STORAGE__SNAPSHOT_OPERATIONS", "2000")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = log.by_ref().map(Result::unwrap).find_map(|line| address(&line));
        let url = url.expect("the log says where it listens");
        let ready = log.by_ref().any(|line| line.unwrap().contains(r#""message":"ready""#));
        assert!(ready, "it ended before it was ready");
        // The pipe must be emptied, or the server would wait for it.
        std::thread::spawn(move || log.for_each(drop));
        let server = Self { child, url };
        // The log says so an instant before it is.
        while ureq::get(format!("{}/readyz", server.url)).call().is_err() {
            std::thread::yield_now();
        }
        server
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Killed already, or not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(line: &str) -> Option<String> {
    let start = line.find("127.0.0.1:")?;
    let end = line[start..].find('"')?;
    Some(format!("http://{}", &line[start..start + end]))
}
