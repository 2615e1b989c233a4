//! The real binary with limits that its clients reach.

use std::path::Path;
use std::process::Command;

use crate::keys;
use crate::serving::Process;

pub const REQUESTS_MAX: usize = 6;

pub struct Server {
    process: Process,
    pub url: String,
}

impl Server {
    /// Starts it and waits until it is ready.
    pub fn start(dir: &Path) -> Self {
        Self::start_with(dir, &[])
    }

    /// Starts it with further settings, as environment variables.
    pub fn start_with(dir: &Path, settings: &[(&str, String)]) -> Self {
        let built = || env!("CARGO_BIN_EXE_akin").to_owned();
        let mut command =
            Command::new(std::env::var("AKIN_SOAK_SERVER").unwrap_or_else(|_| built()));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir)
            .env("AKIN__LOG__FORMAT", "json")
            .env("AKIN__LOG__LEVEL", "info")
            .env("AKIN__SERVER__REQUESTS_IN_FLIGHT_MAX", REQUESTS_MAX.to_string())
            .env("AKIN__SERVER__BULK_REQUESTS_MAX", "1")
            .env("AKIN__SERVER__DISCOVERIES_MAX", "1")
            .env("AKIN__SERVER__RATE_PER_KEY", keys::RATE.to_string())
            .env("AKIN__STORAGE__QUEUE_WRITES_MAX", "4")
            .env("AKIN__STORAGE__EXPIRY_INTERVAL_S", "1")
            // Caches that are soon full, so that memory shows what else grows.
            .env("AKIN__STORAGE__SETS_CACHE_BYTES", (4 << 20).to_string())
            .env("AKIN__STORAGE__PAGE_CACHE_BYTES", (8 << 20).to_string())
            .env("AKIN__STORAGE__SNAPSHOT_OPERATIONS", "2000")
            .envs(settings.iter().cloned());
        let mut process = Process::spawn(command).unwrap();
        process.await_ready().unwrap();
        Self { url: process.url.clone(), process }
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }
}
