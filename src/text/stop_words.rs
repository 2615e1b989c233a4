//! The commonest words of a language: those that give a sentence its form.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::{for_each_word, push_folded};
use crate::simd::WordMix;

/// The most words in a list of one's own.
const WORDS_MAX: usize = 10_000;

/// Whose stop words: a language's, by its ISO 639-1 code, or those of a list.
///
/// Most languages have the lists of the Snowball stemmers as NLTK keeps them; for those without
/// there is what stopwords-iso has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenStopWords", into = "WrittenStopWords")]
pub struct StopWords(Source);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Language(&'static str),
    List(Vec<String>),
}

/// Stop words as settings have them: the ISO 639-1 code of a language that has a list, or words.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "stop words are a language code or a list of words")]
#[schema(as = StopWords)]
pub(super) enum WrittenStopWords {
    Language(String),
    List(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopWordsError {
    #[error("no stop words are known of {code:?}, only of {}", known.join(", "))]
    UnknownLanguage { code: String, known: &'static [&'static str] },
    #[error("{text:?} is not one word as texts are cut")]
    NotAWord { text: String },
    #[error("a list of stop words has from 1 to {WORDS_MAX} words, not {found}")]
    Count { found: usize },
}

impl StopWords {
    /// # Errors
    /// [`StopWordsError::UnknownLanguage`] for a code without a list.
    pub fn of_language(code: &str) -> Result<Self, StopWordsError> {
        let known = stop_words::available_languages();
        match known.iter().find(|language| **language == code) {
            Some(language) => Ok(Self(Source::Language(language))),
            None => Err(StopWordsError::UnknownLanguage { code: code.to_owned(), known }),
        }
    }

    /// Words of one's own, in upper or lower case.
    ///
    /// # Errors
    /// [`StopWordsError::NotAWord`] for what no text has as a word, such as "don't", which is cut
    /// into "don" and "t"; [`StopWordsError::Count`] for no words, or too many.
    pub fn of_list(words: Vec<String>) -> Result<Self, StopWordsError> {
        if !(1..=WORDS_MAX).contains(&words.len()) {
            return Err(StopWordsError::Count { found: words.len() });
        }
        match words.iter().find(|text| !is_one_word(text)) {
            Some(text) => Err(StopWordsError::NotAWord { text: text.clone() }),
            None => Ok(Self(Source::List(words))),
        }
    }

    /// Every word in lower case. Languages also list what is cut into several words here; it is
    /// left out, as its parts are listed where they matter.
    pub(super) fn words(&self) -> Vec<String> {
        match &self.0 {
            Source::List(words) => words.iter().map(|word| lowercased(word)).collect(),
            Source::Language(code) => {
                let words = stop_words::lookup(code).expect("the code is one of those available");
                words.iter().filter(|word| is_one_word(word)).map(|word| lowercased(word)).collect()
            }
        }
    }
}

impl Default for StopWords {
    fn default() -> Self {
        Self(Source::Language("en"))
    }
}

impl TryFrom<WrittenStopWords> for StopWords {
    type Error = StopWordsError;
    fn try_from(given: WrittenStopWords) -> Result<Self, StopWordsError> {
        match given {
            WrittenStopWords::Language(code) => Self::of_language(&code),
            WrittenStopWords::List(words) => Self::of_list(words),
        }
    }
}

impl From<StopWords> for WrittenStopWords {
    fn from(stop_words: StopWords) -> Self {
        match stop_words.0 {
            Source::Language(code) => Self::Language(code.to_owned()),
            Source::List(words) => Self::List(words),
        }
    }
}

/// As texts are lowercased: character by character.
fn lowercased(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    word.chars().for_each(|character| push_folded(character, true, &mut folded));
    folded
}

fn is_one_word(text: &str) -> bool {
    let mut words = 0;
    let mut covered = 0;
    for_each_word(text, true, WordMix { seed: 0 }, |_, place| {
        words += 1;
        covered += place.len();
    });
    words == 1 && covered == text.len()
}

/// The hashes of stop words, to know one by its hash: a table that is at most a quarter full,
/// probed from a hash's low bits on. An empty place is 0; a word of that hash is no stop word.
#[derive(Clone, Debug)]
pub(super) struct StopWordHashes(Box<[u64]>);

impl StopWordHashes {
    /// Where case is kept, a stop word is one in lower case, capitalised and all in capitals.
    pub(super) fn new(stop_words: &StopWords, lowercase: bool, hasher: WordMix) -> Self {
        let words = stop_words.words();
        let forms = if lowercase { 1 } else { 3 };
        let places = (4 * words.len() * forms).next_power_of_two();
        let mut hashes = Self(vec![0; places].into_boxed_slice());
        for word in words {
            hashes.insert(hasher.hash(word.as_bytes()));
            if !lowercase {
                hashes.insert(hasher.hash(capitalised(&word).as_bytes()));
                hashes.insert(hasher.hash(word.to_uppercase().as_bytes()));
            }
        }
        hashes
    }

    fn insert(&mut self, hash: u64) {
        let place = self.place(hash);
        self.0[place] = hash;
    }

    #[inline]
    pub(super) fn contains(&self, hash: u64) -> bool {
        hash != 0 && self.0[self.place(hash)] == hash
    }

    /// Where the hash is, or would be.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let mask = self.0.len() - 1;
        let mut place = hash as usize & mask;
        while self.0[place] != 0 && self.0[place] != hash {
            place = (place + 1) & mask;
        }
        place
    }
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Result<StopWords, StopWordsError> {
        StopWords::of_list(words.iter().map(|&word| word.to_owned()).collect())
    }

    #[test]
    fn the_languages_of_europe_have_stop_words() {
        for (code, word) in [
            ("en", "the"),
            ("de", "und"),
            ("fr", "été"),
            ("es", "también"),
            ("it", "perché"),
            ("nl", "het"),
            ("pt", "não"),
            ("sv", "är"),
            ("da", "også"),
            ("no", "ikke"),
            ("fi", "että"),
            ("pl", "się"),
            ("cs", "že"),
            ("ru", "что"),
            ("el", "και"),
        ] {
            let words = StopWords::of_language(code).unwrap().words();
            assert!(words.iter().any(|known| known == word), "{word} in {code}");
            assert!(words.len() < 1000, "{code} has {}", words.len());
        }
    }

    #[test]
    fn an_unknown_language_is_answered_with_those_known() {
        let message = StopWords::of_language("EN").unwrap_err().to_string();
        assert!(message.starts_with("no stop words are known of \"EN\", only of af, ar, az, be,"));
        assert!(message.contains(" da, de, el, en, "), "{message}");
    }

    #[test]
    fn a_list_has_words_as_texts_are_cut() {
        assert_eq!(list(&["Der", "ÉTÉ", "的"]).unwrap().words(), ["der", "été", "的"]);
        assert_eq!(list(&[]).unwrap_err(), StopWordsError::Count { found: 0 });
        for text in ["don't", " a", "", "的的", "…"] {
            let error = list(&["a", text]).unwrap_err();
            assert_eq!(error, StopWordsError::NotAWord { text: text.to_owned() });
        }
        assert!(list(&vec!["a"; WORDS_MAX]).is_ok() && list(&vec!["a"; WORDS_MAX + 1]).is_err());
    }

    #[test]
    fn settings_have_a_code_or_a_list() {
        let read = |json: &str| serde_json::from_str::<StopWords>(json);
        for json in ["\"de\"", "[\"Der\",\"die\"]"] {
            assert_eq!(serde_json::to_string(&read(json).unwrap()).unwrap(), json);
        }
        assert!(read("\"xx\"").unwrap_err().to_string().contains("only of af, "));
        let error = read("7").unwrap_err().to_string();
        assert_eq!(error, "stop words are a language code or a list of words");
    }

    #[test]
    fn stop_words_are_known_by_their_hashes() {
        for lowercase in [true, false] {
            let hasher = WordMix { seed: 5 };
            for code in stop_words::available_languages() {
                let stop_words = StopWords::of_language(code).unwrap();
                let hashes = StopWordHashes::new(&stop_words, lowercase, hasher);
                let words = stop_words.words();
                assert!(words.iter().all(|word| hashes.contains(hasher.hash(word.as_bytes()))));
                let others = (0..3000).map(|n| hasher.hash(format!("other{n}").as_bytes()));
                assert_eq!(others.filter(|hash| hashes.contains(*hash)).count(), 0);
            }
            let stop_words = list(&["été"]).unwrap();
            let hashes = StopWordHashes::new(&stop_words, lowercase, hasher);
            let known = ["été", "Été", "ÉTÉ", "éTé"].map(|word| {
                let mut known = false;
                for_each_word(word, lowercase, hasher, |hash, _| known = hashes.contains(hash));
                known
            });
            assert_eq!(known, [true, true, true, lowercase]);
        }
    }
}
