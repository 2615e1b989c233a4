//! `dedup --rule contained` against a comparison of all texts with all.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::akin;
use crate::inputs::put;
use crate::survivors::ids;

/// Words of a shingle.
const SIZE: usize = 3;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A text, by the numbers of its words.
type Words = Vec<usize>;

/// Texts of which many hold others: parts, beginnings, repetitions, copies and short texts.
fn texts(random: &mut Random) -> Vec<Words> {
    let mut texts: Vec<Words> = Vec::new();
    for _ in 0..60 {
        let words = |random: &mut Random, length: usize, vocabulary: usize| -> Words {
            (0..length).map(|_| random.below(vocabulary)).collect()
        };
        let earlier = |random: &mut Random| -> Words {
            texts.get(random.below(texts.len().max(1))).cloned().unwrap_or_default()
        };
        let text = match random.below(8) {
            0 => {
                let length = 5 + random.below(40);
                words(random, length, 500)
            }
            1 => {
                let length = 1 + random.below(12);
                words(random, length, 2)
            }
            2 | 3 => {
                let text = earlier(random);
                let from = random.below(text.len().max(1));
                let length = 1 + random.below(text.len().max(1));
                text.into_iter().skip(from).take(length).collect()
            }
            4 => {
                let (text, further) = (earlier(random), 1 + random.below(9));
                [words(random, further, 500), text, words(random, further, 500)].concat()
            }
            5 => earlier(random).repeat(1 + random.below(4)),
            6 => [earlier(random), earlier(random)].concat(),
            _ => {
                let length = 1 + random.below(3);
                words(random, length, 3).repeat(1 + random.below(9))
            }
        };
        texts.push(text);
    }
    texts
}

fn shingles(words: &[usize]) -> BTreeSet<&[usize]> {
    match words.len() < SIZE {
        true => BTreeSet::from([words]),
        false => words.windows(SIZE).collect(),
    }
}

/// The rule as `docs/deduplicate.md` has it.
fn holds(survivor: &[usize], text: &[usize]) -> bool {
    let distinct = shingles(text).len();
    let has_to_be_a_run = text.len() < SIZE || 2 * distinct < text.len() + 1 - SIZE;
    survivor.len() >= text.len()
        && match has_to_be_a_run {
            true => text.is_empty() || survivor.windows(text.len()).any(|run| run == text),
            false => shingles(text).is_subset(&shingles(survivor)),
        }
}

/// The survivor of each text by a comparison of all texts: itself, if the text is kept. Texts from
/// the number `old` are new; only `linked` texts can stand for each other.
fn survivors(texts: &[Words], old: usize, linked: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| {
        let text = &texts[*at];
        (usize::MAX - text.len(), usize::MAX - shingles(text).len(), *at)
    });
    let mut kept: Vec<usize> = Vec::new();
    let mut of: Vec<usize> = (0..texts.len()).collect();
    for at in order {
        let holds = |other: &&usize| linked(**other, at) && holds(&texts[**other], &texts[at]);
        let is_decided = at < old || texts[at].is_empty();
        match kept.iter().find(holds).filter(|_| !is_decided) {
            Some(survivor) => of[at] = *survivor,
            None => kept.push(at),
        }
    }
    of
}

/// The numbers of the new texts that are kept.
fn kept(texts: &[Words], old: usize) -> BTreeSet<usize> {
    let of = survivors(texts, old, |_, _| true);
    (old..texts.len()).filter(|at| of[*at] == *at).collect()
}

fn spelled(text: &[usize]) -> String {
    text.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
}

fn lines(texts: &[Words], from: usize) -> String {
    let mut lines = String::new();
    for (at, text) in texts.iter().enumerate() {
        let _ =
            writeln!(lines, "{}", json!({"id": format!("{}", from + at), "text": spelled(text)}));
    }
    lines
}

/// The ids of the texts that `dedup --rule contained` keeps, and the kept id by removed id.
fn contained(dir: &Path, arguments: &[&str]) -> (BTreeSet<usize>, BTreeMap<usize, Option<usize>>) {
    let report = dir.join("contained.report");
    let fixed = ["dedup", "--rule", "contained", "--size", "3", "--force", "--report"];
    let ended = akin(&[&fixed[..], &[report.to_str().unwrap()], arguments].concat());
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    let number = |id: &Value| id.as_str().map(|id| id.parse::<usize>().unwrap());
    let removed = |line| {
        let line: Value = serde_json::from_str(line).unwrap();
        (number(&line["id"]).unwrap(), number(&line["kept"]["id"]))
    };
    let report = std::fs::read_to_string(report).unwrap();
    let survivors: BTreeMap<_, _> = report.lines().map(removed).collect();
    assert_eq!(survivors.len(), report.lines().count(), "{report}");
    (ids(&ended.stdout), survivors)
}

#[test]
fn texts_that_another_text_holds_whole_are_removed_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let mut removed = 0;
    for round in 0..24 {
        let texts = texts(&mut random);
        let old = if round % 3 == 2 { 20 } else { 0 };
        let against = put(dir.path(), "old.jsonl", lines(&texts[..old], 0));
        let file = put(dir.path(), "new.jsonl", lines(&texts[old..], old));
        let inputs = if old > 0 { vec![&*file, "--against", &against] } else { vec![&*file] };
        let (stays, report) = contained(dir.path(), &inputs);
        assert_eq!(stays, kept(&texts, old), "round {round}");
        for (text, survivor) in &report {
            let is_held = holds(&texts[survivor.unwrap()], &texts[*text]);
            assert!(is_held, "round {round}: {text} by {survivor:?}");
        }
        removed += report.len();
    }
    assert!(removed > 400, "{removed} texts are removed");
}

#[test]
fn texts_are_held_by_texts_of_other_sources_only_with_across() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(11);
    let mut counts = [0, 0];
    for round in 0..24 {
        let texts = texts(&mut random);
        let source = |at: usize| at / 20;
        let files = [0, 20, 40].map(|from| {
            put(dir.path(), &format!("{from}.jsonl"), lines(&texts[from..from + 20], from))
        });
        let [first, second, third] = files.each_ref().map(String::as_str);
        // A third of the rounds has old texts, of a source of their own.
        let old = if round % 3 == 2 { 20 } else { 0 };
        let of = survivors(&texts, old, |a, b| source(a) != source(b));
        let expected: BTreeSet<usize> = (old..texts.len()).filter(|at| of[*at] == *at).collect();
        let removed = (old..texts.len()).filter(|at| of[*at] != *at).map(|at| (at, Some(of[at])));
        let inputs = match old {
            0 => vec![first, second, third, "--across"],
            _ => vec![second, third, "--against", first, "--across"],
        };
        let expected = (expected, removed.collect::<BTreeMap<_, _>>());
        assert_eq!(contained(dir.path(), &inputs), expected, "round {round}");
        counts[0] += expected.1.len();
        counts[1] += usize::from(kept(&texts, old) != expected.0);
    }
    assert!(counts[0] > 200 && counts[1] > 20, "{counts:?}");
}

#[test]
fn survivors_are_removed_with_keep_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(12);
    let mut removed = 0;
    for round in 0..12 {
        let texts = texts(&mut random);
        let file = put(dir.path(), "all.jsonl", lines(&texts, 0));
        let of = survivors(&texts, 0, |_, _| true);
        let is_kept = |at: &usize| of.iter().filter(|survivor| *survivor == at).count() < 2;
        let alone: BTreeSet<usize> = (0..texts.len()).filter(|at| of[*at] == *at).collect();
        let alone: BTreeSet<usize> = alone.into_iter().filter(is_kept).collect();
        let (kept, report) = contained(dir.path(), &[&file, "--keep", "none"]);
        assert_eq!(kept, alone, "round {round}");
        assert_eq!(report.len(), texts.len() - kept.len());
        assert!(report.values().all(Option::is_none));
        removed += report.len();
    }
    assert!(removed > 300, "{removed} texts are removed");
}

#[test]
fn a_state_has_the_words_that_texts_are_compared_by() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(13);
    let mut removed = 0;
    for round in 0..12 {
        let texts = texts(&mut random);
        let state = dir.path().join(format!("state{round}"));
        let state = state.to_str().unwrap();
        let mut in_state: Vec<usize> = Vec::new();
        for from in [0, 15, 30, 45] {
            let file = put(dir.path(), "batch.jsonl", lines(&texts[from..from + 15], from));
            let compared: Vec<usize> = in_state.iter().copied().chain(from..from + 15).collect();
            let words: Vec<Words> = compared.iter().map(|at| texts[*at].clone()).collect();
            let of = survivors(&words, in_state.len(), |_, _| true);
            let expected: BTreeSet<usize> = (in_state.len()..of.len())
                .filter(|at| of[*at] == *at)
                .map(|at| compared[at])
                .collect();
            let (kept, report) = contained(dir.path(), &[&file, "--state", state]);
            assert_eq!(kept, expected, "round {round}, from {from}");
            removed += report.len();
            // The batch can be repeated.
            assert_eq!(contained(dir.path(), &[&file, "--state", state]), (kept, report));
            // A text without a word is in no state.
            in_state.extend(expected.into_iter().filter(|at| !texts[*at].is_empty()));
        }
        let ended =
            akin(&["dedup", dir.path().join("batch.jsonl").to_str().unwrap(), "--state", state]);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    }
    assert!(removed > 200, "{removed} texts are removed");
}

#[test]
fn a_batch_with_other_words_is_another_batch() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let run = |text: &str| {
        let file = put(dir.path(), "a.jsonl", json!({"id": "a", "text": text}).to_string() + "\n");
        let state = state.to_str().unwrap();
        let ended = akin(&["dedup", &file, "--rule", "contained", "--state", state]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended
    };
    // The same set of shingles.
    assert!(run("one two one two one two").stderr.contains("batch 1 is in the state;"));
    let longer = run("one two one two one two one two");
    assert!(longer.stderr.contains("batch 2 is in the state;"), "{}", longer.stderr);
    assert_eq!(longer.stdout.lines().count(), 1, "no text of the state holds it");
    assert_eq!(run("two one two").stdout, "");
}

#[test]
fn repetitive_texts_beyond_the_memory_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<Words> = (0..200).map(|n| [n, n + 1].repeat(200)).collect();
    let file = put(dir.path(), "all.jsonl", lines(&texts, 0));
    let run = |mib| {
        let options = ["--rule", "contained", "--size", "3", "--memory-max-mib", mib];
        akin(&[&["dedup", &file], &options[..]].concat())
    };
    assert_eq!(run("16").code, Some(0));
    let refused = run("1");
    let why = "error: finding runs of words takes more than half of the 1.00 MiB of memory";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
}

#[test]
fn texts_of_one_word_are_held_by_the_longest_text_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<Words> = (0..4_000).map(|n| vec![0; 5 + n * 7 % 400]).collect();
    let file = put(dir.path(), "all.jsonl", lines(&texts, 0));
    let (kept, removed) = contained(dir.path(), &[&file]);
    let longest = texts.iter().position(|text| text.len() == 404).unwrap();
    assert_eq!(kept, BTreeSet::from([longest]));
    assert!(removed.values().all(|survivor| *survivor == Some(longest)));
}

#[test]
fn documents_beyond_the_memory_for_the_rule_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<Words> = (0..8_000).map(|n| (n..n + 6).collect()).collect();
    let file = put(dir.path(), "all.jsonl", lines(&texts, 0));
    let dedup_within = |rule: &str, mib: &str| {
        let ended = akin(&["dedup", &file, "--rule", rule, "--memory-max-mib", mib]);
        (ended.code, ended.stderr)
    };
    assert_eq!(dedup_within("near", "1").0, Some(0));
    let (code, stderr) = dedup_within("contained", "1");
    assert_eq!(code, Some(1));
    assert!(stderr.contains("may take more than half of the 1.00 MiB of memory"), "{stderr}");
    assert_eq!(dedup_within("contained", "2").0, Some(0));
}

#[test]
fn a_corpus_without_a_document_has_no_words() {
    let dir = tempfile::tempdir().unwrap();
    let (invalid, state) = ("{\"text\": 1}\n", dir.path().join("state"));
    let file = put(dir.path(), "all.jsonl", invalid);
    let options = ["--on-invalid", "keep", "--rule", "contained"];
    let run = |further: &[&str]| {
        let ended = akin(&[&["dedup"], further, &options[..]].concat());
        assert_eq!((ended.code, &*ended.stdout), (Some(0), invalid), "{}", ended.stderr);
    };
    run(&[&file]);
    let first = put(dir.path(), "first.jsonl", lines(&[vec![1, 2, 3, 4]], 0));
    let state = ["--state", state.to_str().unwrap()];
    assert_eq!(akin(&[&["dedup", &first], &state[..], &options[2..]].concat()).code, Some(0));
    run(&[&[&*file], &state[..]].concat());
    run(&[&file, "--against", &first]);
}
