//! Made-up texts: words by Zipf's law, in sentences.

use super::numbers::Numbers;

/// Words of the made-up language.
const VOCABULARY: usize = 30_000;

/// Documents of about `document_bytes` each, without end: sentences with capitals and punctuation,
/// in lines of uneven length.
pub fn each_document(document_bytes: usize) -> impl Iterator<Item = String> {
    let mut random = Numbers(1);
    let vocabulary: Vec<String> = (0..VOCABULARY).map(|rank| word(rank, &mut random)).collect();
    std::iter::repeat_with(move || document(&vocabulary, document_bytes, &mut random))
}

fn document(vocabulary: &[String], bytes: usize, random: &mut Numbers) -> String {
    let mut text = String::with_capacity(bytes + 32);
    while text.len() < bytes {
        let sentence_words = 5 + random.below(20);
        for number in 0..sentence_words {
            // Zipf's law: the logarithm of a word's rank is spread evenly.
            let rank = (vocabulary.len() as f64).powf(share(random)) as usize - 1;
            let word = &vocabulary[rank];
            let capital = if number == 0 { word[..1].to_ascii_uppercase() } else { String::new() };
            text.push_str(&capital);
            text.push_str(&word[capital.len()..]);
            text.push_str(match random.below(16) {
                0 => ", ",
                1 => "\n",
                _ => " ",
            });
        }
        text.pop();
        text.push_str(". ");
    }
    text
}

/// A number from 0 to 1, 1 excluded.
fn share(random: &mut Numbers) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Frequent words are short: about a syllable more at each tenfold rank.
fn word(rank: usize, random: &mut Numbers) -> String {
    let syllables = 1 + (rank + 2).ilog10() as usize / 2 + random.below(3);
    let mut word = String::new();
    for _ in 0..syllables {
        word.push(char::from(b"bcdfghjklmnprstvwz"[random.below(18)]));
        word.push(char::from(b"aeiou"[random.below(5)]));
        if random.below(2) == 0 {
            word.push(char::from(b"lnrst"[random.below(5)]));
        }
    }
    word
}
