//! The engine against a plain model: random operations of one client and of several at once, with
//! restarts, snapshots, reindexes and expiry between them. After every step of a single client, and
//! whenever several have paused, every answer is what the model says.
//!
//! With `AKIN_TEST_BACKEND=valkey` the games are played over Valkey, with closed connections instead
//! of the operations that this backend lacks; and one over nodes of its own, which are killed,
//! paused and replaced between the operations of a single client, and whose slots move.
//!
//! A failure prints the seed: `AKIN_MODEL_SEED=7` plays that one alone. `AKIN_MODEL_SECONDS=600`
//! plays new seeds for so long.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alone;
mod answers;
#[path = "../backends/mod.rs"]
mod backends;
mod clusters;
mod contents;
mod crowd;
mod nodes;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
mod passages;
mod plain;
mod rule;
#[path = "../engine/runs.rs"]
mod runs;
mod settings;
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use backends::valkey_nodes::{Options, Valkey};
use numbers::Numbers;
use settings::Setting;
use world::World;

/// Fewer over Valkey, where an operation is a hundred times as expensive.
const PHASES: usize = 3;
const PHASES_OVER_VALKEY: usize = 1;

#[test]
fn bands() {
    play(Setting::Bands);
}

#[test]
fn bands_with_an_index_for_exact_lookups() {
    play(Setting::Indexed);
}

#[test]
fn prefix_filter() {
    play(Setting::Prefix);
}

#[test]
fn multisets_of_shingles() {
    play(Setting::Multiset);
}

#[test]
fn tokens_with_counts() {
    play(Setting::Tokens);
}

#[test]
fn without_texts() {
    play(Setting::Textless);
}

#[test]
fn records() {
    play(Setting::Records);
}

#[test]
fn passages_of_texts() {
    if !backends::is_left_out("passages") {
        play(Setting::Passages);
    }
}

/// Only over Valkey, as the local backend has no nodes.
#[test]
fn nodes_that_fail() {
    if backends::is_valkey() {
        let nodes = Arc::new(Valkey::start(&Options { has_proxies: true, ..Options::default() }));
        play_seeds(|seed| game_over_nodes(&nodes, seed));
    }
}

fn play(setting: Setting) {
    for operation in ["discoveries", "reindexes", "snapshots"] {
        backends::is_left_out(operation);
    }
    play_seeds(|seed| game(setting, seed));
}

fn play_seeds(game: impl Fn(u64)) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    if let Some(seed) = number("AKIN_MODEL_SEED") {
        return game(seed);
    }
    let Some(seconds) = number("AKIN_MODEL_SECONDS") else { return game(1) };
    let end = Instant::now() + Duration::from_secs(seconds);
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut seed = since_epoch.as_secs();
    while Instant::now() < end {
        game(seed);
        seed += 1;
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(4).enable_all().build().unwrap()
}

fn game_over_nodes(nodes: &Arc<Valkey>, seed: u64) {
    println!("nodes that fail: AKIN_MODEL_SEED={seed}");
    runtime().block_on(async {
        let mut world = World::new(Setting::Bands, Numbers(seed), Some(Arc::clone(nodes))).await;
        alone::play(&mut world).await;
        world.check_all().await;
        world.recall.check();
    });
}

fn game(setting: Setting, seed: u64) {
    println!("{setting:?}: AKIN_MODEL_SEED={seed}");
    runtime().block_on(async {
        let mut world = World::new(setting, Numbers(seed), None).await;
        let phases = if backends::is_valkey() { PHASES_OVER_VALKEY } else { PHASES };
        for _ in 0..phases {
            alone::play(&mut world).await;
            if !backends::is_valkey() {
                world.check_all().await;
            }
            crowd::play(&mut world).await;
            world.check_all().await;
            world.restart().await;
            world.check_all().await;
        }
        world.recall.check();
    });
}
