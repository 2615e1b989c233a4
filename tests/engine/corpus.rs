//! Texts made up for the tests, always the same.

use crate::numbers::Numbers;

/// So many words of a vocabulary in which low numbers are common.
pub fn words(numbers: &mut Numbers, count: usize) -> Vec<String> {
    let word = |numbers: &mut Numbers| {
        let common = numbers.below(5_000);
        format!("w{}", numbers.below(common + 1))
    };
    (0..count).map(|_| word(numbers)).collect()
}

/// The text with some of its words exchanged: about one in `one_in`.
pub fn edited(words: &[String], one_in: usize, numbers: &mut Numbers) -> Vec<String> {
    let edit = |word: &String| match numbers.below(one_in) {
        0 => format!("edit{}", numbers.below(1_000_000)),
        _ => word.clone(),
    };
    words.iter().map(edit).collect()
}

/// Families of texts that resemble each other more or less: `(id, text)`.
pub fn families(families: usize, seed: u64) -> Vec<(String, String)> {
    let mut numbers = Numbers(seed);
    let mut texts = Vec::new();
    for family in 0..families {
        let length = 30 + numbers.below(200);
        let original = words(&mut numbers, length);
        texts.push((format!("f{family}/0"), original.join(" ")));
        for (member, one_in) in [300, 60, 30, 20, 12].into_iter().enumerate() {
            let copy = edited(&original, one_in, &mut numbers);
            texts.push((format!("f{family}/{}", member + 1), copy.join(" ")));
        }
    }
    texts
}
