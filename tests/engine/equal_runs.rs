//! Runs of equal words of two sequences, by brute force.

use std::ops::Range;

use akin::engine::{PassageMatch, PassagePlace};

/// Runs of fewer words are not of a passage, unless they are the whole of a text.
const SEED_WORDS: usize = 3;

/// Which words of `one` are in runs of at least `run` words that `other` has, too; and the words of
/// the longest run.
pub fn covered_by_runs<W: Eq>(one: &[W], other: &[W], run: usize) -> (Vec<bool>, usize) {
    let (mut covered, mut longest) = (vec![false; one.len()], 0);
    for start in 0..one.len() {
        for at in 0..other.len() {
            if start > 0 && at > 0 && one[start - 1] == other[at - 1] {
                continue;
            }
            let both = one[start..].iter().zip(&other[at..]);
            let equal = both.take_while(|(one, other)| one == other).count();
            longest = longest.max(equal);
            if equal >= run {
                covered[start..start + equal].fill(true);
            }
        }
    }
    (covered, longest)
}

/// Checks what a match says of its words: `words_shared` has all words of the probe in runs of at
/// least `run` words, and only words in runs within its passages. `between`: the characters between
/// two words of a text.
pub fn check_words<W: AsRef<str> + Eq>(
    found: &PassageMatch,
    [probe, words]: [&[W]; 2],
    run: usize,
    between: usize,
) {
    let count = |covered: Vec<bool>| covered.into_iter().filter(|is_covered| *is_covered).count();
    let least = count(covered_by_runs(probe, words, run).0);
    let mut within = vec![false; probe.len()];
    for passage in &found.passages {
        let of_probe = words_of(probe, between, passage.probe);
        let of_match = words_of(words, between, passage.r#match);
        let seed = SEED_WORDS.min(of_match.len());
        let runs = covered_by_runs(&probe[of_probe.clone()], &words[of_match], seed).0;
        for (number, is_in_run) in of_probe.zip(runs) {
            within[number] |= is_in_run;
        }
        assert!(passage.words_equal <= found.words_shared, "{found:?}");
    }
    let most = count(within);
    assert!((least..=most).contains(&found.words_shared), "{least} to {most}: {found:?}");
    let share = found.words_shared as f64 / probe.len() as f64;
    assert!((found.containment.of_probe - share).abs() < 1e-9, "{found:?}");
}

/// The numbers of the words of a place.
pub fn words_of<W: AsRef<str>>(words: &[W], between: usize, place: PassagePlace) -> Range<usize> {
    let mut next = 0;
    let starts = words.iter().map(|word| {
        let start = next;
        next += word.as_ref().chars().count() + between;
        (start, next - between)
    });
    let inside = |(start, end): &(usize, usize)| place.start <= *start && *end <= place.end;
    let mut inside =
        starts.enumerate().filter(|(_, place)| inside(place)).map(|(number, _)| number);
    let first = inside.next().expect("a place has a word");
    assert_eq!(1 + inside.count(), place.words, "a place begins and ends with words");
    first..first + place.words
}
