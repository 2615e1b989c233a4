//! A reader: a server of their own, an empty directory, and bash.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Where the page says that the server is.
const ADDRESS_SHOWN: &str = "127.0.0.1:2546";

pub struct Reading {
    server: Child,
    address: String,
    dir: TempDir,
}

/// What commands came to.
#[derive(Clone, Debug)]
pub struct Came {
    /// On stdout and stderr, as a terminal mixes them.
    pub text: String,
    pub well: bool,
}

impl Reading {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut server = Command::new(env!("CARGO_BIN_EXE_akin"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env_clear()
            // Estimates are then the same at every run.
            .env("AKIN__COLLECTION__SKETCH__SEED", "0")
            .current_dir(dir.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
        let mut told = |message: &str| -> Value {
            let lines = log.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
            lines.into_iter().find(|line: &Value| line["message"] == message).unwrap()
        };
        let address = told("listening")["address"].as_str().unwrap().to_owned();
        told("ready");
        // Its log must not fill up the pipe.
        std::thread::spawn(move || log.for_each(drop));
        Self { server, address, dir }
    }

    /// Runs commands one after the other; the first that fails is the last.
    pub fn run(&self, commands: &str) -> Came {
        let commands = commands.replace(ADDRESS_SHOWN, &self.address);
        let akin = Path::new(env!("CARGO_BIN_EXE_akin")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .args(["-c", &format!("set -e; exec 2>&1\n{commands}")])
            .env_clear()
            .env("PATH", format!("{}:{path}", akin.display()))
            .env("HOME", self.dir.path())
            .env("AKIN_URL", format!("http://{}", self.address))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Came { text: text.replace(&self.address, ADDRESS_SHOWN), well: output.status.success() }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}
