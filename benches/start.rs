//! How long a start takes after a crash, and what memory goes when documents do.
//!
//! `cargo bench --bench start -- [DOCUMENTS] [DIR]`: makes a store of that many documents of 1 kB
//! in a process that then stops without closing it, a fifth of them after the snapshot; opens it
//! from the snapshot and the log, from a snapshot of everything, from the stored sketches, and with
//! an index of prefixes. The first two give the seconds for a million documents and for 100,000
//! operations of the log. A store that is in the directory already is opened as it is, and stays. A
//! store without a directory of its own is deleted, after nine documents of ten are removed from it
//! (`thin DIR` does that to a store that stays).

#[path = "../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;

use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use akin::backend::{
    Addition, Backend, Local, Opening, PreparedDocument, Removed, SetCache, SnapshotWriting,
    Unchecked,
};
use akin::document::{Content, Document, DocumentId};
use akin::engine::CollectionSettings;
use akin::storage::{StorageSettings, Sync};
use akin::stored::DocumentDetails;
use akin_core::scheme::{Scheme, SchemeSettings, Threshold};
use akin_core::sketch::{Sketch, SketchSettings};
use akin_core::text::{ShingleSettings, Shingler};
use akin_model::analysis::Analysis;
use futures_util::{StreamExt, TryStreamExt, stream};
use numbers::Numbers;
use tokio::runtime::Runtime;
use tracing::Level;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use xxhash_rust::xxh3::Xxh3;

const TEXT_BYTES: usize = 1_000;
const AT_ONCE: usize = 512;
const PIECE_BYTES: usize = 1 << 20;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [command, dir, documents] if command == "make" => {
            return make(Path::new(dir), documents.parse().expect("a number of documents"));
        }
        [command, dir] if command == "thin" => return thin_out(Path::new(dir)),
        _ => {}
    }
    let documents = arguments.first().map_or("100000", String::as_str);
    let temporary = tempfile::tempdir().expect("a directory");
    let dir = arguments.get(1).map_or(temporary.path().join("store"), PathBuf::from);
    if !dir.exists() {
        let this = std::env::current_exe().expect("a running program has a path");
        let made = Command::new(this).arg("make").arg(&dir).arg(documents).status();
        assert!(made.expect("it starts").success(), "the store was made");
    }
    let filter = Targets::new().with_target("akin::backend", Level::DEBUG);
    let lines = tracing_subscriber::fmt::layer().with_target(false).with_filter(filter);
    tracing_subscriber::registry().with(lines).init();
    open_each_way(&dir);
    if dir.starts_with(temporary.path()) {
        thin_out(&dir);
    }
}

fn open_each_way(dir: &Path) {
    let snapshots = dir.join("snapshots");
    let files = fs::read_dir(&snapshots).expect("there are snapshots");
    let mut files: Vec<_> = files.map(|file| file.expect("it is there").path()).collect();
    files.sort();
    let newest = files.pop().expect("there is a snapshot");
    read_and_hash("the snapshot", &newest);
    read_and_hash("the database", &dir.join("store.sqlite"));
    let with_log = least_of_three(dir, "from the snapshot and the log");
    let local = local(dir, None);
    let runtime = Runtime::new().expect("threads");
    let whole = runtime.block_on(local.snapshot()).expect("it is written");
    drop(local);
    let without_log = least_of_three(dir, "from a snapshot of everything");
    fs::remove_file(snapshots.join(format!("{:020}.snapshot", whole.sequence)))
        .expect("it is there");
    print_rates(with_log, without_log);
    let aside = dir.join("aside");
    fs::rename(&snapshots, &aside).expect("it can be renamed");
    open(dir, None, "from stored sketches");
    fs::remove_dir_all(&snapshots).expect("it can be removed");
    fs::rename(&aside, &snapshots).expect("it can be renamed");
    let exact_from = Threshold::new(0.8).expect("a threshold");
    open(dir, Some(exact_from), "from the snapshot, with an index of prefixes");
}

/// The fastest start of three.
fn least_of_three(dir: &Path, how: &str) -> Opened {
    let opened = (0..3).map(|_| open(dir, None, how).1);
    opened.min_by(|a, b| a.seconds.total_cmp(&b.seconds)).expect("there are three")
}

/// A start takes a time for each document of the snapshot and a time for each operation of the log.
fn print_rates(with_log: Opened, without_log: Opened) {
    assert_eq!(without_log.replayed, 0, "the snapshot has everything");
    let a_document = without_log.seconds / without_log.documents as f64;
    // All operations here are additions, so the snapshot lacks as many documents.
    let in_snapshot = (with_log.documents - with_log.replayed) as f64;
    let an_operation = (with_log.seconds - in_snapshot * a_document) / with_log.replayed as f64;
    println!(
        "a start takes {:.2} s for a million documents, and {:.2} s for 100,000 logged operations",
        a_document * 1e6,
        an_operation * 1e5
    );
}

/// How fast a start could read those bytes at most.
fn read_and_hash(what: &str, path: &Path) {
    for _ in 0..2 {
        let mut file = File::open(path).expect("it is there");
        let mut piece = vec![0; PIECE_BYTES];
        let (mut hasher, mut bytes) = (Xxh3::new(), 0);
        let started = Instant::now();
        loop {
            let read = file.read(&mut piece).expect("it can be read");
            if read == 0 {
                break;
            }
            hasher.update(&piece[..read]);
            bytes += read;
        }
        let (ms, megabytes) = (started.elapsed().as_millis(), bytes / 1_000_000);
        println!("{what} read and hashed: {megabytes} MB in {ms} ms ({:x})", hasher.digest());
    }
}

#[derive(Clone, Copy)]
struct Opened {
    seconds: f64,
    documents: u64,
    replayed: u64,
}

fn open(dir: &Path, exact_from: Option<Threshold>, how: &str) -> (Local, Opened) {
    let started = Instant::now();
    let local = local(dir, exact_from);
    let took = started.elapsed();
    let stats = Runtime::new().expect("threads").block_on(local.stats()).expect("they are read");
    let replayed = stats.recovery.map_or(0, |recovery| recovery.replayed);
    println!(
        "{how}: {} ms for {} documents, {replayed} of the log replayed",
        took.as_millis(),
        stats.size.documents
    );
    let (seconds, documents) = (took.as_secs_f64(), stats.size.documents);
    (local, Opened { seconds, documents, replayed })
}

fn local(dir: &Path, exact_from: Option<Threshold>) -> Local {
    let mut settings = CollectionSettings::default();
    settings.sketch.seed = Some(0);
    settings.scheme.exact_from = exact_from;
    let storage = StorageSettings { sync: Sync::Interval, ..StorageSettings::default() };
    let opening = Opening { sets: SetCache::new(64 << 20), ..Opening::default() };
    Local::open(dir, &settings, storage, &opening).expect("it opens")
}

/// Ends without closing the store.
fn make(dir: &Path, documents: u32) {
    let local = Arc::new(local(dir, None));
    let tail = documents / 5;
    let runtime = Runtime::new().expect("threads");
    let started = Instant::now();
    runtime.block_on(store(&local, 0..documents - tail));
    println!("stored: {} ms", started.elapsed().as_millis());
    let started = Instant::now();
    runtime.block_on(local.snapshot()).expect("it is written");
    println!("snapshot: {} ms", started.elapsed().as_millis());
    runtime.block_on(store(&local, documents - tail..documents));
    std::process::exit(0);
}

async fn store(local: &Arc<Local>, numbers: std::ops::Range<u32>) {
    let store = |number| {
        let local = Arc::clone(local);
        let task = tokio::spawn(async move {
            let addition = Addition::new(prepared(number), None, false, false);
            local.add(vec![addition], Arc::new(Unchecked)).await.remove(0)
        });
        async { task.await.expect("it does not panic").map(|_| ()) }
    };
    let stored = stream::iter(numbers).map(store).buffer_unordered(AT_ONCE);
    stored.try_collect::<()>().await.expect("all are stored");
}

fn shingler() -> Shingler {
    Shingler::new(ShingleSettings::default(), 0, usize::MAX)
}

/// Words of text, their set, and a sketch of nothing.
fn prepared(number: u32) -> PreparedDocument {
    let mut random = Numbers(u64::from(number) + 1);
    let mut text = String::with_capacity(TEXT_BYTES + 8);
    while text.len() < TEXT_BYTES {
        let word = random.below(20_000).wrapping_mul(0x9e37_79b9) % 0xfff_ffff;
        write!(text, "{word:x} ").expect("a string takes any text");
    }
    let sketch = Sketch::from_bytes((0..128).map(|_| random.next() as u8).collect());
    let scheme = Scheme::new(&SchemeSettings::default(), &SketchSettings::default());
    let content = Content::Text(text);
    let set = shingler().shingle(&content).expect("the text has words").set;
    PreparedDocument {
        document: Document {
            id: DocumentId::new(format!("example.org/{number:08}")).expect("it is a good id"),
            content,
            metadata: None,
            expires_at_ms: None,
        },
        keys: scheme.all_keys(sketch.as_bytes()).collect(),
        analysis: Analysis::stored(set.clone(), set.fingerprint(), sketch),
        only_over: None,
        blocks: None,
        arriving: None,
    }
}

fn thin_out(dir: &Path) {
    let (local, _) = open(dir, None, "to remove nine of ten");
    let runtime = Runtime::new().expect("threads");
    let tell = |when: &str| {
        let stats = runtime.block_on(local.stats()).expect("it tells");
        println!(
            "{when}: {} documents, {} MB counted, {} MB resident",
            stats.size.documents,
            stats.size.index_bytes.unwrap_or(0) / 1_000_000,
            resident_bytes() / 1_000_000
        );
        stats.size.documents
    };
    tell("before");
    let number = AtomicU64::new(0);
    let is_removed =
        move |_: &DocumentDetails| !number.fetch_add(1, Ordering::Relaxed).is_multiple_of(10);
    let started = Instant::now();
    let mut removed = Removed::default();
    let removal = local.remove_where(Box::new(is_removed), &mut removed);
    runtime.block_on(removal).expect("they are removed");
    println!("removed: {} ms", started.elapsed().as_millis());
    tell("after");
}

/// Resident memory of this process, as Linux tells it; 0 elsewhere.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
