//! The words of a text.

use std::ops::Range;

use crate::simd::{Level, WordMix};

use super::classes::{Class, LETTERS};

/// The hash of each token of the text: words, and single letters of scripts that are written
/// without spaces.
pub(super) fn hash_words(text: &str, lowercase: bool, mix: WordMix, level: Level) -> Vec<u64> {
    crate::simd::hash_words(level, &LETTERS, text, lowercase, mix)
}

/// Visits the hash of each token and the bytes that it covers: the definition that [`hash_words`]
/// is held to, character by character.
pub(super) fn for_each_word(
    text: &str,
    lowercase: bool,
    mix: WordMix,
    mut visit: impl FnMut(u64, Range<usize>),
) {
    let mut spelling = String::new();
    let mut at = 0;
    while at < text.len() {
        let end = at + spell(&text[at..], lowercase, &mut spelling);
        if !spelling.is_empty() {
            visit(mix.hash(spelling.as_bytes()), at..end);
        }
        at = end;
    }
}

/// Spells out the token that the text starts with and gives its length in bytes of the text. When
/// the text starts with a separator, the spelling is empty and the length the separator's.
fn spell(text: &str, lowercase: bool, spelling: &mut String) -> usize {
    spelling.clear();
    let mut characters = text.char_indices();
    let Some((_, first)) = characters.next() else {
        return 0;
    };
    let opened = LETTERS.class(first);
    // A mark with nothing to stand on, such as the variation selector behind an emoji, is no word.
    if matches!(opened, Class::Separator | Class::Mark) {
        return first.len_utf8();
    }
    push_folded(first, lowercase, spelling);
    for (at, character) in characters {
        let extends = match LETTERS.class(character) {
            Class::Separator | Class::Cut => false,
            Class::Word => opened != Class::Cut,
            Class::Mark => true,
        };
        if !extends {
            return at;
        }
        push_folded(character, lowercase, spelling);
    }
    text.len()
}

/// Appends a character, lowercased if that is wanted: without regard to its neighbours, so that a
/// final Σ is a σ wherever the text was cut.
pub(super) fn push_folded(character: char, lowercase: bool, text: &mut String) {
    if !lowercase {
        text.push(character);
    } else if character.is_ascii() {
        text.push(character.to_ascii_lowercase());
    } else {
        text.extend(character.to_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, true, WordMix { seed: 0 }, |_, place| {
            words.push(&text[place]);
        });
        words
    }

    fn hashes(text: &str, lowercase: bool) -> Vec<u64> {
        let hasher = WordMix { seed: 0 };
        let mut spelled = Vec::new();
        for_each_word(text, lowercase, hasher, |hash, _| spelled.push(hash));
        for level in Level::available() {
            let hashes = hash_words(text, lowercase, hasher, level);
            assert_eq!(hashes, spelled, "{level:?} {text:?}");
        }
        spelled
    }

    #[test]
    fn words_are_runs_of_letters_marks_and_digits() {
        assert_eq!(
            words("It's 3.5 km—the naïve way…"),
            ["It", "s", "3", "5", "km", "the", "naïve", "way"]
        );
        assert_eq!(words("  snake_case\r\n\tx86_64 "), ["snake", "case", "x86", "64"]);
        assert_eq!(words("été 🎉ok🎉 e\u{301}te\u{301}"), ["été", "ok", "e\u{301}te\u{301}"]);
        assert_eq!(words("हिन्दी कि \u{301}a ❤\u{fe0f}"), ["हिन्दी", "कि", "a"]);
        assert_eq!(words("كِتَابٌ، ٣٤"), ["كِتَابٌ", "٣٤"]);
        assert_eq!(words(""), [""; 0]);
        assert_eq!(words("… — 🎉 \u{a0}"), [""; 0]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_letters() {
        assert_eq!(words("我是abc人123。𠀀𪜶"), ["我", "是", "abc", "人", "123", "𠀀", "𪜶"]);
        assert_eq!(words("スーパーです"), ["ス", "ー", "パ", "ー", "で", "す"]);
        assert_eq!(words("ハ\u{309a}ン"), ["ハ\u{309a}", "ン"]);
        assert_eq!(words("ที่นี่"), ["ที่", "นี่"]);
        assert_eq!(words("ລາວ ខ្មែ မြန်"), ["ລ", "າ", "ວ", "ខ្", "មែ", "မြ", "န်"]);
        assert_eq!(words("วันที่ 12 ๑๒"), ["วั", "น", "ที่", "12", "๑๒"]);
    }

    #[test]
    fn case_is_folded_character_by_character() {
        assert_eq!(hashes("ΌΣΟΣ STRASSE Ünï İ", true), hashes("όσοσ strasse üNÏ i\u{307}", true));
        assert_ne!(hashes("straße", true), hashes("strasse", true));
        assert_ne!(hashes("Word", false), hashes("word", false));
        assert_ne!(hashes("Été", false), hashes("été", false));
    }

    /// Long words, the last ones of a text and those beside other scripts go other ways.
    #[test]
    fn a_word_hashes_the_same_wherever_it_stands() {
        let word = "Antidisestablishmentarianism";
        for end in 1..=word.len() {
            let alone = hashes(&word[..end], true);
            assert_eq!(alone.len(), 1);
            for around in ["a, {} b", "中{}", "{}中文字", "—{}’é", "{}, and sixteen bytes more"]
            {
                let text = around.replace("{}", &word[..end].to_uppercase());
                assert!(hashes(&text, true).contains(&alone[0]), "{text}");
            }
            assert!(!hashes(&format!("{}é", &word[..end]), true).contains(&alone[0]));
        }
    }

    /// Letters, marks and separators of one byte to four; some whose lower case is longer or
    /// shorter; runs over several blocks and batches.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z0-9]{1,20}",
            4 => "[ ,.\n]{1,3}",
            3 => "[À-ÿА-яΑ-ωא-ת]{1,12}",
            2 => "[一-丁ァ-ンก-๛a-c\u{301}\u{e31}\u{309a}]{1,9}",
            2 => "[“”—…’·\u{a0}🎉𝒜𐐀𠀀]{1,3}",
            1 => "[İẞȺȾKÅΩǅ\u{130}]{1,2}",
            1 => any::<char>().prop_map(String::from),
            1 => ("[aé中İ]", 1..3_000_usize).prop_map(|(letter, count)| letter.repeat(count)),
        ];
        vec(piece, 0..200).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_level_hashes_the_words_of_the_definition(text in texts(), lowercase: bool) {
            hashes(&text, lowercase);
        }
    }

    #[test]
    fn a_token_ends_with_the_text_wherever_that_is() {
        for letter in ["x", "É", "中", "İ", "𝒜"] {
            for bytes in [1, 61, 62, 63, 64, 65, 4_095, 4_096, 4_097, 4_160, 9_000] {
                let word = letter.repeat(bytes / letter.len() + 1);
                for text in [word.clone(), format!("{word} "), format!(" {word}")] {
                    assert_eq!(hashes(&text, true)[0], hashes(&word, true)[0]);
                }
            }
        }
    }
}
