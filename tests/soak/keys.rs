//! Keys, whose rates are so low that one alone soon reaches its.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use akin::http::key::{Action, ApiKey, Hash};
use akin::http::key_file::{self, KeyFileError};
use clap::ValueEnum;
use jiff::Timestamp;

/// Requests per second of each key.
pub const RATE: u32 = 5;

/// That of a client that sends more than its rate.
pub const GREEDY: usize = 0;

/// All other clients call with one of these after the other.
const SHARED: usize = 512;

pub fn next() -> usize {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    GREEDY + 1 + CALLS.fetch_add(1, Ordering::Relaxed) % SHARED
}

pub fn secret(number: usize) -> String {
    format!("akin_{number}")
}

/// Writes them where a server of this data directory reads them.
pub fn write(data_dir: &Path) {
    let key = |number| ApiKey {
        name: format!("key{number}"),
        sha256: Hash::of(secret(number).as_bytes()),
        actions: Action::value_variants().to_vec(),
        collections: vec!["*".to_owned()],
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
    };
    key_file::change::<_, KeyFileError>(&data_dir.join("keys.json"), |keys| {
        keys.extend((GREEDY..=SHARED).map(key));
        Ok(())
    })
    .unwrap();
}
