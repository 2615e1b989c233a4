//! Mixed load at twice the capacity on the real binary: nothing is answered but successes and
//! refusals that say when to come again, and nothing acknowledged is lost, by the load or by the
//! kill at its end. `AKIN_SOAK_SECONDS=600` runs it for so long, `AKIN_SOAK_SERVER` names another
//! build of akin; figures are printed: `cargo test --release --test soak -- --nocapture`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod attack;
mod client;
mod connections;
mod figures;
mod keys;
mod memory;
mod server;
#[path = "../serving/mod.rs"]
mod serving;
mod windows;
mod writer;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use client::Client;
use figures::{Figures, GREEDY};
use memory::Memory;
use server::{REQUESTS_MAX, Server};
use windows::Windows;
use writer::{JSON, Writer};

/// Each sends a request as soon as the last one is answered.
const WRITERS: usize = 2 * REQUESTS_MAX;

const SECONDS: u64 = 5;

/// All that clients were told, by id; `None`: it was removed.
type Acknowledged = BTreeMap<String, Option<String>>;

#[test]
fn under_twice_the_load_nothing_is_lost() {
    let seconds = std::env::var("AKIN_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    keys::write(dir.path());
    let mut server = Server::start(dir.path());
    let (figures, acknowledged) = load(&server, Duration::from_secs(seconds));
    print!("{figures}");
    figures.check();
    check_nothing_lost(&mut Client::new(&server.url), &acknowledged);
    server.kill();
    let server = Server::start(dir.path());
    check_nothing_lost(&mut Client::new(&server.url), &acknowledged);
}

fn load(server: &Server, time: Duration) -> (Figures, Acknowledged) {
    let (begin, is_over) = (Instant::now(), AtomicBool::new(false));
    let windows = Windows::new(begin, time);
    thread::scope(|scope| {
        let (windows, is_over) = (&windows, &is_over);
        let write = |number| {
            let mut writer = Writer::new(number, Client::new(&server.url), windows);
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    writer.step();
                }
                writer
            }
        };
        let writers: Vec<_> = (0..WRITERS).map(|number| scope.spawn(write(number))).collect();
        let work = |window| {
            let client = Client::new(&server.url);
            move || windows.work(window, client, is_over)
        };
        let around: Vec<_> = windows::WORK.iter().map(|kind| scope.spawn(work(*kind))).collect();
        let greedy = scope.spawn(|| {
            let mut client = Client::greedy(&server.url);
            while !is_over.load(Ordering::Relaxed) {
                client.call(GREEDY, "GET", "/documents?limit=1", (JSON, String::new()));
            }
            client
        });
        let memory = scope.spawn(|| Memory::watch(server.process_id(), is_over));
        thread::sleep(time.saturating_sub(begin.elapsed()));
        is_over.store(true, Ordering::Relaxed);
        let mut figures = Figures { seconds: time.as_secs(), ..Figures::default() };
        let mut acknowledged = Acknowledged::new();
        for writer in writers {
            let writer = writer.join().unwrap();
            figures.add(writer.client.calls);
            acknowledged.extend(writer.acknowledged);
        }
        for kind in around {
            figures.add(kind.join().unwrap().calls);
        }
        figures.add(greedy.join().unwrap().calls);
        figures.memory = memory.join().unwrap();
        (figures, acknowledged)
    })
}

/// Every acknowledged document is there with its last text, and no removed or expired one.
fn check_nothing_lost(client: &mut Client, acknowledged: &Acknowledged) {
    let documents = loop {
        let documents = client.export();
        // The last ones with an expiry are still to expire.
        if !documents.keys().any(|id| writer::expires(id)) {
            break documents;
        }
        serving::pause();
    };
    let expected: BTreeMap<_, _> =
        acknowledged.iter().filter_map(|(id, text)| Some((id.clone(), text.clone()?))).collect();
    let of_writers = |id: &str| id.starts_with('w');
    for (id, text) in &expected {
        assert_eq!(documents.get(id), Some(text), "{id} was acknowledged");
    }
    let extra = documents.keys().find(|id| of_writers(id) && !expected.contains_key(*id));
    assert_eq!(extra, None, "it was removed");
}
