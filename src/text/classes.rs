//! What each character does to the token before it.

use std::sync::LazyLock;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

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

/// Code points of the basic multilingual plane.
const BMP: usize = 0x1_0000;
/// Classes packed in a byte, two bits each.
const PACKED: usize = 4;

/// Looking a class up in the Unicode crates takes two binary searches; in 16 KiB, one load.
static BMP_CLASSES: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let code_points = 0..BMP as u32;
    let mut packed = vec![0; BMP / PACKED].into_boxed_slice();
    // Surrogates are not characters; they stay separators and are never asked for.
    for character in code_points.filter_map(char::from_u32) {
        let (byte, shift) = place(character as usize);
        packed[byte] |= (look_up(character) as u8) << shift;
    }
    packed
});

/// What a character does when words are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Ends the token before it and belongs to none.
    Separator = 0,
    /// Extends a word, or opens one.
    Word = 1,
    /// A letter of a script without spaces: opens a token of its own.
    Cut = 2,
    /// Extends whatever token is open; where none is, it separates.
    Mark = 3,
}

impl Class {
    pub(super) fn of(character: char) -> Self {
        if character as usize >= BMP {
            return look_up(character);
        }
        let (byte, shift) = place(character as usize);
        match BMP_CLASSES[byte] >> shift & 3 {
            0 => Self::Separator,
            1 => Self::Word,
            2 => Self::Cut,
            _ => Self::Mark,
        }
    }
}

/// The byte of the packed table that holds a code point's class, and the class's place in it.
fn place(code_point: usize) -> (usize, usize) {
    (code_point / PACKED, code_point % PACKED * 2)
}

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
                assert_eq!(Class::of(character), class, "{character:?}");
            }
        };
        of(Class::Separator, " \n\t.,;-_'’“—。、「」·🎉❤\u{200d}\u{a0}\u{ad}\u{0}$+<`©\u{e000}");
        of(Class::Word, "azAZ09éßİΣжא٣가ªⅣ½²๓𝒜𐐷");
        of(Class::Cut, "中文〇ひカーｱไทยກខက𠀀𪜶々");
        of(Class::Mark, "\u{301}\u{64b}\u{e31}\u{e34}\u{3099}\u{20dd}\u{93f}\u{fe0f}\u{1d165}");
    }

    #[test]
    fn the_packed_table_says_what_the_crates_say() {
        let bmp = (0..BMP as u32).filter_map(char::from_u32);
        bmp.for_each(|character| assert_eq!(Class::of(character), look_up(character)));
    }

    #[test]
    fn ascii_words_are_the_alphanumeric_characters() {
        for character in '\0'..='\x7f' {
            let class =
                if character.is_ascii_alphanumeric() { Class::Word } else { Class::Separator };
            assert_eq!(Class::of(character), class, "{character:?}");
        }
    }
}
