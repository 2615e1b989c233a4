//! Calls that fail or are short, one after the other: a request is answered with what was
//! done, or the server ends; and what was acknowledged is there after a power cut.

use std::collections::BTreeMap;
use std::thread;

use crate::client::Client;
use crate::model::Model;
use crate::power::{calls_of_scenario, kind_of, scenario};
use crate::server::{Disk, EXIT_CUT, Server};
use crate::{Random, is_whole};

/// Faults of each kind in the ordinary form.
const FAULTS: u64 = 4;

/// Directories in which faults happen at the same time.
const CHAINS: usize = 4;

/// What a fault did: of a kind of call, and how the server ended.
type Tally = BTreeMap<(String, &'static str), u64>;

/// At each of the calls, one after the other in one directory.
fn fail_at_each(kind: &str, calls: &[u64]) -> Tally {
    let (disk, mut model, mut tally) = (Disk::new(), Model::new(), Tally::new());
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
    tally
}

/// The calls at which a fault of this kind can happen, of a scenario without faults.
fn calls_with(kind: &str) -> Vec<u64> {
    let calls = match kind {
        "readfail" => calls_of_scenario("readfail:0:0"),
        _ => calls_of_scenario("none:0:0"),
    };
    let can_happen = |call: &str| kind != "short" || kind_of(call).starts_with("write ");
    (1..).zip(&calls).filter(|(_, call)| can_happen(call)).map(|(number, _)| number).collect()
}

#[test]
fn nothing_is_lost_or_panics_when_a_call_fails() {
    let mut random = Random::new("failing");
    for kind in ["fail", "full", "short", "readfail"] {
        let mut calls = calls_with(kind);
        let count = calls.len() as u64;
        if !is_whole() {
            let of_part = |n| calls[((n * count + random.below(count)) / FAULTS) as usize];
            calls = (0..FAULTS).map(of_part).collect();
        }
        let mut tally = Tally::new();
        // Mostly they wait, so several at once.
        thread::scope(|scope| {
            let chain = |first| calls.iter().copied().skip(first).step_by(CHAINS).collect();
            let chains: Vec<Vec<u64>> = (0..CHAINS).map(chain).collect();
            let run = |calls: Vec<u64>| scope.spawn(move || fail_at_each(kind, &calls));
            let running: Vec<_> = chains.into_iter().map(run).collect();
            for chain in running {
                for (what, count) in chain.join().unwrap() {
                    *tally.entry(what).or_default() += count;
                }
            }
        });
        println!("{kind}: {} of {count} calls", calls.len());
        for ((call, end), count) in &tally {
            println!("{count:6} {end:14} {call}");
        }
    }
}
