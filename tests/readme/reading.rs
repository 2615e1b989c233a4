//! A reader: a server of their own, an empty directory, and bash.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::given;
use crate::serving::Process;

/// Where the page says that the server is.
const ADDRESS_SHOWN: &str = "127.0.0.1:2546";

pub struct Reading {
    server: Process,
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
        fs::write(dir.path().join("dump.parquet"), given::dump()).unwrap();
        fs::write(dir.path().join("crawl.warc"), given::crawl()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env_clear()
            // Estimates are then the same at every run.
            .env("AKIN__COLLECTION__SKETCH__SEED", "0")
            .current_dir(dir.path());
        let mut server = Process::spawn(command).unwrap();
        server.await_ready().unwrap();
        Self { server, dir }
    }

    /// # Errors
    /// What `akin check-config` says of the configuration.
    pub fn accepts(&self, configuration: &str) -> Result<(), String> {
        self.write("shown.toml", configuration);
        let came = self.run("akin check-config --config shown.toml");
        if came.well { Ok(()) } else { Err(came.text) }
    }

    /// A file in the directory of the commands.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    /// Runs commands one after the other; the first that fails is the last.
    pub fn run(&self, commands: &str) -> Came {
        let commands = commands.replace(ADDRESS_SHOWN, &self.server.address);
        let akin = Path::new(env!("CARGO_BIN_EXE_akin")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .args(["-c", &format!("set -e; exec 2>&1\n{commands}")])
            .env_clear()
            .env("PATH", format!("{}:{path}", akin.display()))
            .env("HOME", self.dir.path())
            .env("AKIN_URL", format!("http://{}", self.server.address))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Came {
            text: text.replace(&self.server.address, ADDRESS_SHOWN),
            well: output.status.success(),
        }
    }
}
