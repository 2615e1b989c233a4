//! The servers of `deploy/two-servers`, which are stopped and started again one after the other
//! while clients post and look up.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::not_run;
use crate::of_family;
use crate::postgres_server::Database;
use crate::serving::client::Caller;
use crate::serving::{Process, pause};

const CLIENTS: usize = 4;

/// An address of loopback at which nobody listens.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn server(database: &Database, address: &str, dir: &tempfile::TempDir) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_akin"));
    command
        .args(["serve", "--listen", address, "--data-dir"])
        .arg(dir.path())
        .env("AKIN__LOG__FORMAT", "json")
        .env("AKIN__SERVER__SHUTDOWN_DELAY_MS", "3000")
        .env("AKIN__STORAGE__BACKEND", "postgres")
        .env("AKIN__POSTGRES__URL", database.url());
    let mut process = Process::spawn(command).unwrap();
    process.await_ready().unwrap();
    process
}

/// HAProxy with the configuration of the example.
struct Proxy {
    child: Child,
    url: String,
}

impl Proxy {
    fn start(servers: &[String]) -> Option<Self> {
        let program = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"];
        let program = program.iter().map(PathBuf::from).find(|path| path.is_file());
        let Some(program) = program else {
            not_run::note("HAProxy is not installed");
            return None;
        };
        let address = free_address();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/two-servers/haproxy.cfg");
        let mut command = Command::new(program);
        command.args(["-db", "-f", file]).stderr(Stdio::null()).stdout(Stdio::null());
        command.env("LISTEN", &address).env("AKIN_ONE", &servers[0]).env("AKIN_TWO", &servers[1]);
        Some(Self { child: command.spawn().unwrap(), url: format!("http://{address}") })
    }

    fn await_ready(&self) {
        let caller = Caller::new(&self.url);
        while !caller.get("/readyz").is_ok_and(|(status, _)| status == 200) {
            pause();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The documents that each client has posted and looked up, and the requests that failed.
#[derive(Default)]
struct Counts {
    posted: [AtomicUsize; CLIENTS],
    failed: AtomicUsize,
    is_over: AtomicBool,
}

fn id(client: usize, number: usize) -> String {
    format!("c{client}-{number}")
}

fn text(client: usize, number: usize) -> String {
    of_family(number as u64, client as u64)
}

/// Posts documents and looks each of them up; every other client by one connection.
fn client(number: usize, proxy: &str, counts: &Counts) {
    let caller = Caller::keeping(proxy, number % 2);
    let count = |answer: Result<u16, String>| {
        if !matches!(answer, Ok(200 | 201)) {
            eprintln!("client {number}: {answer:?}");
            counts.failed.fetch_add(1, Ordering::Relaxed);
        }
    };
    while !counts.is_over.load(Ordering::Relaxed) {
        let posted = counts.posted[number].load(Ordering::Relaxed);
        let document = json!({"id": id(number, posted), "text": text(number, posted)});
        let body = ("application/json", document.to_string());
        let answer = caller.call("POST", "/documents", body).map(|answer| answer.status);
        count(answer.map_err(|error| error.to_string()));
        let found = caller.get(&format!("/similar?id={}", id(number, posted)));
        count(found.map(|(status, _)| status).map_err(|error| error.to_string()));
        counts.posted[number].store(posted + 1, Ordering::Relaxed);
    }
}

#[test]
fn two_servers_behind_a_proxy_are_rolled_without_a_lost_request() {
    let Some(database) = Database::new() else { return };
    let addresses = [free_address(), free_address()];
    let Some(proxy) = Proxy::start(&addresses) else { return };
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut servers = [0, 1].map(|n| server(&database, &addresses[n], &dirs[n]));
    proxy.await_ready();
    let counts = Arc::<Counts>::default();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (url, counts) = (proxy.url.clone(), Arc::clone(&counts));
            std::thread::spawn(move || client(number, &url, &counts))
        })
        .collect();
    let posted = || -> usize { counts.posted.iter().map(|of| of.load(Ordering::Relaxed)).sum() };
    for n in [0, 1, 0, 1] {
        // The proxy has sent requests to the server that was started last, too.
        let before = posted();
        while posted() < before + 20 {
            pause();
        }
        servers[n].signal("TERM");
        let (status, log) = servers[n].end();
        assert!(status.success(), "{log}");
        servers[n] = server(&database, &addresses[n], &dirs[n]);
    }
    counts.is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(counts.failed.load(Ordering::Relaxed), 0, "of {}", 2 * posted());
    let caller = Caller::new(&proxy.url);
    for (number, of_client) in counts.posted.iter().enumerate() {
        for posted in 0..of_client.load(Ordering::Relaxed) {
            let (_, stored) = caller.get(&format!("/documents/{}", id(number, posted))).unwrap();
            let stored: Value = serde_json::from_slice(&stored).unwrap();
            assert_eq!(stored["text"], text(number, posted));
        }
    }
}
