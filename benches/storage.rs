//! Documents stored a second, by size and sync mode, beside what the disk takes for a sync alone,
//! and what a bare SQLite and a bare file take for rows of the same bytes in groups of one size.
//!
//! `cargo bench --bench storage -- [DIR]`: the directory decides which disk is measured.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use akin::document::{Content, DocumentId, Ordinal};
use akin::sketch::Sketch;
use akin::storage::{Record, StorageSettings, Store, Sync, Write};
use akin::text::ShingleSet;

const WRITERS: u32 = 512;
const SYNCS: u32 = 200;

fn main() {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let dir = given.map_or_else(tempfile::tempdir, tempfile::tempdir_in).expect("a directory");
    println!("4 kB written and synced: {:.0} µs", sync_us(&dir.path().join("raw")));
    println!("{WRITERS} writers at a time, encoding on their own thread, 2 worker threads\n");
    println!(
        "{:<10} {:>10} {:>12} {:>10} {:>12}",
        "sync", "text bytes", "documents/s", "MB/s", "stored bytes"
    );
    for (text_bytes, count) in [(1_000, 20_000), (5_800, 10_000)] {
        let mut row_bytes = 0;
        for sync in [Sync::Always, Sync::Interval] {
            let dir = dir.path().join(format!("{sync:?}-{text_bytes}"));
            row_bytes = measure(&dir, sync, text_bytes, count);
        }
        for (title, layout) in LAYOUTS {
            let path = dir.path().join(format!("{title}-{text_bytes}.sqlite"));
            print(
                title,
                text_bytes,
                count,
                bare_sqlite_s(&path, layout, row_bytes, count),
                row_bytes,
            );
        }
        let took = bare_file_s(&dir.path().join("bare"), row_bytes, count);
        print("file", text_bytes, count, took, row_bytes);
    }
}

/// What a row takes is given out as one blob.
const LAYOUTS: [(&str, &str); 2] = [
    ("sqlite id", "CREATE TABLE rows (ordinal INTEGER PRIMARY KEY, id TEXT UNIQUE, blob BLOB)"),
    ("sqlite", "CREATE TABLE rows (ordinal INTEGER PRIMARY KEY, id TEXT, blob BLOB)"),
];

/// Rows of so many bytes by one thread that has nothing else to do, a synced transaction for each
/// `WRITERS` of them.
fn bare_sqlite_s(path: &Path, layout: &str, row_bytes: u64, count: u32) -> f64 {
    let connection = rusqlite::Connection::open(path).expect("it opens");
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 4000; {layout}"
        ))
        .expect("there is no such table yet");
    let blob = vec![7_u8; row_bytes as usize];
    let start = Instant::now();
    for first in (0..count).step_by(WRITERS as usize) {
        connection.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        let mut insert = connection.prepare_cached("INSERT INTO rows VALUES (?1, ?2, ?3)");
        let insert = insert.as_mut().expect("it is SQL");
        for ordinal in first..count.min(first + WRITERS) {
            let hash = ordinal.wrapping_mul(0x9E37_79B9);
            let id = format!("https://example.org/{hash:016x}/{ordinal}");
            insert.execute(rusqlite::params![ordinal, id, blob]).expect("the disk has room");
        }
        connection.execute_batch("COMMIT").expect("the disk has room");
    }
    start.elapsed().as_secs_f64()
}

/// The same bytes at the end of a file, and a sync for each `WRITERS` rows.
fn bare_file_s(path: &Path, row_bytes: u64, count: u32) -> f64 {
    let mut file = File::create(path).expect("the directory can be written to");
    let group = vec![7_u8; (row_bytes * u64::from(WRITERS)) as usize];
    let start = Instant::now();
    for _ in 0..count.div_ceil(WRITERS) {
        file.write_all(&group).and_then(|()| file.sync_data()).expect("the disk has room");
    }
    start.elapsed().as_secs_f64()
}

/// Appends, as the write-ahead log does before it is reused.
fn sync_us(path: &Path) -> f64 {
    let mut file = File::create(path).expect("the directory can be written to");
    let start = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&[1; 4096]).and_then(|()| file.sync_data()).expect("the disk has room");
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(SYNCS)
}

/// Gives back the bytes that a document takes on disk.
fn measure(dir: &Path, sync: Sync, text_bytes: usize, count: u32) -> u64 {
    let settings = StorageSettings { sync, ..StorageSettings::default() };
    let store = Arc::new(Store::open(dir, &settings, "{}").expect("the store opens"));
    let records: Arc<Vec<Record>> = Arc::new((0..count).map(|i| record(i, text_bytes)).collect());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.expect("threads can be started");

    let start = Instant::now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| runtime.spawn(store_each(writer, Arc::clone(&store), Arc::clone(&records))))
        .collect();
    for writer in writers {
        runtime.block_on(writer).expect("no writer panics");
    }
    let took = start.elapsed().as_secs_f64();

    let store = Arc::into_inner(store).expect("the writers are done");
    store.close().expect("the store closes");
    let bytes = dir.join("store.sqlite").metadata().expect("it is there").len();
    let row_bytes = bytes / u64::from(count);
    print(&format!("{sync:?}"), text_bytes, count, took, row_bytes);
    row_bytes
}

fn print(title: &str, text_bytes: usize, count: u32, took_s: f64, row_bytes: u64) {
    println!(
        "{title:<10} {text_bytes:>10} {:>12.0} {:>10.1} {row_bytes:>12}",
        f64::from(count) / took_s,
        f64::from(count) * text_bytes as f64 / took_s / 1e6,
    );
}

async fn store_each(writer: u32, store: Arc<Store>, records: Arc<Vec<Record>>) {
    for record in records.iter().skip(writer as usize).step_by(WRITERS as usize) {
        let write = Write::Put { record: record.encode(1), replaces: None };
        store.write(write, |_| ()).await.expect("it is stored");
    }
}

/// A text of words drawn from a skewed vocabulary, and a set as large as its three-word shingles.
fn record(ordinal: u32, text_bytes: usize) -> Record {
    let mut state = u64::from(ordinal) + 1;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    let mut text = String::new();
    while text.len() < text_bytes {
        let rank = 20_000_f64.powf(random() as f64 / u64::MAX as f64) as u64;
        let word = rank.wrapping_mul(0x9e37_79b9) % 0xfff_ffff;
        write!(text, "{word:x} ").expect("a string takes any text");
    }
    let shingles = (0..text_bytes / 6).map(|_| random()).collect();
    Record {
        ordinal: Ordinal(ordinal),
        id: DocumentId::new(format!("https://example.org/{:016x}/{ordinal}", random()))
            .expect("it is a good id"),
        stored_at_ms: 0,
        expires_at_ms: None,
        content: Some(Content::Text(text)),
        metadata: None,
        set: ShingleSet::from_shingles(shingles).expect("there are some"),
        fingerprint: random(),
        content_hash: random(),
        sketch: Sketch::from_bytes((0..128).map(|_| random() as u8).collect()),
        whole_document: false,
        sampled_to_one: false,
    }
}
