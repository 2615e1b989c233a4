//! Calls that fail, are short or slow, one after the other: a request is answered with what was
//! done, or the server ends; and what was acknowledged is there after a power cut.

use std::collections::BTreeMap;

use crate::client::Client;
use crate::model::Model;
use crate::power::{calls_of_scenario, kind_of, scenario};
use crate::server::{Disk, EXIT_CUT, Server};
use crate::{Random, is_whole};

/// Faults of each kind in the ordinary form.
const FAULTS: u64 = 4;

/// What a fault did: of a kind of call, and how the server ended.
type Tally = BTreeMap<(String, &'static str), u64>;

fn fail_at_each(kind: &str, calls: &[u64], tally: &mut Tally) {
    let (disk, mut model) = (Disk::new(), Model::new());
    for (round, call) in (0..).zip(calls) {
        let fault = format!("{kind}:{call}:{round}");
        println!("{fault}");
        let end = match Server::start(&disk, &fault) {
            Err(log) => {
                assert!(!log.contains("panicked"), "{log}");
                "did not start"
            }
            Ok(server) => {
                let client = Client::new(&server.url);
                let outcome = scenario(&mut model, &client, round);
                let (status, log) = server.stop();
                assert!(!log.contains("panicked"), "{log}");
                match (status.code(), outcome) {
                    (Some(0), Ok(())) => "served on",
                    (Some(1 | EXIT_CUT), _) => "ended",
                    (code, outcome) => panic!("{code:?} {outcome:?} {log}"),
                }
            }
        };
        let calls = disk.calls();
        let struck =
            calls.get(*call as usize - 1).map_or("not reached".to_owned(), |call| kind_of(call));
        *tally.entry((struck, end)).or_default() += 1;
        disk.verify();
        // What the fault made unavailable is available again.
        let server = Server::start(&disk, "none:0:0").unwrap();
        model.check(&Client::new(&server.url)).unwrap();
        server.kill();
    }
}

#[test]
fn nothing_is_lost_or_panics_when_a_call_fails() {
    let mut random = Random::new("failing");
    let end = calls_of_scenario().len() as u64;
    for kind in ["fail", "full", "short", "readfail"] {
        let calls: Vec<u64> = match is_whole() {
            true => (1..=end).collect(),
            false => (0..FAULTS).map(|n| 1 + (n * end + random.below(end)) / FAULTS).collect(),
        };
        let mut tally = Tally::new();
        fail_at_each(kind, &calls, &mut tally);
        println!("{kind}: {} calls", calls.len());
        for ((call, end), count) in &tally {
            println!("{count:6} {end:14} {call}");
        }
    }
}
