//! The effect of small requests with expensive answers on a server:
//! `cargo bench --bench expensive_requests -- [MEMORY_MAX_MIB]...`, by default 256 and 2048.
//!
//! Each row is one request, or several requests at once: the statuses, the time, the bytes of all
//! answers, the longest `/healthz` during the requests, and two shares of the budget: the memory
//! that the process took beyond its memory before the row, and its peak resident memory. Of unread
//! answers the client reads the head only, and waits. `AKIN_BENCH_SERVER` names another build of
//! akin.

#[allow(dead_code, reason = "the other benches use the rest")]
mod client;
#[allow(dead_code, reason = "the other benches use the rest")]
mod servers;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use servers::Akin;

/// Documents that resemble each other, each with nearly as much metadata as is allowed.
const DOCUMENTS: usize = 1_000;
const METADATA_BYTES: usize = 60_000;

/// Documents with long ids, in pairs of equal documents, in a collection that keeps clusters.
const LONG_IDS: usize = 20_000;

/// Clients that read nothing of their answers, and how long each of them waits.
const UNREAD: usize = 150;
const UNREAD_FOR: Duration = Duration::from_secs(5);

/// Long enough for the allocator to give memory back.
const AFTERWARDS: Duration = Duration::from_secs(15);

fn main() {
    let arguments = std::env::args().skip(1);
    let mut budgets: Vec<usize> = arguments.filter_map(|budget| budget.parse().ok()).collect();
    if budgets.is_empty() {
        budgets = vec![256, 2_048];
    }
    for budget in budgets {
        measure(budget);
    }
}

fn measure(budget_mib: usize) {
    let settings = [("AKIN__SERVER__MEMORY_MAX", (budget_mib << 20).to_string())];
    let akin = Akin::start_with(&settings);
    fill(akin.address);
    println!("\nserver.memory_max = {budget_mib} MiB");
    println!(
        "{:<38} {:>9} {:>7} {:>9} {:>9} {:>7} {:>7}",
        "", "statuses", "s", "answer MB", "healthz ms", "memory", "peak"
    );
    let share = |bytes: usize| bytes as f64 / (budget_mib << 20) as f64;
    let print = |title: &str, requests: &[Vec<u8>], answer: Answer| {
        let before = akin.memory("VmRSS:");
        akin.forget_peak();
        let row = row(akin.address, requests, answer);
        let peak = akin.memory("VmHWM:");
        let beyond = share(peak.saturating_sub(before));
        println!("{title:<38} {row} {beyond:>7.2} {:>7.2}", share(peak));
    };
    for (title, requests) in dear_requests() {
        print(title, &requests, answer);
    }
    for (title, request) in long_lists(akin.address) {
        print(title, &vec![request; UNREAD], unread);
    }
    let left = akin.memory("VmRSS:") >> 20;
    thread::sleep(AFTERWARDS);
    println!("resident: {left} MiB, {} MiB 15 s later", akin.memory("VmRSS:") >> 20);
}

/// A client: sends a request, and returns the status and the bytes of the answer.
type Answer = fn(SocketAddr, &[u8]) -> (String, usize);

/// Sends all requests at once.
fn row(address: SocketAddr, requests: &[Vec<u8>], answer: Answer) -> String {
    let (over, started) = (AtomicBool::new(false), Instant::now());
    let (longest, answers, took) = thread::scope(|scope| {
        let health = scope.spawn(|| longest_health(address, &over));
        let calls: Vec<_> =
            requests.iter().map(|request| scope.spawn(move || answer(address, request))).collect();
        let answers: Vec<_> =
            calls.into_iter().map(|call| call.join().expect("a client")).collect();
        let took = started.elapsed();
        over.store(true, Ordering::Relaxed);
        (health.join().expect("a client"), answers, took)
    });
    let mut statuses: Vec<&str> = answers.iter().map(|(status, _)| status.as_str()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let bytes: usize = answers.iter().map(|(_, bytes)| bytes).sum();
    format!(
        "{:>9} {:>7.2} {:>9.1} {:>9.1}",
        statuses.join(","),
        took.as_secs_f64(),
        bytes as f64 / 1e6,
        longest.as_secs_f64() * 1e3
    )
}

fn longest_health(address: SocketAddr, over: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let load = client::run(address, &[client::get("/healthz")], 1);
        longest = longest.max(load.times[0]);
        thread::sleep(Duration::from_millis(1));
    }
    longest
}

/// The status of an answer, `cut` if it broke off before its head, and its bytes.
fn answer(address: SocketAddr, request: &[u8]) -> (String, usize) {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    // A server that refuses a body need not read all of it.
    let _ = stream.write_all(request);
    let (mut head, mut bytes, mut piece) = (Vec::new(), 0, vec![0; 256 << 10]);
    while let Ok(read) = stream.read(&mut piece) {
        if read == 0 {
            break;
        }
        let room = 12_usize.saturating_sub(head.len()).min(read);
        head.extend_from_slice(&piece[..room]);
        bytes += read;
    }
    let status = head.get(9..12).map_or("cut".into(), String::from_utf8_lossy);
    (status.into_owned(), bytes)
}

/// Reads the beginning of an answer, and nothing more of it for a while.
fn unread(address: SocketAddr, request: &[u8]) -> (String, usize) {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let _ = stream.write_all(request);
    let mut head = [0; 12];
    let is_answered = stream.read_exact(&mut head).is_ok();
    thread::sleep(UNREAD_FOR);
    let status =
        if is_answered { String::from_utf8_lossy(&head[9..]).into_owned() } else { "cut".into() };
    (status, head.len())
}

/// Requests for lists of 10,000 long ids.
fn long_lists(address: SocketAddr) -> [(&'static str, Vec<u8>); 3] {
    let now = body_of(address, &get("/collections/long/changes"));
    let now: Value = serde_json::from_str(&now).expect("a line with the position");
    let (store, _) =
        now["position"].as_str().and_then(|at| at.split_once('-')).expect("a position");
    let changes = format!("/collections/long/changes?since={store}-0&limit=10000");
    [
        ("150 unread /changes", get(&changes)),
        ("150 unread /clusters", get("/collections/long/clusters")),
        ("150 unread /documents", get("/collections/long/documents?limit=10000")),
    ]
}

/// The body of a short answer.
fn body_of(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.write_all(request).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    let start = answer.find('{').expect("a line");
    let end = answer.rfind('}').expect("a line");
    answer[start..=end].to_owned()
}

fn dear_requests() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let of = |count: usize, probe: &dyn Fn(usize) -> Value| -> String {
        json!((0..count).map(probe).collect::<Vec<_>>()).to_string()
    };
    let stored = |at: usize| json!({"id": format!("d{at}")});
    let ids: Vec<String> = (0..DOCUMENTS).map(|at| format!("d{at}")).collect();
    let words = |start: usize| (start..start + 5_000).map(|at| format!("w{at}"));
    let long = |start| words(start).collect::<Vec<_>>().join(" ");
    let one = |request: Vec<u8>| vec![request];
    let filtered = "filter=@.values[0]==0";
    vec![
        (
            "100 probes with all metadata",
            one(post("/similar?limit=10000&include=metadata", &of(100, &stored))),
        ),
        ("100 probes with limit=10000", one(post("/similar?limit=10000", &of(100, &stored)))),
        (
            "16 lookups with all metadata",
            (0..16)
                .map(|at| get(&format!("/similar?id=d{at}&limit=10000&include=metadata")))
                .collect(),
        ),
        (
            "16 filtered lookups",
            (0..16).map(|at| get(&format!("/similar?id=d{at}&limit=10000&{filtered}"))).collect(),
        ),
        ("100 filtered probes", one(post(&format!("/similar?{filtered}"), &of(100, &stored)))),
        ("100 exact probes", one(post("/similar?mode=exact&limit=1000", &of(100, &stored)))),
        (
            "100 multisets of 900,000",
            one(post(
                "/collections/bags/similar",
                &of(100, &|at| json!({"tokens": [[format!("t{at}"), 900_000]]})),
            )),
        ),
        ("fetch of all", one(post("/fetch", &json!({ "ids": ids }).to_string()))),
        ("collapse of 1,000", one(post("/collapse", &json!({ "ids": ids }).to_string()))),
        (
            "filtered list and count",
            one(get(&format!("/documents?{filtered}&count=true&limit=10000"))),
        ),
        ("cluster of one", one(get("/clusters?id=d0"))),
        (
            "edit distance of 30 kB",
            one(post(
                "/resemblance?measures=edit,lcs",
                &json!({
            "a": {"text": long(0)}, "b": {"text": long(2_500)}})
                .to_string(),
            )),
        ),
        (
            "explanation of 30 kB",
            one(post(
                "/resemblance?explain=true",
                &json!({
            "a": {"text": long(0)}, "b": {"text": long(2_500)}})
                .to_string(),
            )),
        ),
        ("recall of 1,000", one(get("/recall?sample=1000"))),
        ("all pairs", one(get("/pairs?threshold=0.9"))),
        ("16 MiB of {}", one(post("/similar", &format!("[{}{{}}]", "{},".repeat(5_500_000))))),
    ]
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").into_bytes()
}

fn post(path: &str, body: &str) -> Vec<u8> {
    let request = client::post(path, body);
    let first = b"host: localhost\r\n";
    let at = request.windows(first.len()).position(|bytes| bytes == first).expect("a host");
    [&request[..at], b"connection: close\r\n", &request[at..]].concat()
}

fn fill(address: SocketAddr) {
    let values = vec![0; METADATA_BYTES / 2];
    let metadata = json!({ "values": values });
    let document =
        |at: usize| json!({"id": format!("d{at}"), "text": text(at), "metadata": metadata});
    for hundred in 0..DOCUMENTS / 100 {
        let lines: Vec<String> =
            (0..100).map(|at| document(hundred * 100 + at).to_string()).collect();
        let created = client::bulk(address, "?check=false", &lines.join("\n"));
        assert_eq!(created, 100, "all are stored");
    }
    create(address, "bags", &json!({"shingles": {"multiset": true}}));
    create(address, "long", &json!({"clusters": {"threshold": 0.9}}));
    let line = |at: usize| json!({"id": format!("{at:0>1000}"), "tokens": [(at / 2).to_string()]});
    for from in (0..LONG_IDS).step_by(1_000) {
        let lines: Vec<String> = (from..from + 1_000).map(|at| line(at).to_string()).collect();
        let request = post("/collections/long/documents?check=false", &lines.join("\n"));
        let request = String::from_utf8(request).expect("it is JSON");
        let ndjson = request.replacen("application/json", "application/x-ndjson", 1);
        assert_eq!(answer(address, ndjson.as_bytes()).0, "200");
    }
}

fn create(address: SocketAddr, collection: &str, settings: &Value) {
    let settings = settings.to_string();
    let put = format!(
        "PUT /collections/{collection} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{settings}",
        settings.len()
    );
    assert_eq!(answer(address, put.as_bytes()).0, "201");
}

/// Texts that resemble each other: one of 200 words is another.
fn text(changed: usize) -> String {
    let word = |at: usize| match at == changed % 200 {
        true => format!("e{changed}"),
        false => format!("w{at}"),
    };
    (0..200).map(word).collect::<Vec<_>>().join(" ")
}

impl Akin {
    /// In bytes, as the system has it.
    fn memory(&self, name: &str) -> usize {
        let status = fs::read_to_string(self.proc("status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("proc(5)");
        let kib: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kib << 10
    }

    /// Sets the peak of its memory to its present memory.
    fn forget_peak(&self) {
        fs::write(self.proc("clear_refs"), "5").expect("it runs");
    }
}
