//! What goes on beside the writers, in turns, so that lookups can be compared with and without it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::writer::{JSON, text};

/// The operation as which lookups are noted in each window.
const WINDOWS: [&str; 5] = [
    "lookup alone",
    "lookup with snapshots",
    "lookup with bulk",
    "lookup with discoveries",
    "lookup with all",
];

/// The windows in which something goes on alone; it goes on in the last one, too.
pub const WORK: [usize; 3] = [1, 2, 3];

/// Times that all windows come.
const ROUNDS: u32 = 4;

const BULK_DOCUMENTS: usize = 200;

pub struct Windows {
    begin: Instant,
    length: Duration,
}

impl Windows {
    pub fn new(begin: Instant, time: Duration) -> Self {
        Self { begin, length: time / ROUNDS / WINDOWS.len() as u32 }
    }

    fn number(&self) -> usize {
        let passed = self.begin.elapsed().as_micros() / self.length.as_micros();
        passed as usize % WINDOWS.len()
    }

    pub fn now(&self) -> &'static str {
        WINDOWS[self.number()]
    }

    /// Does the work of a window in it and in the last one.
    pub fn work(&self, window: usize, mut client: Client, is_over: &AtomicBool) -> Client {
        let mut numbers = window as u64;
        while !is_over.load(Ordering::Relaxed) {
            if ![window, WINDOWS.len() - 1].contains(&self.number()) {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            match window {
                1 => client.call("snapshot", "POST", "/snapshots", (JSON, String::new())),
                2 => bulk(&mut client, &mut numbers),
                _ => {
                    let path = "/pairs?threshold=0.9";
                    client.call("discovery", "GET", path, (JSON, String::new()))
                }
            };
        }
        client
    }
}

fn bulk(client: &mut Client, numbers: &mut u64) -> (u16, String) {
    let line = |number: usize| {
        let document = json!({"id": format!("bulk{number}"), "text": text(numbers)});
        document.to_string() + "\n"
    };
    let body: String = (0..BULK_DOCUMENTS).map(line).collect();
    let (status, answer) =
        client.call("bulk", "POST", "/documents", ("application/x-ndjson", body));
    if status == 200 {
        assert_eq!(answer.lines().count(), BULK_DOCUMENTS, "one line for each document: {answer}");
    }
    (status, answer)
}
