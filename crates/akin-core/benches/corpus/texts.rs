//! Made-up texts: words by Zipf's law, in sentences.

use super::numbers::Numbers;

/// Words of the made-up language.
const VOCABULARY: usize = 30_000;

/// Documents of about `document_bytes` each, without end: sentences with capitals and punctuation,
/// in lines of uneven length.
pub fn each_document(document_bytes: usize) -> impl Iterator<Item = String> {
    let mut random = Numbers(1);
    let language = Language::new(&mut random);
    std::iter::repeat_with(move || language.document(document_bytes, &mut random))
}

/// The words of a made-up language, most frequent first.
pub struct Language(Vec<String>);

impl Language {
    pub fn new(random: &mut Numbers) -> Self {
        Self((0..VOCABULARY).map(|rank| word(rank, random)).collect())
    }

    pub fn document(&self, bytes: usize, random: &mut Numbers) -> String {
        let mut text = String::with_capacity(bytes + 32);
        while text.len() < bytes {
            let sentence_words = 5 + random.below(20);
            for number in 0..sentence_words {
                // Zipf's law: the logarithm of a word's rank is spread evenly.
                let rank = (self.0.len() as f64).powf(random.share()) as usize - 1;
                let word = &self.0[rank];
                let capital =
                    if number == 0 { word[..1].to_ascii_uppercase() } else { String::new() };
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
