//! What documents of one template cost each, as there are more of them: processor time in
//! microseconds, and beside it the growth from half as many.
//!
//! Two documents of a level have its Jaccard similarity in three words: they share a part of their
//! words, and each has the rest for itself. A cell that takes longer than a minute says so, and so
//! do those that need it first.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client;
use crate::servers::Akin;

const LIMIT: Duration = Duration::from_secs(60);
const LEVELS: [&str; 6] = ["0.5", "sentence", "0.57", "0.7", "0.85", "0.95"];
const SIZES: [usize; 4] = [5_000, 10_000, 20_000, 40_000];
const COLUMNS: [&str; 7] =
    ["dedup", "single", "representative", "pairs", "import", "kept-add", "kept-remove"];

/// Distinct shingles of a document.
const SHINGLES: usize = 130;

/// Documents that are removed from kept clusters.
const REMOVED: usize = 200;

/// The interval between two looks at whether something has ended.
const EVERY: Duration = Duration::from_millis(20);

/// The growth and the time of `/healthz` above which a cell is marked.
const GROWTH_MAX: f64 = 1.3;
const HEALTH_MAX: Duration = Duration::from_millis(50);

/// A cell of the table; `None` beyond the limit, or if the cell was not wanted.
type Cell = Option<Cost>;

#[derive(Clone, Copy)]
struct Cost {
    /// The processor time for each document or pair.
    each: Duration,
    /// The longest answer of `/healthz` during the work of a server.
    health: Option<Duration>,
}

/// `wanted`: levels, numbers of documents and columns; without any of a kind, all of the kind.
pub fn run(wanted: &[String]) {
    let chosen = |all: &[&str]| -> Vec<String> {
        let some: Vec<_> = all.iter().filter(|name| wanted.iter().any(|w| w == *name)).collect();
        let all: Vec<_> = if some.is_empty() { all.iter().collect() } else { some };
        all.into_iter().map(|name| (*name).to_owned()).collect()
    };
    let (levels, columns) = (chosen(&LEVELS), chosen(&COLUMNS));
    let mut sizes: Vec<usize> = wanted.iter().filter_map(|wanted| wanted.parse().ok()).collect();
    if sizes.is_empty() {
        sizes.extend(SIZES);
    }
    let mut head = format!("{:<9} {:>7}", "level", "each");
    for column in &columns {
        write!(head, " {column:>16}").expect("a string");
    }
    println!("{head}");
    for level in levels {
        let mut before: Vec<Cell> = vec![None; columns.len()];
        for size in &sizes {
            let cells = Row { texts: texts(&level, *size), columns: &columns }.measure();
            let mut line = format!("{level:<9} {size:>7}");
            for (cell, before) in cells.iter().zip(&before) {
                write!(line, " {:>16}", shown(*cell, *before)).expect("a string");
            }
            println!("{line}");
            if cells.iter().flatten().any(|cost| cost.health.is_some()) {
                let mut line = format!("{:<17}", "  /healthz");
                for cell in &cells {
                    write!(line, " {:>16}", health(*cell)).expect("a string");
                }
                println!("{line}");
            }
            before = cells;
        }
    }
}

fn shown(cell: Cell, before: Cell) -> String {
    let Some(cost) = cell else { return "> 60 s".to_owned() };
    let micros = |cost: Cost| cost.each.as_secs_f64() * 1e6;
    let Some(before) = before else { return format!("{:.1}", micros(cost)) };
    let growth = micros(cost) / micros(before);
    let mark = if growth > GROWTH_MAX { "!" } else { "" };
    format!("{:.1} {growth:.2}x{mark}", micros(cost))
}

fn health(cell: Cell) -> String {
    let Some(health) = cell.and_then(|cost| cost.health) else { return String::new() };
    let mark = if health > HEALTH_MAX { "!" } else { "" };
    format!("{:.1} ms{mark}", health.as_secs_f64() * 1e3)
}

/// The documents of a level.
fn texts(level: &str, count: usize) -> Vec<String> {
    let Ok(resemblance) = level.parse::<f64>() else {
        return (0..count).map(sentences).collect();
    };
    let shared = 2.0 * resemblance / (1.0 + resemblance) * SHINGLES as f64;
    let template = (0..shared.round() as usize + 2).map(|word| format!("t{word} "));
    let template: String = template.collect();
    let own = SHINGLES - shared.round() as usize;
    let own = |number| (0..own).map(move |word| format!("o{number}x{word} "));
    (0..count).map(|number| template.clone() + &own(number).collect::<String>()).collect()
}

/// Ten repeats of a sentence with a number.
fn sentences(number: usize) -> String {
    let sentence = |repeat: usize| {
        let counted = (number * 10 + repeat).wrapping_mul(2_654_435_761) % 1_000_003;
        format!("In this report {counted} items were counted at office {repeat} of the company. ")
    };
    (0..10).map(sentence).collect()
}

/// A number of documents of one level.
struct Row<'r> {
    texts: Vec<String>,
    columns: &'r [String],
}

impl Row<'_> {
    fn measure(&self) -> Vec<Cell> {
        let lines = self.lines();
        let found = self.wants(&["single", "representative", "pairs", "import"]);
        let found = if found { self.discover(&lines) } else { [None; 4] };
        let kept = self.wants(&["kept-add", "kept-remove"]);
        let kept = if kept { self.keep(&lines) } else { [None; 2] };
        let cell = |column: &String| match column.as_str() {
            "dedup" => self.dedup(&lines),
            "single" => found[0],
            "representative" => found[1],
            "pairs" => found[2],
            "import" => found[3],
            "kept-add" => kept[0],
            _ => kept[1],
        };
        self.columns.iter().map(cell).collect()
    }

    fn wants(&self, columns: &[&str]) -> bool {
        self.columns.iter().any(|column| columns.contains(&column.as_str()))
    }

    fn lines(&self) -> String {
        let line = |(number, text): (usize, &String)| {
            format!("{}\n", serde_json::json!({ "id": format!("d{number}"), "text": text }))
        };
        self.texts.iter().enumerate().map(line).collect()
    }

    fn each(&self, took: Duration) -> Duration {
        took / self.texts.len() as u32
    }

    /// `akin dedup`, reading and writing included.
    fn dedup(&self, lines: &str) -> Cell {
        let dir = TempDir::new().expect("a directory");
        let (given, kept) = (dir.path().join("in.jsonl"), dir.path().join("out.jsonl"));
        std::fs::write(&given, lines).expect("room on the disk");
        let (before, started) = (children_time(), Instant::now());
        let mut process = Command::new(env!("CARGO_BIN_EXE_akin"))
            .arg("dedup")
            .arg(&given)
            .arg("--output")
            .arg(&kept)
            .args(["--quiet", "--json"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("akin starts");
        loop {
            if let Some(ended) = process.try_wait().expect("it was started") {
                assert!(ended.success(), "akin dedup: {ended}");
                let each = self.each(children_time().saturating_sub(before));
                return Some(Cost { each, health: None });
            }
            if started.elapsed() > LIMIT {
                process.kill().expect("it runs");
                process.wait().expect("it runs");
                return None;
            }
            thread::sleep(EVERY);
        }
    }

    /// An import, and then clusters by both linkages, and pairs.
    fn discover(&self, lines: &str) -> [Cell; 4] {
        let akin = Akin::start();
        let import = measured(&akin, || post(&akin, "/documents", lines));
        let Some((import, ())) = import else { return [None; 4] };
        let discovered = |column: &str, path: &str| {
            let found = if self.wants(&[column]) {
                measured(&akin, || ask(&akin, "GET", path).map(|answer| count_lines(&answer)))
            } else {
                None
            };
            found.map(|(took, found)| (took, found.max(self.texts.len())))
        };
        let single = discovered("single", "/clusters?linkage=single");
        let representative = discovered("representative", "/clusters?linkage=representative");
        let pairs = discovered("pairs", "/pairs");
        let documents = self.texts.len() as f64;
        [
            single.map(|(cost, _)| cost.of(documents)),
            representative.map(|(cost, _)| cost.of(documents)),
            pairs.map(|(cost, found)| cost.of(found as f64)),
            Some(import.of(documents)),
        ]
    }

    /// An import into a collection that keeps clusters, and then the removal of some documents.
    fn keep(&self, lines: &str) -> [Cell; 2] {
        let akin = Akin::start();
        let collection = format!("http://{}/collections/kept", akin.address);
        let request = agent().put(&collection).header("content-type", "application/json");
        request.send(r#"{"clusters": {"threshold": 0.8}}"#).expect("a new collection");
        let add = measured(&akin, || {
            post(&akin, "/collections/kept/documents", lines)?;
            until_current(&akin)
        });
        let Some((add, ())) = add else { return [None; 2] };
        let remove = || {
            for removed in 0..REMOVED {
                let number = removed * self.texts.len() / REMOVED;
                ask(&akin, "DELETE", &format!("/collections/kept/documents/d{number}"))?;
            }
            until_current(&akin)
        };
        let remove = measured(&akin, remove).filter(|_| self.wants(&["kept-remove"]));
        let added = add.of(self.texts.len() as f64);
        [Some(added), remove.map(|(cost, ())| cost.of(REMOVED as f64))]
    }
}

impl Cost {
    fn of(self, count: f64) -> Self {
        Self { each: self.each.div_f64(count), ..self }
    }
}

/// The processor time of the server for all the work, and the longest answer of `/healthz`.
fn measured<T>(akin: &Akin, work: impl FnOnce() -> Option<T>) -> Option<(Cost, T)> {
    let (before, started) = (akin.processor_time(), Instant::now());
    let has_ended = AtomicBool::new(false);
    let (done, longest) = thread::scope(|scope| {
        let health = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !has_ended.load(Ordering::Relaxed) {
                let answer = client::run(akin.address, &[client::get("/healthz")], 1);
                longest = longest.max(answer.took);
                thread::sleep(Duration::from_millis(1));
            }
            longest
        });
        let done = work();
        has_ended.store(true, Ordering::Relaxed);
        (done, health.join().expect("the server answers"))
    });
    let each = akin.processor_time().saturating_sub(before);
    let cost = Cost { each, health: Some(longest) };
    (started.elapsed() <= LIMIT).then_some((cost, done?))
}

fn until_current(akin: &Akin) -> Option<()> {
    let started = Instant::now();
    while started.elapsed() < LIMIT {
        let answer = ask(akin, "GET", "/collections/kept/stats")?;
        if String::from_utf8_lossy(&answer).contains(r#""state":"current""#) {
            return Some(());
        }
        thread::sleep(EVERY);
    }
    None
}

/// Sends documents while the results of those before are read; `None` if that takes too long.
fn post(akin: &Akin, path: &str, lines: &str) -> Option<()> {
    let mut stream = TcpStream::connect(akin.address).expect("the server listens");
    let mut writing = stream.try_clone().expect("a socket");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        lines.len()
    );
    stream.set_read_timeout(Some(LIMIT)).expect("a socket");
    let started = Instant::now();
    thread::scope(|scope| {
        // Fails where reading has ended before.
        scope.spawn(move || writing.write_all(&[head.as_bytes(), lines.as_bytes()].concat()).ok());
        let mut piece = vec![0; 1 << 16];
        while started.elapsed() < LIMIT {
            match stream.read(&mut piece) {
                Ok(0) => return Some(()),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        stream.shutdown(Shutdown::Both).ok();
        None
    })
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(LIMIT)).build().into()
}

/// The answer; `None` if it takes too long.
fn ask(akin: &Akin, method: &str, path: &str) -> Option<Vec<u8>> {
    let url = format!("http://{}{path}", akin.address);
    read(if method == "DELETE" { agent().delete(&url).call() } else { agent().get(&url).call() })
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<Vec<u8>> {
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(ureq::Error::Timeout(_)) => return None,
        Err(error) => panic!("{error}"),
    };
    let mut counted = Newlines::default();
    let copied = io::copy(&mut answer.body_mut().as_reader(), &mut counted);
    copied.ok().map(|_| counted.kept)
}

fn count_lines(answer: &[u8]) -> usize {
    answer.split(|byte| *byte == b'\n').count() - 1
}

/// Keeps the beginning of an answer, and all its line breaks.
#[derive(Default)]
struct Newlines {
    kept: Vec<u8>,
    bytes: usize,
}

const KEPT_WHOLE: usize = 4_096;

impl Write for Newlines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if self.bytes < KEPT_WHOLE || *byte == b'\n' {
                self.kept.push(*byte);
            }
            self.bytes += 1;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The processor time of all children that have ended.
fn children_time() -> Duration {
    const TICKS_EACH_SECOND: f64 = 100.0;
    let mut stat = String::new();
    let file = std::fs::File::open("/proc/self/stat");
    file.expect("proc(5)").read_to_string(&mut stat).expect("proc(5)");
    let (_, behind_name) = stat.rsplit_once(')').expect("proc(5)");
    let ticks = behind_name.split_ascii_whitespace().skip(13).take(2);
    let ticks: f64 = ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum();
    Duration::from_secs_f64(ticks / TICKS_EACH_SECOND)
}
