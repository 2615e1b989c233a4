//! Histories: clients call several servers at once while nodes and servers fail, each call is
//! recorded with its begin, its end and its answer, and the answers are checked afterwards.
//!
//! A game has rounds with ids and texts of their own. In a round each client adds, replaces and
//! removes documents of a few ids, reads them and looks them up, and something fails in the midst.
//! When all is whole again, every document is read through every server; and so it is at the end of
//! the game, to see whether a later failover has lost anything. Of each id the versions must be
//! linearizable ([`register`]); near-duplicates posted at once must know of each other ([`race`]).
//!
//! `AKIN_HISTORY_SECONDS=600` plays rounds with random faults for so long, and
//! `AKIN_HISTORY_SEED=7` plays the choices of a game again. The order in which the machine runs
//! clients and nodes is another each time, so a failure prints the history.
//! `AKIN_HISTORY_FAULT=KillMaster` plays only rounds with this fault.

mod checks;
mod clients;
mod faults;
mod race;
mod register;
mod round;

use std::sync::RwLock;
use std::time::{Duration, Instant, SystemTime};

use crate::numbers::Numbers;
use crate::servers::Servers;
use crate::valkey_nodes::{Options, Valkey};
use faults::{Fault, Faults};
use round::{Round, Tally};

const SERVERS: usize = 2;

pub const SETTINGS: [(&str, &str); 4] = [
    ("wait_replicas", "1"),
    ("wait_timeout_ms", "500"),
    ("deadline_ms", "3000"),
    ("lease_ms", "9000"),
];

#[test]
fn histories_with_faults_are_linearizable() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let end = number("AKIN_HISTORY_SECONDS").map(Duration::from_secs);
    let seed = if end.is_some() { since_epoch.as_secs() } else { 1 };
    let seed = number("AKIN_HISTORY_SEED").unwrap_or(seed);
    let name = std::env::var("AKIN_HISTORY_FAULT").ok();
    let is_meant = |fault: &Fault| name.as_ref().is_none_or(|name| format!("{fault:?}") == *name);
    let faults: Vec<_> = Fault::ALL.into_iter().filter(is_meant).collect();
    println!("AKIN_HISTORY_SEED={seed}");
    play(&faults, Numbers(seed), end.map(|seconds| Instant::now() + seconds));
}

/// Plays rounds: one with each fault, or until the end with random faults.
fn play(faults: &[Fault], mut numbers: Numbers, end: Option<Instant>) {
    let valkey = Valkey::start(&Options { has_proxies: true, ..Options::default() });
    let servers = RwLock::new(Servers::start(&valkey, SERVERS, &SETTINGS));
    let (began, mut rounds) = (Instant::now(), Vec::<Round>::new());
    loop {
        let fault = match end {
            None if rounds.len() == faults.len() => break,
            None => faults[rounds.len()],
            Some(end) if Instant::now() >= end => break,
            Some(_) => numbers.pick(faults),
        };
        let round = Round::new(&servers, rounds.len(), fault, began);
        round.play(&Faults { valkey: &valkey, servers: &servers }, &mut numbers);
        round.read_all();
        round.check();
        rounds.push(round);
    }
    // A later failover has lost nothing.
    let mut all = Tally::default();
    for round in &rounds {
        round.read_all();
        all.add(&round.check());
    }
    let (rounds, seconds) = (rounds.len(), began.elapsed().as_secs());
    println!("{rounds} rounds in {seconds} s: {all}");
}
