//! The engine against a plain model: random operations of one client and of several at once, with
//! restarts, snapshots, reindexes and expiry between them. After every step of a single client, and
//! whenever several have paused, every answer is what the model says.
//!
//! A failure prints the seed: `AKIN_MODEL_SEED=7` plays that one alone. `AKIN_MODEL_SECONDS=600`
//! plays new seeds for so long. Two games are played over PostgreSQL, too, where it is installed, and
//! with `AKIN_MODEL_SECONDS` all but those of prefix filters and passages.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
#[cfg(feature = "postgres")]
mod backends;
mod clusters;
mod collection;
mod contents;
mod crowd;
#[path = "../engine/equal_runs.rs"]
mod equal_runs;
#[cfg(feature = "postgres")]
#[path = "../not_run/mod.rs"]
mod not_run;
#[path = "../../crates/akin-core/benches/corpus/numbers.rs"]
mod numbers;
mod passages;
mod plain;
mod plain_resemblance;
#[path = "../postgres_server/mod.rs"]
mod postgres_server;
mod settings;
mod single_client;
#[path = "../store_under_test/mod.rs"]
mod store_under_test;

use std::time::{Duration, Instant, SystemTime};

use collection::World;
use numbers::Numbers;
use settings::Setting;

const PHASES: usize = 3;

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
    play(Setting::Passages);
}

fn play(setting: Setting) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    if let Some(seed) = number("AKIN_MODEL_SEED") {
        return game(setting, seed);
    }
    let Some(seconds) = number("AKIN_MODEL_SECONDS") else { return game(setting, 1) };
    let end = Instant::now() + Duration::from_secs(seconds);
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut seed = since_epoch.as_secs();
    while Instant::now() < end {
        game(setting, seed);
        seed += 1;
    }
}

fn game(setting: Setting, seed: u64) {
    println!("{setting:?}: AKIN_MODEL_SEED={seed}");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(4).enable_all().build().unwrap().block_on(async {
        let mut world = World::new(setting, Numbers(seed)).await;
        for _ in 0..PHASES {
            single_client::play(&mut world).await;
            world.check_all().await;
            crowd::play(&mut world).await;
            world.check_all().await;
            world.restart().await;
            world.check_all().await;
        }
        world.recall.check();
    });
}
