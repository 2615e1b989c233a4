use std::collections::BTreeSet;
use std::ops::Range;

use super::super::tests::{Numbers, covered};
use super::repeated::CONTEXTS_MAX;
use super::*;

fn words(numbers: &[u32]) -> Vec<u64> {
    numbers.iter().map(|number| crate::text::finalise(u64::from(*number) + 1)).collect()
}

fn find(texts: &[Vec<u32>], span: usize) -> Vec<Vec<bool>> {
    let mut grams = RepeatedGrams::new(span).unwrap();
    for text in texts {
        grams.add(&words(text));
    }
    let mut repeats = grams.into_repeats();
    let mut find = |number: usize| {
        let text = &texts[number];
        let found = repeats.find(number as u32, &words(text));
        assert!(found.iter().all(|it| it.words.len() >= span));
        assert!(found.windows(2).all(|pair| pair[0].words.end < pair[1].words.start));
        for repeat in &found {
            assert_eq!(repeat.first_in, first_in(texts, number, &repeat.words, span));
        }
        covered(found.into_iter().map(|it| it.words), text.len())
    };
    (0..texts.len()).map(&mut find).collect()
}

/// The text with the first occurrence of a span that occurs earlier.
fn earlier(texts: &[Vec<u32>], number: usize, span: Range<usize>) -> Option<usize> {
    let wanted = &texts[number][span.clone()];
    let has = |text: &[u32]| text.windows(wanted.len()).any(|it| it == wanted);
    let before = texts[..number].iter().position(|text| has(text));
    before.or_else(|| has(&texts[number][..span.start]).then_some(number))
}

/// The texts with the first occurrences of the spans of a repeat.
fn first_in(texts: &[Vec<u32>], number: usize, words: &Range<usize>, span: usize) -> Vec<u32> {
    let spans = (words.start..=words.end - span).map(|at| at..at + span);
    let first: BTreeSet<usize> = spans.filter_map(|it| earlier(texts, number, it)).collect();
    first.into_iter().map(|number| number as u32).collect()
}

/// Every pair of spans is compared.
fn brute_force(texts: &[Vec<u32>], span: usize) -> Vec<Vec<bool>> {
    let repeated = |number: usize| {
        let spans = (0..(texts[number].len() + 1).saturating_sub(span)).map(|at| at..at + span);
        let repeats = spans.filter(|span| earlier(texts, number, span.clone()).is_some());
        covered(repeats, texts[number].len())
    };
    (0..texts.len()).map(repeated).collect()
}

#[test]
fn all_repeats_of_brute_force_are_found() {
    let mut random = Numbers(9);
    let mut found = 0;
    for round in 0..400 {
        let span = [10, 11, 17, 24][random.below(4)];
        let vocabulary = [1, 2, 3, 20, 10_000][round % 5];
        let mut texts: Vec<Vec<u32>> = Vec::new();
        for _ in 0..=random.below(8) {
            let mut text: Vec<u32> = Vec::new();
            for _ in 0..random.below(6) {
                let length = 1 + random.below(40);
                match random.below(3) {
                    0 if !texts.is_empty() => {
                        let of = &texts[random.below(texts.len())];
                        let from = random.below(of.len().max(1));
                        text.extend(of.iter().skip(from).take(length));
                    }
                    1 => {
                        let period = 1 + random.below(7);
                        let start: Vec<u32> =
                            (0..period).map(|_| random.below(vocabulary) as u32).collect();
                        text.extend(start.iter().cycle().take(2 * length));
                    }
                    _ => text.extend((0..length).map(|_| random.below(vocabulary) as u32)),
                }
            }
            texts.push(text);
        }
        let expected = brute_force(&texts, span);
        assert_eq!(find(&texts, span), expected, "{span} {texts:?}");
        found += expected.iter().flatten().filter(|it| **it).count();
    }
    assert!(found > 10_000, "too few repeats: {found}");
}

#[test]
fn the_first_occurrence_is_kept() {
    let text: Vec<u32> = (0..120).collect();
    let texts = [text.clone(), [vec![500], text.clone()].concat(), text[30..90].to_vec()];
    let found = find(&texts, 50);
    assert_eq!(found[0], covered([], 120));
    assert_eq!(found[1], covered(Some(1..121), 121));
    assert_eq!(found[2], covered(Some(0..60), 60));
    let periodic = [1, 2, 3].repeat(60);
    assert_eq!(find(&[periodic], 50)[0], covered(Some(51..180), 180));
    let one = vec![1; 1_000];
    assert_eq!(find(&[one], 50)[0], covered(Some(50..1_000), 1_000));
    assert!(RepeatedGrams::new(9).is_err() && RepeatedGrams::new(1_001).is_err());
}

/// Boilerplate that is shorter than a span, in many texts, costs no more than other words.
#[test]
fn work_and_memory_do_not_grow_with_occurrences() {
    let boilerplate: Vec<u32> = (0..49).collect();
    let text = |number: u32| {
        let own = 1_000 + number * 100..1_030 + number * 100;
        own.clone().chain(boilerplate.iter().copied()).chain(own.map(|it| it + 30)).collect()
    };
    let texts: Vec<Vec<u32>> = (0..20_000).map(text).collect();
    let mut grams = RepeatedGrams::new(50).unwrap();
    for text in &texts {
        grams.add(&words(text));
    }
    let mut repeats = grams.into_repeats();
    assert!(texts.iter().all(|text| repeats.find(0, &words(text)).is_empty()));
    let all: usize = texts.iter().map(Vec::len).sum();
    assert!(repeats.bytes() < all * 20, "{} bytes for {all} words", repeats.bytes());
    let longer = vec![7; 2_000_000];
    assert_eq!(find(&[longer], 50)[0].iter().filter(|it| **it).count(), 2_000_000 - 50);
}

/// Spans whose anchor has more contexts than are compared are found by their hashes.
#[test]
fn spans_of_many_contexts_are_found() {
    let text = |number: u32| -> Vec<u32> {
        let own = 100 * (number + 1)..100 * (number + 1) + 6;
        own.clone().chain(0..9).chain(own).collect()
    };
    let texts: Vec<Vec<u32>> = (0..2 * CONTEXTS_MAX as u32).map(text).collect();
    let joined = texts.concat();
    let again: Vec<Vec<u32>> = texts.iter().cloned().chain([joined]).chain(texts.clone()).collect();
    assert_eq!(find(&again, 10), brute_force(&again, 10));
    let mut grams = RepeatedGrams::new(10).unwrap();
    for text in &again {
        grams.add(&words(text));
    }
    let mut repeats = grams.into_repeats();
    for text in &texts {
        assert!(repeats.find(0, &words(text)).is_empty());
    }
    assert!(repeats.spans.len() > 0, "every span is in a context");
}
