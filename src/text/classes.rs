//! What each character does to the token before it.

use std::sync::LazyLock;

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, LineBreak, Script};
use icu_properties::script::ScriptWithExtensions;

use super::Normalize;
use super::normalize::{Effect, Normalizer};
pub(super) use crate::simd::Class;
use crate::simd::{Letters, Stability};

/// Some signs of these scripts, such as 々, are in line-breaking classes of their own.
const IDEOGRAPHIC: [Script; 3] = [Script::Han, Script::Hiragana, Script::Katakana];

/// The other scripts without spaces where texts are not normalised.
const UNNORMALIZED: [Script; 4] = [Script::Thai, Script::Lao, Script::Khmer, Script::Myanmar];

static LETTERS: LazyLock<Letters> =
    LazyLock::new(|| Letters::new(|it| (normalized_class(it), Stability::Stable), true));

static UNNORMALIZED_LETTERS: LazyLock<Letters> =
    LazyLock::new(|| Letters::new(|it| (unnormalized_class(it), Stability::Stable), false));

/// The class of every character of texts that were normalised in this way. Looking one up in
/// Unicode's data takes several searches.
pub(super) fn letters(normalize: Normalize) -> &'static Letters {
    match normalize {
        Normalize::None => &UNNORMALIZED_LETTERS,
        Normalize::Nfkc | Normalize::Nfc => &LETTERS,
    }
}

/// The letters of texts that are not normalised yet: the words of most texts are the same before
/// and after, and such texts are read only once.
pub(super) fn raw_letters(normalize: Normalize, lowercase: bool) -> Option<&'static Letters> {
    match (normalize, lowercase) {
        (Normalize::Nfkc, true) => Some(&RAW_CASEFOLDED),
        (Normalize::Nfkc, false) => Some(&RAW_NFKC),
        (Normalize::Nfc, _) => Some(&RAW_NFC),
        (Normalize::None, _) => None,
    }
}

static RAW_CASEFOLDED: LazyLock<Letters> = LazyLock::new(|| {
    const FORM: (Normalize, bool) = (Normalize::Nfkc, true);
    Letters::of_raw_texts(|it| raw_letter(FORM, it), |it| image(FORM, it), true)
});

static RAW_NFKC: LazyLock<Letters> = LazyLock::new(|| {
    const FORM: (Normalize, bool) = (Normalize::Nfkc, false);
    Letters::of_raw_texts(|it| raw_letter(FORM, it), |it| image(FORM, it), true)
});

static RAW_NFC: LazyLock<Letters> = LazyLock::new(|| {
    const FORM: (Normalize, bool) = (Normalize::Nfc, false);
    Letters::of_raw_texts(|it| raw_letter(FORM, it), |it| image(FORM, it), true)
});

/// The class of a character once it is normalised, and whether normalising can be left out.
fn raw_letter((normalize, lowercase): (Normalize, bool), character: char) -> (Class, Stability) {
    let class = |it| LETTERS.class(it);
    match Normalizer::new(normalize, lowercase).effect(character) {
        Effect::None => (class(character), Stability::Stable),
        Effect::Order => (class(character), Stability::Ordered),
        // Separators are in no word, so it does not matter which they are; apostrophes may be.
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

fn normalized_class(character: char) -> Class {
    class(character, |it| is_of(it, &IDEOGRAPHIC) || breaks_anywhere(it))
}

fn unnormalized_class(character: char) -> Class {
    class(character, |it| is_of(it, &IDEOGRAPHIC) || is_of(it, &UNNORMALIZED))
}

fn class(character: char, is_unspaced: impl Fn(char) -> bool) -> Class {
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

/// Script extensions count ー, which Hiragana and Katakana share.
fn is_of(character: char, scripts: &[Script]) -> bool {
    let known = ScriptWithExtensions::new();
    scripts.iter().any(|script| known.has_script(character, *script))
}

/// Whether lines break beside a letter without a space (UAX #14): ideographs and the like, letters
/// of scripts whose words only a dictionary tells (Thai, Lao, Khmer, Burmese, Tai Tham …), and
/// those of scripts with breaks between syllables (Javanese, Balinese, Cham …).
/// Full-width Latin letters are among the ideographs there, but make words.
fn breaks_anywhere(character: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let has_case = GeneralCategoryGroup::CasedLetter.contains(category);
    let breaks = matches!(
        CodePointMapData::<LineBreak>::new().get(character),
        LineBreak::Ideographic
            | LineBreak::ConditionalJapaneseStarter
            | LineBreak::ComplexContext
            | LineBreak::Aksara
            | LineBreak::AksaraPrebase
            | LineBreak::AksaraStart
    );
    breaks && !has_case
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [Normalize; 2] = [Normalize::Nfkc, Normalize::None];

    fn assert_class(normalize: Normalize, class: Class, characters: &str) {
        for character in characters.chars() {
            assert_eq!(letters(normalize).class(character), class, "{character:?} {normalize:?}");
        }
    }

    #[test]
    fn characters_have_the_classes_of_their_scripts() {
        for form in FORMS {
            let of = |class, characters| assert_class(form, class, characters);
            of(
                Class::Separator,
                " \n\t.,;-_'’“—。、「」·🎉❤\u{200d}\u{a0}\u{ad}\u{0}$+<`©\u{e000}",
            );
            of(Class::Word, "azAZ09éßİΣжא٣가ªⅣ½²๓𝒜𐐷བＡａ");
            of(Class::Cut, "中文〇ひカーｱไทยກខက𠀀𪜶々");
            of(Class::Mark, "\u{301}\u{64b}\u{e31}\u{e34}\u{3099}\u{20dd}\u{93f}\u{fe0f}\u{1d165}");
        }
    }

    /// Javanese, Balinese, Tai Tham, Tai Le, New Tai Lue, Tai Viet, Cham and Yi.
    #[test]
    fn scripts_without_spaces_are_those_of_line_breaking() {
        let letters = "ꦲꦗᬅᬓᨠᨾᥐᥖᦀᦂꪀꪁꨀꨆꀀꀁ";
        assert_class(Normalize::Nfkc, Class::Cut, letters);
        assert_class(Normalize::None, Class::Word, letters);
    }

    #[test]
    fn every_character_has_the_class_that_is_looked_up() {
        for character in '\0'..=char::MAX {
            let [normalized, unnormalized] = FORMS.map(|form| letters(form).class(character));
            assert_eq!(normalized, normalized_class(character), "{character:?}");
            assert_eq!(unnormalized, unnormalized_class(character), "{character:?}");
        }
    }

    /// Lowercasing leaves all but the letters of words alone.
    #[test]
    fn only_letters_of_words_have_a_lower_case() {
        for character in '\0'..=char::MAX {
            let is_lower = character.to_lowercase().eq([character]);
            let classes = FORMS.map(|form| letters(form).class(character));
            let is_word = classes == [Class::Word; 2] || classes == [Class::Separator; 2];
            assert!(is_lower || is_word, "{character:?}");
        }
    }

    #[test]
    fn ascii_words_are_the_alphanumeric_characters() {
        for character in '\0'..='\x7f' {
            let is_word = character.is_ascii_alphanumeric();
            let class = if is_word { Class::Word } else { Class::Separator };
            let [(), ()] = FORMS.map(|form| assert_class(form, class, &character.to_string()));
        }
    }
}
