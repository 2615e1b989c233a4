//! Documents stored a second, and what each costs: the store alone, without index and HTTP, beside
//! rows of the same bytes in a bare SQLite and at the end of a bare file.
//!
//! `cargo bench --bench storage -- [DIR]`: the directory decides which disk is measured.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use akin::document::{Content, DocumentId, Ordinal};
use akin::storage::fuzzing::encoded;
use akin::storage::{EncodedRecord, StorageError, StorageSettings, Store, Sync, Write};
use akin::stored::Record;
use akin_core::sketch::Sketch;
use akin_core::text::{ShingleSet, ShingleSettings, Shingler};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Writes on their way at once.
const WRITERS: usize = 2_048;

const SYNCS: u32 = 200;

/// Rows that a table has when ids in random order are measured: its index then has some thousand
/// pages, and each row changes another.
const ROWS_BEFORE: u32 = 300_000;

fn main() {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let dir = given.map_or_else(tempfile::tempdir, tempfile::tempdir_in).expect("a directory");
    println!("4 kB written and synced: {:.0} µs\n", sync_us(&dir.path().join("raw")));
    println!(
        "{:<34} {:>10} {:>12} {:>14} {:>14}",
        "", "text bytes", "documents/s", "processor µs", "written bytes"
    );
    for (text_bytes, count) in [(1_000, 50_000), (5_800, 10_000)] {
        let row_bytes = records(text_bytes, 1).iter().map(EncodedRecord::bytes).sum();
        for rows_a_sync in [500, 1_000, 2_000] {
            let file = dir.path().join("rows");
            let took = measured(count, || append(&file, row_bytes, rows_a_sync, count));
            print(&format!("file, {rows_a_sync} rows a sync"), text_bytes, &took);
        }
        for rows_a_commit in [500, 1_000, 2_000] {
            let table = Table::new(dir.path(), "id TEXT", row_bytes, rows_a_commit);
            let took = measured(count, || table.fill(0..count, in_order));
            print(&format!("sqlite, {rows_a_commit} rows a commit"), text_bytes, &took);
        }
        for sync in [Sync::Always, Sync::Interval] {
            let took =
                store(&dir.path().join(format!("{sync:?}-{text_bytes}")), sync, text_bytes, count);
            print(&format!("the store, sync = {sync:?}"), text_bytes, &took);
        }
    }
    let row_bytes = records(1_000, 1).iter().map(EncodedRecord::bytes).sum();
    let table = Table::new(dir.path(), "id TEXT UNIQUE", row_bytes, 1_000);
    let took = measured(50_000, || table.fill(0..50_000, in_order));
    print("sqlite, ids indexed, in order", 1_000, &took);
    let table = Table::new(dir.path(), "id TEXT UNIQUE", row_bytes, 1_000);
    let took = measured(50_000, || table.fill(0..50_000, at_random));
    print("sqlite, ids indexed, at random", 1_000, &took);
    table.fill(50_000..ROWS_BEFORE, at_random);
    let took = measured(50_000, || table.fill(ROWS_BEFORE..ROWS_BEFORE + 50_000, at_random));
    print("the same after 300,000 of them", 1_000, &took);
}

/// What so many documents took.
struct Measured {
    documents: u32,
    wall_s: f64,
    processor_s: f64,
    written_bytes: u64,
}

fn measured(documents: u32, work: impl FnOnce()) -> Measured {
    let before = (Instant::now(), processor_s(), written_bytes());
    work();
    Measured {
        documents,
        wall_s: before.0.elapsed().as_secs_f64(),
        processor_s: processor_s() - before.1,
        written_bytes: written_bytes() - before.2,
    }
}

fn print(title: &str, text_bytes: usize, took: &Measured) {
    let documents = f64::from(took.documents);
    println!(
        "{title:<34} {text_bytes:>10} {:>12.0} {:>14.1} {:>14.0}",
        documents / took.wall_s,
        took.processor_s * 1e6 / documents,
        took.written_bytes as f64 / documents,
    );
}

/// Of this process, its threads and the system on their behalf.
fn processor_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn written_bytes() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
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

/// The bytes of so many rows, once.
fn append(path: &Path, row_bytes: u64, rows_a_sync: u32, rows: u32) {
    let mut file = File::create(path).expect("the directory can be written to");
    let group = vec![7_u8; (row_bytes * u64::from(rows_a_sync)) as usize];
    for _ in 0..rows / rows_a_sync {
        file.write_all(&group).and_then(|()| file.sync_data()).expect("the disk has room");
    }
}

/// A table in a file without a name, filled by one thread that has nothing else to do.
struct Table {
    connection: rusqlite::Connection,
    /// What a row takes is given out as one blob.
    blob: Vec<u8>,
    rows_a_commit: usize,
}

impl Table {
    fn new(dir: &Path, id: &str, row_bytes: u64, rows_a_commit: usize) -> Self {
        let dir = tempfile::tempdir_in(dir).expect("the directory can be written to");
        let connection = rusqlite::Connection::open(dir.path().join("table")).expect("it opens");
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -13000;
                 CREATE TABLE rows (ordinal INTEGER PRIMARY KEY, {id}, blob BLOB)"
            ))
            .expect("there is no such table yet");
        Self { connection, blob: vec![7; row_bytes as usize], rows_a_commit }
    }

    fn fill(&self, ordinals: std::ops::Range<u32>, id: impl Fn(u32) -> String) {
        let ordinals: Vec<u32> = ordinals.collect();
        for group in ordinals.chunks(self.rows_a_commit) {
            self.connection.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
            let insert = self.connection.prepare_cached("INSERT INTO rows VALUES (?1, ?2, ?3)");
            let mut insert = insert.expect("it is SQL");
            for &ordinal in group {
                let row = rusqlite::params![ordinal, id(ordinal), self.blob];
                insert.execute(row).expect("the disk has room");
            }
            drop(insert);
            self.connection.execute_batch("COMMIT").expect("the disk has room");
        }
    }
}

fn in_order(ordinal: u32) -> String {
    format!("https://example.org/{ordinal:032}")
}

fn at_random(ordinal: u32) -> String {
    let hash = u64::from(ordinal).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("https://example.org/{:032x}", hash.rotate_left(29))
}

/// What only the store does: the records were encoded before.
fn store(dir: &Path, sync: Sync, text_bytes: usize, count: u32) -> Measured {
    let settings = StorageSettings { sync, ..StorageSettings::default() };
    let choose = |_: Option<&str>| Ok::<_, StorageError>(("{}".to_owned(), shingler()));
    let store = Arc::new(Store::open(dir, &settings, choose).expect("the store opens"));
    let mut of_writers: Vec<Vec<EncodedRecord>> = (0..WRITERS).map(|_| Vec::new()).collect();
    for (number, record) in records(text_bytes, count).into_iter().enumerate() {
        of_writers[number % WRITERS].push(record);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.expect("threads can be started");
    let took = measured(count, || {
        let writers: Vec<_> = of_writers
            .into_iter()
            .map(|records| runtime.spawn(store_each(Arc::clone(&store), records)))
            .collect();
        for writer in writers {
            runtime.block_on(writer).expect("no writer panics");
        }
    });
    store.close().expect("the store closes");
    took
}

fn shingler() -> Shingler {
    Shingler::new(ShingleSettings::default(), 0, usize::MAX)
}

async fn store_each(store: Arc<Store>, records: Vec<EncodedRecord>) {
    for record in records {
        let write = Write::Put { record, replaces: None };
        store.write_all(vec![write], |_| ()).await.expect("it is stored");
    }
}

fn records(text_bytes: usize, count: u32) -> Vec<EncodedRecord> {
    let encoded = |ordinal| {
        let record = record(ordinal, text_bytes);
        encoded(&record)
    };
    (0..count).map(encoded).collect()
}

/// A text of words drawn from a skewed vocabulary.
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
    Record {
        ordinal: Ordinal::from(ordinal),
        id: DocumentId::new(at_random(ordinal)).expect("it is a good id"),
        stored_at_ms: 0,
        expires_at_ms: None,
        content: Some(Content::Text(text)),
        metadata: None,
        set: Some(ShingleSet::from_ascending(vec![u64::from(ordinal)]).expect("it is sorted")),
        shingles: (text_bytes / 6) as u32,
        fingerprint: random(),
        content_hash: random(),
        sketch: Sketch::from_bytes((0..128).map(|_| random() as u8).collect()),
        whole_document: false,
    }
}
