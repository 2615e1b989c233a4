//! The rules by which texts are cut into words, and the hashes of the words.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::Normalize;
use super::classes::{Class, LETTERS, raw_letters};
use super::cut::UnitRanges;
use super::fold::Folds;
use super::normalize::{Edits, Normalizer};
use crate::simd::{Letters, Level, WordMix, hash_words};

/// How texts are normalised and cut into words: runs of letters, marks and digits with the
/// apostrophes between letters or digits, and single letters of scripts without spaces.
#[derive(Clone, Copy)]
pub(super) struct TextRules {
    normalizer: Normalizer,
    folds: Folds,
    raw_letters: Option<&'static Letters>,
    lowercase: bool,
}

impl fmt::Debug for TextRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextRules").field("lowercase", &self.lowercase).finish_non_exhaustive()
    }
}

impl TextRules {
    pub(super) fn new(normalize: Normalize, lowercase: bool) -> Self {
        let normalizer = Normalizer::new(normalize, lowercase);
        let raw_letters = raw_letters(normalize, lowercase);
        Self { normalizer, folds: Folds::default(), raw_letters, lowercase }
    }

    pub(super) fn folding(self, folds: Folds) -> Self {
        let raw_letters = self.raw_letters.filter(|_| folds.is_empty());
        Self { folds, raw_letters, ..self }
    }

    /// Only for texts with a length limit of their own: NFKC may make a text eleven times as long.
    pub(super) fn normalize(self, text: &str) -> Cow<'_, str> {
        self.normalize_within(usize::MAX, text, None).expect("no text has more bytes")
    }

    /// The text as it is cut into words; `None` if it has more than `bytes_max` bytes. Adds the
    /// edits of each pass to a record.
    pub(super) fn normalize_within<'t>(
        self,
        bytes_max: usize,
        text: &'t str,
        mut edits: Option<&mut Vec<Edits>>,
    ) -> Option<Cow<'t, str>> {
        if self.folds.is_empty() {
            return self.normalize_alone(bytes_max, text, edits);
        }
        let (folds, lowercase) = (self.folds, self.lowercase);
        let early = edits.as_deref_mut();
        let text = folds.before_normalising(text.into(), lowercase, bytes_max, early)?;
        let middle = edits.as_deref_mut();
        let text = match text {
            Cow::Borrowed(text) => self.normalize_alone(bytes_max, text, middle)?,
            Cow::Owned(text) => {
                Cow::Owned(self.normalize_alone(bytes_max, &text, middle)?.into_owned())
            }
        };
        folds.after_normalising(text, lowercase, bytes_max, edits)
    }

    fn normalize_alone<'t>(
        self,
        bytes_max: usize,
        text: &'t str,
        edits: Option<&mut Vec<Edits>>,
    ) -> Option<Cow<'t, str>> {
        let Some(edits) = edits else {
            return self.normalizer.normalize_within(bytes_max, text, None);
        };
        let mut of_pass = Edits::default();
        let text = self.normalizer.normalize_within(bytes_max, text, Some(&mut of_pass));
        edits.push(of_pass);
        text
    }

    /// Hashes of the words of a normalised text. Adds the range of bytes of each to empty `ranges`.
    pub(super) fn hash_words(
        self,
        text: &str,
        mix: WordMix,
        level: Level,
        mut ranges: Option<&mut UnitRanges>,
    ) -> Vec<u64> {
        let (lowercase, of_words) = (self.lowercase, ranges.as_deref_mut());
        if let Some(hashes) = hash_words(level, &LETTERS, text, lowercase, mix, of_words) {
            return hashes;
        }
        if let Some(ranges) = &mut ranges {
            ranges.clear();
        }
        let mut hashes = Vec::new();
        self.for_each_word(text, |spelling, range| {
            hashes.push(mix.hash(spelling.as_bytes()));
            if let Some(ranges) = &mut ranges {
                ranges.push([range.start as u32, range.end as u32]);
            }
        });
        hashes
    }

    /// The hash of each word of a text that is not normalised. Adds the ranges of bytes. `None` if
    /// the text has to be normalised or, with ranges, if lowercasing changes the length of a
    /// character.
    pub(super) fn hash_raw_words(
        self,
        text: &str,
        mix: WordMix,
        level: Level,
        ranges: Option<&mut UnitRanges>,
    ) -> Option<Vec<u64>> {
        hash_words(level, self.raw_letters?, text, self.lowercase, mix, ranges)
    }

    /// Visits the spelling of each word of a normalised text and the bytes that it covers: the
    /// definition that [`Self::hash_words`] is tested against, character by character.
    pub(super) fn for_each_word(self, text: &str, mut visit: impl FnMut(&str, Range<usize>)) {
        let mut spelling = String::new();
        let mut at = 0;
        while at < text.len() {
            let end = at + self.spell(&text[at..], &mut spelling);
            if !spelling.is_empty() {
                visit(&spelling, at..end);
            }
            at = end;
        }
    }

    /// Spells the word at the start of a text and returns its length in bytes of the text. If the
    /// text starts with a separator, the spelling is empty and the length is the length of the
    /// separator.
    fn spell(self, text: &str, spelling: &mut String) -> usize {
        spelling.clear();
        let mut characters = text.char_indices().peekable();
        let Some((_, first)) = characters.next() else {
            return 0;
        };
        let opened = LETTERS.class(first);
        // A mark without a letter, such as the variation selector behind an emoji, is no word.
        if matches!(opened, Class::Separator | Class::Mark) {
            return first.len_utf8();
        }
        self.push_folded(first, spelling);
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| LETTERS.class(*next));
            let extends = match LETTERS.class(character) {
                Class::Mark => true,
                Class::Word => opened == Class::Word,
                Class::Cut => false,
                Class::Separator => {
                    let is_inside = opened == Class::Word && next == Some(Class::Word);
                    character == '\'' && is_inside
                }
            };
            if !extends {
                return at;
            }
            self.push_folded(character, spelling);
        }
        text.len()
    }

    /// Appends a character, lowercased if letter case is ignored: without regard to its
    /// neighbours, so that the result does not depend on where the text was cut.
    pub(super) fn push_folded(self, character: char, text: &mut String) {
        if !self.lowercase {
            text.push(character);
        } else if character.is_ascii() {
            text.push(character.to_ascii_lowercase());
        } else {
            text.extend(character.to_lowercase());
        }
    }

    /// Normalised, and lowercased if letter case is ignored.
    pub(super) fn fold(self, text: &str) -> String {
        let mut folded = String::with_capacity(text.len());
        let normalized = self.normalize(text);
        normalized.chars().for_each(|character| self.push_folded(character, &mut folded));
        folded
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        let rules = TextRules::new(Normalize::Nfkc, true);
        rules.for_each_word(text, |_, place| words.push(&text[place]));
        words
    }

    /// The words' hashes without normalisation, at every level.
    fn hashes(text: &str, lowercase: bool) -> Vec<u64> {
        let rules = TextRules::new(Normalize::None, lowercase);
        let mix = WordMix::new(0);
        let (mut spelled, mut ranges) = (Vec::new(), Vec::new());
        rules.for_each_word(text, |spelling, range| {
            spelled.push(mix.hash(spelling.as_bytes()));
            ranges.push([range.start as u32, range.end as u32]);
        });
        for level in Level::available() {
            let mut found = Vec::new();
            let hashes = rules.hash_words(text, mix, level, Some(&mut found));
            assert_eq!((&hashes, &found), (&spelled, &ranges), "{level:?} {text:?}");
            let hashes = rules.hash_words(text, mix, level, None);
            assert_eq!(hashes, spelled, "{level:?} {text:?}");
        }
        spelled
    }

    #[test]
    fn words_are_runs_of_letters_marks_and_digits() {
        assert_eq!(
            words("It's 3.5 km—the 'naïve' way…"),
            ["It's", "3", "5", "km", "the", "naïve", "way"]
        );
        assert_eq!(words("  snake_case\r\n\tx86_64 "), ["snake", "case", "x86", "64"]);
        assert_eq!(words("été 🎉ok🎉 e\u{301}te\u{301}"), ["été", "ok", "e\u{301}te\u{301}"]);
        assert_eq!(words("हिन्दी कि \u{301}a ❤\u{fe0f}"), ["हिन्दी", "कि", "a"]);
        assert_eq!(words("كِتَابٌ، ٣٤"), ["كِتَابٌ", "٣٤"]);
        assert_eq!(words(""), [""; 0]);
        assert_eq!(words("… — 🎉 \u{a0}"), [""; 0]);
    }

    #[test]
    fn apostrophes_between_letters_or_digits_join_words() {
        assert_eq!(words("don't l'été O'Neil's 1'000"), ["don't", "l'été", "O'Neil's", "1'000"]);
        assert_eq!(words("'tis the dogs' ''a''b'"), ["tis", "the", "dogs", "a", "b"]);
        assert_eq!(
            words("中'a a'中 中'文 ม\u{e31}'a"),
            ["中", "a", "a", "中", "中", "文", "ม\u{e31}", "a"]
        );
        assert_eq!(words("a'\u{301}b q\u{325}'b 3'5 o'5"), ["a", "b", "q\u{325}'b", "3'5", "o'5"]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_letters() {
        assert_eq!(words("我是abc人123。𠀀𪜶"), ["我", "是", "abc", "人", "123", "𠀀", "𪜶"]);
        assert_eq!(words("スーパーです"), ["ス", "ー", "パ", "ー", "で", "す"]);
        assert_eq!(words("ハ\u{309a}ン"), ["ハ\u{309a}", "ン"]);
        assert_eq!(words("ที่นี่"), ["ที่", "นี่"]);
        assert_eq!(words("ລາວ ខ្មែ မြန်"), ["ລ", "າ", "ວ", "ខ្", "មែ", "မြ", "န်"]);
        assert_eq!(words("วันที่ 12 ๑๒"), ["วั", "น", "ที่", "12", "๑๒"]);
        assert_eq!(words("ꦲꦗꦶ"), ["ꦲ", "ꦗꦶ"]);
    }

    #[test]
    fn letters_of_rarer_scripts_without_spaces_are_words() {
        assert_eq!(words("ᬅᬓ᭄ᬱ ᨠᩣ ᥐᥑ"), ["ᬅ", "ᬓ᭄", "ᬱ", "ᨠᩣ", "ᥐ", "ᥑ"]);
        assert_eq!(words("ꀀꀁㄅㄆ"), ["ꀀ", "ꀁ", "ㄅ", "ㄆ"]);
        assert_eq!(words("བོད་ཡིག 한글 단어"), ["བོད", "ཡིག", "한글", "단어"]);
    }

    #[test]
    fn case_is_folded_character_by_character() {
        assert_eq!(hashes("ΌΣΟΣ STRASSE Ünï İ", true), hashes("όσοσ strasse üNÏ i\u{307}", true));
        assert_ne!(hashes("straße", true), hashes("strasse", true));
        assert_ne!(hashes("Word", false), hashes("word", false));
        assert_ne!(hashes("Été", false), hashes("été", false));
    }

    /// Long words, the last words of a text and words next to other scripts take other paths.
    #[test]
    fn word_hashes_do_not_depend_on_position() {
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

    /// Letters, marks and separators of one byte to four; some with a longer or shorter lower case;
    /// runs over several blocks and batches.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z0-9]{1,20}",
            4 => "[ ,.\n]{1,3}",
            2 => "'{1,2}",
            3 => "[À-ÿА-яΑ-ωא-ת]{1,12}",
            2 => "[一-丁ァ-ンก-๛ꦲ-ꦴ𑌅-𑌌ᬅ-ᬓa-c\u{301}\u{e31}\u{309a}]{1,9}",
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
    fn the_end_of_a_text_ends_its_token() {
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
