//! The smoke run: every file of `fuzz/corpus`, and mutations of it that are always the same.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::{TARGETS, Target};

/// Per target. More would take longer than seconds in a debug build.
const MUTATIONS: usize = 3_000;

const INPUT_BYTES_MAX: usize = 4 << 10;

/// Tokens that parsers look for and random bytes seldom have.
const TOKENS: [&str; 16] = [
    "\"", "\\", "\\u0000", "{", "}", "[", "]", ",", ":", "\n", "&", "=", "%2", "null", "1e999",
    "\u{301}",
];

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let read = |file: fs::DirEntry| {
        (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())
    };
    let mut corpus: Vec<_> = files.map(|file| read(file.unwrap())).collect();
    corpus.sort();
    corpus
}

fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = at + random.below((input.len() - at).min(32) + 1);
    match random.below(7) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = [0, 1, 0x7F, 0x80, 0xFF][random.below(5)],
        2 => drop(input.drain(at..end)),
        3 => {
            let repeated = input[at..end].to_vec();
            input.splice(at..at, repeated);
        }
        4 => drop(input.splice(at..at, TOKENS[random.below(TOKENS.len())].bytes())),
        5 => {
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => input.truncate(at),
    }
    input.truncate(INPUT_BYTES_MAX);
}

fn check(name: &str, target: Target, origin: &str, input: &[u8]) {
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    assert!(outcome.is_ok(), "{name} fails for {origin}: b\"{}\"", input.escape_ascii());
}

fn smoke(name: &str) {
    let (_, target) = *TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let corpus = corpus(name);
    assert!(!corpus.is_empty());
    for (file, input) in &corpus {
        check(name, target, file, input);
    }
    let mut random = Random(0x616B_696E);
    for number in 0..MUTATIONS {
        let (file, input) = &corpus[number % corpus.len()];
        let mut input = input.clone();
        for _ in 0..=random.below(3) {
            let other = random.below(corpus.len());
            mutate(&mut input, &corpus[other].1, &mut random);
        }
        check(name, target, &format!("a mutation of {file}"), &input);
    }
}

/// A test for each target, so that they run at the same time and fail by name.
macro_rules! smoke_runs {
    ($($name:ident),*) => {
        $(#[test] fn $name() { smoke(stringify!($name)); })*

        #[test]
        fn every_target_has_a_smoke_run_and_a_binary() {
            assert_eq!(TARGETS.map(|(name, _)| name), [$(stringify!($name)),*]);
            let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/Cargo.toml");
            let manifest = fs::read_to_string(manifest).unwrap();
            for (name, _) in TARGETS {
                assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
            }
        }
    };
}

smoke_runs!(text, json, ndjson, query, filter, snapshot, record, backup, formats);
