use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn runs(level: Level, text: &[u8]) -> Vec<Run> {
    let mut runs = Runs::new(level, text);
    let mut all = Vec::new();
    while let Some(batch) = runs.next_batch() {
        all.extend_from_slice(batch);
    }
    all
}

/// Byte by byte.
fn runs_by_definition(text: &[u8]) -> Vec<Run> {
    let in_run = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let ends_at = |at: usize| at == 0 || !in_run(&text[at - 1]);
    let starts = (0..text.len()).filter(|&at| in_run(&text[at]) && ends_at(at));
    let end = |start: usize| start + text[start..].iter().take_while(|byte| in_run(byte)).count();
    starts.map(|start| Run { start: start as u32, end: end(start) as u32 }).collect()
}

fn hashes(level: Level, mix: WordMix, text: &[u8], runs: &[Run]) -> (Vec<Option<u64>>, Vec<u32>) {
    let mut hashed = Hashed::default();
    hash_runs(level, mix, text, runs, &mut hashed);
    let mut hashes: Vec<_> = hashed.hashes[..runs.len()].iter().copied().map(Some).collect();
    hashed.others.iter().for_each(|&other| hashes[other as usize] = None);
    (hashes, hashed.others)
}

/// Any bytes, mostly such that runs are short; sometimes long ones, over many blocks.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        5 => any::<u8>(),
        5 => prop::char::range('0', 'z').prop_map(|c| c as u8),
        3 => Just(b' '),
    ];
    prop_oneof![vec(byte.clone(), 0..300), vec(byte, 1_900..2_300), vec(Just(b'x'), 0..5_000)]
}

proptest! {
    #[test]
    fn every_level_finds_the_runs_of_the_definition(text in texts()) {
        for level in Level::available() {
            prop_assert_eq!(runs(level, &text), runs_by_definition(&text), "{:?}", level);
        }
    }

    #[test]
    fn every_level_hashes_each_short_ascii_word(text in texts(), seed: u64, lowercase: bool) {
        let case_bits = if lowercase { 0x2020_2020_2020_2020 } else { 0 };
        let mix = WordMix { seed, case_bits };
        let all = runs_by_definition(&text);
        for level in Level::available() {
            let (hashes, others) = hashes(level, mix, &text, &all);
            prop_assert!(others.is_sorted_by(|a, b| a < b));
            for (run, hash) in all.iter().zip(hashes) {
                let word = &text[run.start as usize..run.end as usize];
                let is_short = word.is_ascii() && word.len() <= SHORT_BYTES_MAX;
                let is_late = run.start as usize + SHORT_BYTES_MAX > text.len();
                prop_assert_eq!(hash.is_some(), is_short && !is_late, "{:?} {:?}", level, word);
                if let Some(hash) = hash {
                    let spelled =
                        if lowercase { word.to_ascii_lowercase() } else { word.to_vec() };
                    prop_assert_eq!(hash, mix.hash(&spelled), "{:?} {:?}", level, word);
                }
            }
        }
    }
}

#[test]
fn a_run_ends_with_the_text_wherever_that_is() {
    for bytes in [1, 63, 64, 65, 2_047, 2_048, 2_049, 4_096, 8_192] {
        let text = vec![b'x'; bytes];
        for level in Level::available() {
            assert_eq!(runs(level, &text), [Run { start: 0, end: bytes as u32 }], "{level:?}");
        }
    }
}

#[test]
fn this_machine_has_a_level() {
    let levels = Level::available();
    assert_eq!(levels[0], Level(Instructions::Portable));
    assert_eq!(Level::best(), *levels.last().unwrap());
}
