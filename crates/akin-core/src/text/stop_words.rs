//! Stop words: the most frequent words of a language.

use serde::{Deserialize, Serialize};

use super::hash::HashesSet;
use super::words::TextRules;
use crate::simd::WordMix;

/// The maximum number of words in a custom list.
const WORDS_MAX: usize = 10_000;

/// The stop words of a language, by its ISO 639-1 code, or the words of a list.
///
/// Most languages have the lists of the Snowball stemmers as NLTK keeps them; the remaining
/// languages have the lists of stopwords-iso.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged, expecting = "stop words are a language code or a list of words")]
pub enum StopWords {
    /// The code of a language that has a list.
    Language(String),
    /// Words, in upper or lower case.
    List(Vec<String>),
}

impl StopWords {
    /// The fault of a language or a list, as a sentence that starts with the setting's name: a
    /// language without a list, no words, too many words, or an entry that is never cut as a single
    /// word.
    pub(super) fn fault(&self, rules: TextRules) -> Option<String> {
        let words = match self {
            Self::List(words) => words,
            Self::Language(code) => {
                let known = stop_words::available_languages();
                let fault = || {
                    let known = known.join(", ");
                    format!(
                        "stopwords must be words, or one of the languages {known}, not {code:?}"
                    )
                };
                return (!known.contains(&code.as_str())).then(fault);
            }
        };
        if !(1..=WORDS_MAX).contains(&words.len()) {
            return Some(format!("stopwords must be 1 to {WORDS_MAX} words, not {}", words.len()));
        }
        let wrong = words.iter().find(|text| !is_one_word(text, rules))?;
        Some(format!("stopwords must be one word each, as texts are cut, not {wrong:?}"))
    }

    /// Every word, normalised and in lower case. Entries that are cut into several words are left
    /// out: the lists also have the parts that matter.
    pub(super) fn words(&self, rules: TextRules) -> Vec<String> {
        let lowercased = |word: &str| rules.fold(word).to_lowercase();
        match self {
            Self::List(words) => words.iter().map(|word| lowercased(word)).collect(),
            Self::Language(code) => {
                let words = stop_words::lookup(code).unwrap_or_default();
                let single = words.iter().filter(|word| is_one_word(word, rules));
                single.map(|word| lowercased(word)).collect()
            }
        }
    }

    /// The hashes of the words. Where case is kept, a stop word may be in lower case, capitalised
    /// or all in capitals.
    pub(super) fn hashes(&self, rules: TextRules, lowercase: bool, hasher: WordMix) -> HashesSet {
        let hash = |word: &str| hasher.hash(word.as_bytes());
        let forms = |word: &String| match lowercase {
            true => vec![hash(word)],
            false => vec![hash(word), hash(&capitalised(word)), hash(&word.to_uppercase())],
        };
        self.words(rules).iter().flat_map(forms).collect()
    }
}

impl Default for StopWords {
    fn default() -> Self {
        Self::Language("en".to_owned())
    }
}

fn is_one_word(text: &str, rules: TextRules) -> bool {
    let normalized = rules.normalize(text);
    let (mut words, mut covered) = (0, 0);
    rules.for_each_word(&normalized, |_, range| {
        words += 1;
        covered += range.len();
    });
    words == 1 && covered == normalized.len()
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Normalize;
    use super::*;

    fn list(words: &[&str]) -> StopWords {
        StopWords::List(words.iter().map(|&word| word.to_owned()).collect())
    }

    fn language(code: &str) -> StopWords {
        StopWords::Language(code.to_owned())
    }

    fn rules(normalize: Normalize) -> TextRules {
        TextRules::new(normalize, true)
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
            let words = language(code).words(rules(Normalize::Nfkc));
            assert!(words.iter().any(|known| known == word), "{word} in {code}");
            assert!(words.len() < 1000, "{code} has {}", words.len());
        }
    }

    #[test]
    fn unknown_languages_get_the_known_codes() {
        let fault = language("EN").fault(rules(Normalize::Nfkc)).unwrap();
        let begin = "stopwords must be words, or one of the languages af, ar, az, be,";
        assert!(fault.starts_with(begin), "{fault}");
        assert!(fault.contains(" da, de, el, en, ") && fault.ends_with(", not \"EN\""), "{fault}");
    }

    #[test]
    fn a_list_has_words_as_texts_are_cut() {
        let words = list(&["Der", "ÉTÉ", "的", "E\u{301}te\u{301}", "Don’t"]);
        let nfkc = rules(Normalize::Nfkc);
        assert_eq!(words.words(nfkc), ["der", "été", "的", "été", "don't"]);
        assert_eq!(words.fault(nfkc), None);
        let fault = |words: &[&str]| list(words).fault(nfkc).unwrap();
        assert_eq!(fault(&[]), "stopwords must be 1 to 10000 words, not 0");
        assert_eq!(
            fault(&vec!["a"; WORDS_MAX + 1]),
            "stopwords must be 1 to 10000 words, not 10001"
        );
        assert_eq!(list(&vec!["a"; WORDS_MAX]).fault(nfkc), None);
        for text in ["no no", " a", "", "的的", "…"] {
            let expected =
                format!("stopwords must be one word each, as texts are cut, not {text:?}");
            assert_eq!(fault(&["a", text]), expected);
        }
        assert_eq!(list(&["don't"]).fault(rules(Normalize::None)), None);
        assert!(list(&["don’t"]).fault(rules(Normalize::None)).is_some());
    }

    #[test]
    fn settings_have_a_code_or_a_list() {
        let read = |json: &str| serde_json::from_str::<StopWords>(json);
        for json in ["\"de\"", "[\"Der\",\"die\"]"] {
            assert_eq!(serde_json::to_string(&read(json).unwrap()).unwrap(), json);
        }
        let error = read("7").unwrap_err().to_string();
        assert_eq!(error, "stop words are a language code or a list of words");
    }

    #[test]
    fn stop_words_are_known_by_their_hashes() {
        for lowercase in [true, false] {
            let hasher = WordMix::new(5);
            for code in stop_words::available_languages() {
                let stop_words = language(code);
                let rules = TextRules::new(Normalize::Nfkc, lowercase);
                let hashes = stop_words.hashes(rules, lowercase, hasher);
                let words = stop_words.words(rules);
                assert!(words.iter().all(|word| hashes.contains(&hasher.hash(word.as_bytes()))));
                let others = (0..3000).map(|n| hasher.hash(format!("other{n}").as_bytes()));
                assert_eq!(others.filter(|hash| hashes.contains(hash)).count(), 0);
            }
            let rules = TextRules::new(Normalize::Nfkc, lowercase);
            let hashes = list(&["été"]).hashes(rules, lowercase, hasher);
            let known = ["été", "Été", "ÉTÉ", "éTé"].map(|word| {
                let mut known = false;
                rules.for_each_word(word, |it, _| {
                    known = hashes.contains(&hasher.hash(it.as_bytes()));
                });
                known
            });
            assert_eq!(known, [true, true, true, lowercase]);
        }
    }
}
