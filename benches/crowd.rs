//! What a crowd costs, documents made from one template with a number changed, beside as many that
//! have nothing to do with each other: `cargo bench --bench crowd -- [DOCUMENTS]`.
//!
//! Documents are added several at a time and each checked; then stored ones are looked up one after
//! the other. The store does not wait for the disk, so that what is timed is akin's own work. A
//! crowd is to cost no more than ten times the ordinary.
//!
//! Then a server takes 20,000 documents in one body: unlike ones, equal ones, near-copies, and the
//! latter two with `on_duplicate=skip`. Each is to take no more than twice what unlike ones take,
//! and `/healthz` is asked all the while.
//!
//! `cargo bench --bench crowd -- levels [LEVEL …] [DOCUMENTS …] [COLUMN …]` prints instead what
//! documents of one template cost each as there are more of them ([`levels`]).

#[allow(dead_code, reason = "the other benches use the rest")]
mod client;
#[path = "../crates/akin-core/benches/corpus/mod.rs"]
mod corpus;
mod levels;
#[allow(dead_code, reason = "the other benches use the rest")]
mod servers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use akin::backend::{LocalCollection, SetCache};
use akin::document::{Content, Document, DocumentId};
use akin::engine::{AddOptions, CollectionSettings, Engine, Lookup, Mode, Opening, Probe};
use akin::storage::{StorageSettings, Sync};
use corpus::Numbers;
use futures_util::{StreamExt, stream};
use servers::Akin;

const DOCUMENTS: usize = 100_000;
const DOCUMENT_BYTES: usize = 1_000;

/// Documents at work at once, as of one bulk request.
const AT_ONCE: usize = 64;

const LOOKUPS: usize = 2_000;

/// Documents of one body.
const BODY_DOCUMENTS: usize = 20_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "levels") {
        return levels::run(&arguments);
    }
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let documents = given.map_or(DOCUMENTS, |given| given.parse().expect("a number"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    println!("{documents} documents of about {DOCUMENT_BYTES} bytes; times in µs\n");
    println!(
        "{:<12} {:>10} {:>10} {:>11} {:>11} {:>12} {:>10}",
        "", "insert p50", "insert p99", "similar p50", "similar p99", "bytes a doc", "truncated"
    );
    let ordinary = runtime.block_on(measure("ordinary", ordinary(documents)));
    let crowd = runtime.block_on(measure("one template", crowd(documents)));
    let ratio = |figure: fn(&Figures) -> f64| figure(&crowd) / figure(&ordinary);
    println!(
        "{:<12} {:>9.1}x {:>9.1}x {:>10.1}x {:>10.1}x {:>11.1}x",
        "ratio",
        ratio(|figures| figures.insert.p50),
        ratio(|figures| figures.insert.p99),
        ratio(|figures| figures.similar.p50),
        ratio(|figures| figures.similar.p99),
        ratio(|figures| figures.document_bytes),
    );
    bodies();
}

/// One body each of several kinds of documents.
fn bodies() {
    println!("\n{BODY_DOCUMENTS} documents in one body\n");
    println!(
        "{:<22} {:>8} {:>12} {:>8} {:>18}",
        "", "seconds", "processor s", "ratio", "longest /healthz"
    );
    let unlike = ordinary(BODY_DOCUMENTS);
    let equal = vec![unlike[0].clone(); BODY_DOCUMENTS];
    let near = crowd(BODY_DOCUMENTS);
    let skip = "?on_duplicate=skip";
    let cases = [
        ("unlike", "", &unlike),
        ("equal", "", &equal),
        ("near-copies", "", &near),
        ("equal, skipped", skip, &equal),
        ("near-copies, skipped", skip, &near),
    ];
    let mut of_unlike = None;
    for (title, query, texts) in cases {
        let akin = Akin::start();
        let before = akin.processor_time();
        let (took, longest) = post_asking_for_health(&akin, query, &lines(texts));
        let processor = akin.processor_time().saturating_sub(before).as_secs_f64();
        let ratio = processor / *of_unlike.get_or_insert(processor);
        println!(
            "{title:<22} {:>8.2} {processor:>12.2} {ratio:>7.1}x {:>15.1} ms",
            took.as_secs_f64(),
            longest.as_secs_f64() * 1e3
        );
    }
}

fn lines(texts: &[String]) -> String {
    let line = |(number, text)| {
        let document = serde_json::json!({ "id": format!("d{number}"), "text": text });
        format!("{document}\n")
    };
    texts.iter().enumerate().map(line).collect()
}

/// How long the body took, and the longest answer of `/healthz` meanwhile.
fn post_asking_for_health(akin: &Akin, query: &str, body: &str) -> (Duration, Duration) {
    let posted = AtomicBool::new(false);
    thread::scope(|scope| {
        let health = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !posted.load(Ordering::Relaxed) {
                let asked = client::run(akin.address, &[client::get("/healthz")], 1);
                longest = longest.max(asked.took);
            }
            longest
        });
        let started = Instant::now();
        client::bulk(akin.address, query, body);
        let took = started.elapsed();
        posted.store(true, Ordering::Relaxed);
        (took, health.join().expect("the server answers"))
    })
}

fn ordinary(count: usize) -> Vec<String> {
    corpus::each_document(DOCUMENT_BYTES).take(count).collect()
}

/// One text with a number in its middle, another in each copy.
fn crowd(count: usize) -> Vec<String> {
    let template = corpus::each_document(DOCUMENT_BYTES).next().expect("they have no end");
    let middle = (DOCUMENT_BYTES / 2..DOCUMENT_BYTES).find(|at| template.as_bytes()[*at] == b' ');
    let (before, after) = template.split_at(middle.expect("there are words"));
    (0..count).map(|number| format!("{before} number {number}{after}")).collect()
}

struct Figures {
    insert: Times,
    similar: Times,
    document_bytes: f64,
}

struct Times {
    p50: f64,
    p99: f64,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
        Self { p50: at(50), p99: at(99) }
    }
}

async fn measure(name: &str, texts: Vec<String>) -> Figures {
    let dir = tempfile::tempdir().expect("a directory");
    let storage = StorageSettings { sync: Sync::Interval, ..StorageSettings::default() };
    let opening = Opening { sets: SetCache::new(256 << 20), ..Opening::default() };
    let settings = CollectionSettings::default();
    let stored = LocalCollection::new(dir.path().to_owned(), settings, storage);
    let engine = Engine::open(&stored, &opening);
    let engine = engine.expect("a collection");
    let documents = texts.len();
    let insert = Times::of(add_all(&engine, texts).await);
    let stats = engine.stats().await.expect("statistics").backend;
    let (times, truncated) = look_up(&engine, documents).await;
    let similar = Times::of(times);
    let document_bytes = stats.size.bytes_per_document().unwrap_or(0.0);
    println!(
        "{name:<12} {:>10.0} {:>10.0} {:>11.0} {:>11.0} {document_bytes:>12.0} {truncated:>10}",
        insert.p50, insert.p99, similar.p50, similar.p99
    );
    Figures { insert, similar, document_bytes }
}

/// The time that each took, as one of several at work: so it is that of all by how many they are.
async fn add_all(engine: &Engine, texts: Vec<String>) -> Vec<Duration> {
    let documents = texts.into_iter().enumerate().map(|(number, text)| {
        let id = DocumentId::new(format!("document/{number}")).expect("a valid id");
        Document { id, content: Content::Text(text), metadata: None, expires_at_ms: None }
    });
    let add = |document| async {
        let started = Instant::now();
        engine.add(document, AddOptions::default()).await.expect("it is added");
        started.elapsed() / AT_ONCE as u32
    };
    stream::iter(documents).map(add).buffered(AT_ONCE).collect().await
}

/// The time of each lookup, and how many were truncated.
async fn look_up(engine: &Engine, documents: usize) -> (Vec<Duration>, usize) {
    let mut random = Numbers(7);
    let (mut times, mut truncated) = (Vec::with_capacity(LOOKUPS), 0);
    for _ in 0..LOOKUPS {
        let id = DocumentId::new(format!("document/{}", random.below(documents)));
        let probe = Probe::Stored(id.expect("a valid id"));
        let lookup = Lookup {
            threshold: None,
            points: None,
            limit: 20,
            mode: Some(Mode::Verified),
            ..Lookup::default()
        };
        let started = Instant::now();
        let answer = engine.similar(probe, lookup).await.expect("an answer");
        times.push(started.elapsed());
        truncated += usize::from(answer.searched.truncated);
    }
    (times, truncated)
}
