//! What this machine can do at best: the limits that figures are to be seen beside.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use super::Job;
use crate::made::Numbers;
use crate::measured::{best, processor_s};
use crate::outcome::Outcome;

const COPIED_BYTES: usize = 256 << 20;
const HASHED_BYTES: usize = 256 << 10;
const HASHED_TIMES: usize = 1_000;
/// Numbers in the table that is probed: 1 GB.
const TABLE: usize = 1 << 27;
const PROBED: usize = 1_000_000;
const PROBES: usize = 16;
const SYNCS: usize = 200;
const WRITTEN_BYTES: usize = 16 << 20;
const WRITTEN_TIMES: usize = 16;
/// Text and set take about as much each; and the sketch.
const ROW_BYTES: usize = 2_300;
const GROUP_ROWS: u32 = 1_000;
const GROUPS: u32 = 150;

pub fn measure(job: &Job) -> Outcome {
    let mut outcome = job.outcome(std::env::consts::ARCH);
    memory(&mut outcome);
    probes(&mut outcome);
    disk(&job.corpus.join("limits.tmp"), &mut outcome);
    sqlite(&job.corpus, &mut outcome);
    outcome
}

/// Rows like those of documents of 1 kB with their sets, a transaction for each group, synced: what
/// the store could take in if nothing else were to be done.
fn sqlite(folder: &Path, outcome: &mut Outcome) {
    let dir = TempDir::new_in(folder).expect("a directory");
    let mut connection = Connection::open(dir.path().join("rows")).expect("a database");
    let set_up = "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                  PRAGMA wal_autocheckpoint = 2000;
                  CREATE TABLE rows (number INTEGER PRIMARY KEY, row BLOB NOT NULL) STRICT";
    connection.execute_batch(set_up).expect("it is SQL");
    let mut random = Numbers(9);
    let row: Vec<u8> = (0..ROW_BYTES).map(|_| random.next() as u8).collect();
    let (started, before) = (Instant::now(), processor_s(std::process::id()));
    for group in 0..GROUPS {
        let transaction = connection.transaction().expect("nobody else writes");
        let mut insert = transaction
            .prepare_cached("INSERT INTO rows VALUES (?1, ?2)")
            .expect("there is the table");
        for number in 0..GROUP_ROWS {
            insert.execute((group * GROUP_ROWS + number, &row)).expect("the disk has room");
        }
        drop(insert);
        transaction.commit().expect("the disk has room");
    }
    let rows = f64::from(GROUPS * GROUP_ROWS);
    outcome.set("sqlite_rows_per_s", rows / started.elapsed().as_secs_f64());
    outcome.set("sqlite_rows_per_core_s", rows / (processor_s(std::process::id()) - before));
}

fn memory(outcome: &mut Outcome) {
    let source = vec![7_u8; COPIED_BYTES];
    let mut target = vec![0_u8; COPIED_BYTES];
    let copied = best(7, || target.copy_from_slice(black_box(&source)));
    outcome.set("memcpy_gb_per_s", COPIED_BYTES as f64 / 1e9 / copied.as_secs_f64());
    let piece = &source[..HASHED_BYTES];
    let hashed =
        best(7, || (0..HASHED_TIMES).map(|_| xxh3_64(black_box(piece))).fold(0, u64::wrapping_add));
    let bytes = (HASHED_BYTES * HASHED_TIMES) as f64;
    outcome.set("xxh3_gb_per_s", bytes / 1e9 / hashed.as_secs_f64());
}

/// Sixteen cells at random that do not depend on each other, so that their misses overlap.
fn probes(outcome: &mut Outcome) {
    let mut random = Numbers(5);
    let table: Vec<u64> = (0..TABLE as u64).collect();
    let starts: Vec<u64> = (0..PROBED).map(|_| random.next()).collect();
    let probed = best(3, || {
        let probe = |start: &u64| {
            let cell = |n: u64| (start ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) as usize % TABLE;
            (0..PROBES as u64).map(|n| table[cell(n)]).fold(0, u64::wrapping_add)
        };
        starts.iter().map(probe).fold(0, u64::wrapping_add)
    });
    outcome.set("sixteen_probes_ns", probed.as_secs_f64() * 1e9 / PROBED as f64);
}

/// Appends, as a write-ahead log does; and one long file.
fn disk(path: &Path, outcome: &mut Outcome) {
    let mut file = File::create(path).expect("the folder can be written to");
    let started = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&[1; 4096]).and_then(|()| file.sync_data()).expect("the disk has room");
    }
    outcome.set("sync_us", started.elapsed().as_secs_f64() * 1e6 / SYNCS as f64);
    let piece = vec![2; WRITTEN_BYTES];
    let started = Instant::now();
    for _ in 0..WRITTEN_TIMES {
        file.write_all(&piece).expect("the disk has room");
    }
    file.sync_data().expect("the disk has room");
    let bytes = (WRITTEN_BYTES * WRITTEN_TIMES) as f64;
    outcome.set("write_mb_per_s", bytes / 1e6 / started.elapsed().as_secs_f64());
    std::fs::remove_file(path).expect("it was just made");
}
