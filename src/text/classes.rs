//! What each character does to the token before it.

use std::sync::LazyLock;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

pub(super) use crate::simd::Class;
use crate::simd::Letters;

/// The scripts that are written without spaces between words.
const UNSPACED: [Script; 7] = [
    Script::Han,
    Script::Hiragana,
    Script::Katakana,
    Script::Thai,
    Script::Lao,
    Script::Khmer,
    Script::Myanmar,
];

/// The class of every character. Looking one up in the Unicode crates takes two binary searches.
pub(super) static LETTERS: LazyLock<Letters> = LazyLock::new(|| Letters::new(look_up));

fn look_up(character: char) -> Class {
    match character.general_category_group() {
        GeneralCategoryGroup::Mark => Class::Mark,
        GeneralCategoryGroup::Letter if is_unspaced(character) => Class::Cut,
        GeneralCategoryGroup::Number if is_letter_like(character) => Class::Cut,
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => Class::Word,
        _ => Class::Separator,
    }
}

/// Whether a number is written as a letter of a script without spaces, as the ideographic zero is.
fn is_letter_like(number: char) -> bool {
    number.general_category() == GeneralCategory::LetterNumber && is_unspaced(number)
}

/// Script extensions count ー, which Hiragana and Katakana share. Characters of all scripts have
/// all extensions and are not meant.
fn is_unspaced(character: char) -> bool {
    let scripts = character.script_extension();
    let of_all_scripts = scripts.is_common() || scripts.is_inherited();
    !of_all_scripts && UNSPACED.iter().any(|&script| scripts.contains_script(script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_the_classes_of_their_scripts() {
        let of = |class: Class, characters: &str| {
            for character in characters.chars() {
                assert_eq!(LETTERS.class(character), class, "{character:?}");
            }
        };
        of(Class::Separator, " \n\t.,;-_'’“—。、「」·🎉❤\u{200d}\u{a0}\u{ad}\u{0}$+<`©\u{e000}");
        of(Class::Word, "azAZ09éßİΣжא٣가ªⅣ½²๓𝒜𐐷");
        of(Class::Cut, "中文〇ひカーｱไทยກខက𠀀𪜶々");
        of(Class::Mark, "\u{301}\u{64b}\u{e31}\u{e34}\u{3099}\u{20dd}\u{93f}\u{fe0f}\u{1d165}");
    }

    #[test]
    fn every_character_has_the_class_that_the_crates_say() {
        ('\0'..=char::MAX).for_each(|it| assert_eq!(LETTERS.class(it), look_up(it), "{it:?}"));
    }

    /// Lowercasing leaves all but the letters of words alone.
    #[test]
    fn only_letters_of_words_have_a_lower_case() {
        for character in '\0'..=char::MAX {
            let is_lower = character.to_lowercase().eq([character]);
            let class = LETTERS.class(character);
            assert!(is_lower || !matches!(class, Class::Cut | Class::Mark), "{character:?}");
        }
    }

    #[test]
    fn ascii_words_are_the_alphanumeric_characters() {
        for character in '\0'..='\x7f' {
            let class =
                if character.is_ascii_alphanumeric() { Class::Word } else { Class::Separator };
            assert_eq!(LETTERS.class(character), class, "{character:?}");
        }
    }
}
