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
use round::Round;

const SERVERS: usize = 2;

pub const SETTINGS: [(&str, &str); 4] = [
    ("wait_replicas", "1"),
    ("wait_timeout_ms", "500"),
    ("deadline_ms", "3000"),
    ("lease_ms", "9000"),
];

/// What a game was.
#[derive(Default)]
struct Tally {
    rounds: usize,
    calls: usize,
    open: usize,
    undone: usize,
}

#[test]
fn histories_with_faults_are_linearizable() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let Some(seconds) = number("AKIN_HISTORY_SECONDS") else {
        return play(number("AKIN_HISTORY_SEED").unwrap_or(1), None);
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    play(number("AKIN_HISTORY_SEED").unwrap_or(since_epoch.as_secs()), Some(end));
}

/// Plays rounds: one with each fault, or until the end with random faults.
fn play(seed: u64, end: Option<Instant>) {
    println!("AKIN_HISTORY_SEED={seed}");
    let valkey = Valkey::start(&Options { has_proxies: true, ..Options::default() });
    let servers = RwLock::new(Servers::start(&valkey, SERVERS, &SETTINGS));
    let (began, mut numbers) = (Instant::now(), Numbers(seed));
    let mut rounds: Vec<Round> = Vec::new();
    loop {
        let fault = match end {
            None if rounds.len() == Fault::ALL.len() => break,
            None => Fault::ALL[rounds.len()],
            Some(end) if Instant::now() >= end => break,
            Some(_) => numbers.pick(&Fault::ALL),
        };
        let round = Round::new(&servers, rounds.len(), fault, began);
        let faults = Faults { valkey: &valkey, servers: &servers };
        round.play(&faults, &mut numbers);
        round.read_all();
        round.check();
        rounds.push(round);
    }
    let mut tally = Tally { rounds: rounds.len(), ..Tally::default() };
    for round in &rounds {
        round.read_all();
        let (calls, open, undone) = round.check();
        (tally.calls, tally.open, tally.undone) =
            (tally.calls + calls, tally.open + open, tally.undone + undone);
    }
    eprintln!(
        "{} rounds in {} s: {} calls, {} of them without an answer; {} ids with writes that were \
         seen and undone",
        tally.rounds,
        began.elapsed().as_secs(),
        tally.calls,
        tally.open,
        tally.undone
    );
}
