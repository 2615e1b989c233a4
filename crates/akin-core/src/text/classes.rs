//! Classes of characters: the effect of each character on the token before it.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, LineBreak, Script};

use super::Normalize;
use super::normalize::{Effect, Normalizer};
pub(super) use crate::simd::Class;
use crate::simd::{Letters, Stability};

/// The line-breaking classes (UAX #14) of letters between which a line may end without a space:
/// scripts of Southeast Asia, whose breaks take a dictionary (SA), ideographs, kana and syllabaries
/// (ID, CJ, NS), and scripts that break between syllables (AK, AP, AS).
const UNSPACED: [LineBreak; 7] = [
    LineBreak::ComplexContext,
    LineBreak::Ideographic,
    LineBreak::ConditionalJapaneseStarter,
    LineBreak::Nonstarter,
    LineBreak::Aksara,
    LineBreak::AksaraPrebase,
    LineBreak::AksaraStart,
];

/// The class of every character of normalised texts, and of texts that are never normalised.
/// Looking up a character in Unicode's data takes several searches.
pub(super) static LETTERS: Letters = Letters::new(|it| (class(it), Stability::Stable));

/// The letters of texts that are not normalised yet: the words of most texts are the same before
/// and after, so most texts are read only once.
pub(super) fn raw_letters(normalize: Normalize, lowercase: bool) -> Option<&'static Letters> {
    match (normalize, lowercase) {
        (Normalize::Nfkc, true) => Some(&RAW_CASEFOLDED),
        (Normalize::Nfkc, false) => Some(&RAW_NFKC),
        (Normalize::Nfc, _) => Some(&RAW_NFC),
        (Normalize::None, _) => None,
    }
}

static RAW_CASEFOLDED: Letters = {
    const FORM: (Normalize, bool) = (Normalize::Nfkc, true);
    Letters::of_raw_texts(|it| raw_letter(FORM, it), |it| image(FORM, it))
};

static RAW_NFKC: Letters = {
    const FORM: (Normalize, bool) = (Normalize::Nfkc, false);
    Letters::of_raw_texts(|it| raw_letter(FORM, it), |it| image(FORM, it))
};

static RAW_NFC: Letters = {
    const FORM: (Normalize, bool) = (Normalize::Nfc, false);
    Letters::of_raw_texts(|it| raw_letter(FORM, it), |it| image(FORM, it))
};

/// The class of a character after normalisation, and whether normalisation can be skipped.
fn raw_letter((normalize, lowercase): (Normalize, bool), character: char) -> (Class, Stability) {
    let class = |it| LETTERS.class(it);
    match Normalizer::new(normalize, lowercase).effect(character) {
        Effect::None => (class(character), Stability::Stable),
        Effect::Order => (class(character), Stability::Ordered),
        // Separators are in no word, so a replacement by another separator changes nothing.
        // Apostrophes may be in a word.
        Effect::Image(image)
            if !image.is_empty()
                && image.chars().all(|it| class(it) == Class::Separator && it != '\'') =>
        {
            (Class::Separator, Stability::Stable)
        }
        Effect::Image(image)
            if image.len() == character.len_utf8()
                && image.chars().all(|it| class(it) == Class::Word)
                && image.chars().flat_map(char::to_lowercase).eq(image.chars()) =>
        {
            (Class::Word, Stability::Respelled)
        }
        Effect::Image(_) | Effect::Unknown => (class(character), Stability::Unstable),
    }
}

fn image((normalize, lowercase): (Normalize, bool), character: char) -> &'static str {
    match Normalizer::new(normalize, lowercase).effect(character) {
        Effect::Image(image) => image,
        Effect::None | Effect::Order | Effect::Unknown => "",
    }
}

fn class(character: char) -> Class {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    if GeneralCategoryGroup::Mark.contains(category) {
        return Class::Mark;
    }
    let is_letter = GeneralCategoryGroup::Letter.contains(category);
    // The ideographic zero is a number that is written as a letter.
    if (is_letter || category == GeneralCategory::LetterNumber) && is_unspaced(character) {
        return Class::Cut;
    }
    match is_letter || GeneralCategoryGroup::Number.contains(category) {
        true => Class::Word,
        false => Class::Separator,
    }
}

/// Korean jamo and full-width Latin letters break like ideographs, too, but their words have spaces
/// between them.
fn is_unspaced(character: char) -> bool {
    let class = CodePointMapData::<LineBreak>::new().get(character);
    let script = CodePointMapData::<Script>::new().get(character);
    UNSPACED.contains(&class) && ![Script::Hangul, Script::Latin].contains(&script)
}

/// The letters that make a word of a reader, on average. 1 where a word here is a word of a reader,
/// and where that is not known.
///
/// Measured with ICU's dictionaries over the UDHR and the summaries of tldr: Han 1.55 to 1.89
/// letters a word, kana 1.64 to 2.59, Thai 2.6 to 3.1, Lao 3.0 to 3.3, Khmer 3.1, Burmese 2.2.
/// Letters have their marks with them.
///
/// For the other scripts there is no dictionary. The UDHR in Tai Viet has spaces: 2.3 letters
/// between two, and 1.3 words for a word of the English text, as in Thai and Lao; Tai Tham is
/// measured by that number of words (2.67 letters for an English word), Yi (1.69) and Javanese
/// (3.54) by the mean of Thai, Lao, Khmer, Chinese and Japanese, 1.2. Tai Le and New Tai Lue, which
/// the UDHR lacks, are taken as Tai Viet, of which the languages are kin.
pub(super) fn letters_of_word(character: char) -> f64 {
    if character.is_ascii() || LETTERS.class(character) != Class::Cut {
        return 1.0;
    }
    match CodePointMapData::<Script>::new().get(character) {
        Script::Han => 1.6,
        // ー and 〆 are of several scripts.
        Script::Hiragana | Script::Katakana | Script::Common | Script::TaiTham => 2.0,
        Script::Thai => 2.8,
        Script::Lao | Script::Khmer => 3.1,
        Script::Myanmar => 2.2,
        Script::TaiViet | Script::TaiLe | Script::NewTaiLue => 2.3,
        Script::Yi => 1.4,
        Script::Javanese => 3.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_class(class: Class, characters: &str) {
        for character in characters.chars() {
            assert_eq!(LETTERS.class(character), class, "{character:?}");
        }
    }

    #[test]
    fn characters_have_the_classes_of_their_scripts() {
        assert_class(
            Class::Separator,
            " \n\t.,;-_'’“—。、「」·🎉❤\u{200d}\u{a0}\u{ad}\u{0}$+<`©\u{e000}",
        );
        assert_class(Class::Word, "azAZ09éßİΣжא٣가ㄱªⅣ½²๓𝒜𐐷བＡａ");
        assert_class(Class::Cut, "中文〇ひカーｱไทยກខက𠀀𪜶々〆ꦲꦗ");
        assert_class(
            Class::Mark,
            "\u{301}\u{64b}\u{e31}\u{e34}\u{3099}\u{20dd}\u{93f}\u{fe0f}\u{1d165}",
        );
    }

    /// Bopomofo, Yi, Tangut and Nushu are ideographic; Tai Tham, Tai Le, New Tai Lue, Tai
    /// Viet and Ahom need a dictionary; Balinese, Grantha, Batak, Brahmi, Cham, Makasar, Dives
    /// Akuru, Kawi, Gurung Khema and Tulu-Tigalari break between syllables.
    #[test]
    fn letters_of_all_scripts_without_spaces_are_cut() {
        assert_class(
            Class::Cut,
            "ㄅㄆꀀꀁ𗀀𛅰ᨠᨾᥐᥖᦀᦂꪀꪁ𑜀ᬅᬓ𑌅ᯀ𑀅ꨀꨆ\u{11ee0}𑤀\u{11f04}\u{16100}\u{11380}",
        );
        assert_class(Class::Word, "한글ㄱᄀབཀकᏣሀᠠⴰ");
    }

    #[test]
    fn cached_classes_equal_looked_up_classes() {
        for character in '\0'..=char::MAX {
            assert_eq!(LETTERS.class(character), class(character), "{character:?}");
        }
    }

    /// Lowercasing changes only letters of words.
    #[test]
    fn only_letters_of_words_have_a_lower_case() {
        for character in '\0'..=char::MAX {
            let is_lower = character.to_lowercase().eq([character]);
            let class = LETTERS.class(character);
            let is_word = matches!(class, Class::Word | Class::Separator);
            assert!(is_lower || is_word, "{character:?}");
        }
    }

    #[test]
    fn ascii_words_are_the_alphanumeric_characters() {
        for character in '\0'..='\x7f' {
            let is_word = character.is_ascii_alphanumeric();
            let class = if is_word { Class::Word } else { Class::Separator };
            assert_class(class, &character.to_string());
        }
    }
}
