//! The words of a text.

use std::ops::Range;

use super::classes::Class;
use super::hash::{SHORT_WORD_BYTES_MAX, WordHasher};

const HIGH_BITS: u64 = each(0x80);

/// Visits the hash and the bytes of each token of the text: words, and single letters of scripts
/// that are written without spaces.
pub(super) fn for_each_word(
    text: &str,
    lowercase: bool,
    hasher: WordHasher,
    mut visit: impl FnMut(u64, Range<usize>),
) {
    let bytes = text.as_bytes();
    let mut spelling = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let run = ascii_word_bytes(&bytes[at..]);
        let end = at + run;
        let is_ascii = bytes.get(end).is_none_or(u8::is_ascii);
        if is_ascii && run <= SHORT_WORD_BYTES_MAX {
            if run > 0 {
                visit(hasher.hash_short_ascii(&bytes[at..], run), at..end);
            }
            // What ended the run is an ASCII separator, or the end.
            at = end + 1;
            continue;
        }
        let token_end = spell(&text[at..], lowercase, &mut spelling) + at;
        if !spelling.is_empty() {
            visit(hasher.hash(spelling.as_bytes()), at..token_end);
        }
        at = token_end;
    }
}

/// How many ASCII letters and digits the text starts with. Eight bytes at a time, so that where
/// a usual word ends is a count of zeros and not a branch that nobody can foretell.
#[inline]
fn ascii_word_bytes(text: &[u8]) -> usize {
    let mut run = 0;
    while let Some(chunk) = text[run..].first_chunk() {
        let others = !alphanumeric(u64::from_le_bytes(*chunk)) & HIGH_BITS;
        if others != 0 {
            return run + others.trailing_zeros() as usize / 8;
        }
        run += chunk.len();
    }
    let rest = text[run..].iter();
    run + rest.take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// The high bit of each of eight bytes that is an ASCII letter or digit; other bits are noise.
#[inline]
fn alphanumeric(bytes: u64) -> u64 {
    let ascii = bytes & !HIGH_BITS;
    // Adding 0x80 − c to a byte under 0x80 sets its high bit from c on, and carries nothing over.
    let from = |bytes: u64, first: u8| bytes + each(0x80 - first);
    let lower = ascii | each(0x20);
    let letter = from(lower, b'a') ^ from(lower, b'z' + 1);
    let digit = from(ascii, b'0') ^ from(ascii, b'9' + 1);
    (letter | digit) & !bytes
}

/// The same byte eight times.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Spells out the token that the text starts with and gives its length in bytes of the text. When
/// the text starts with a separator, the spelling is empty and the length the separator's.
fn spell(text: &str, lowercase: bool, spelling: &mut String) -> usize {
    spelling.clear();
    let mut characters = text.char_indices();
    let Some((_, first)) = characters.next() else {
        return 0;
    };
    let opened = Class::of(first);
    // A mark with nothing to stand on, such as the variation selector behind an emoji, is no word.
    if matches!(opened, Class::Separator | Class::Mark) {
        return first.len_utf8();
    }
    push_folded(first, lowercase, spelling);
    for (at, character) in characters {
        let extends = match Class::of(character) {
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
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, true, WordHasher::new(true, 0), |_, place| {
            words.push(&text[place]);
        });
        words
    }

    fn hashes(text: &str, lowercase: bool) -> Vec<u64> {
        let mut hashes = Vec::new();
        let words = WordHasher::new(lowercase, 0);
        for_each_word(text, lowercase, words, |hash, _| hashes.push(hash));
        hashes
    }

    #[test]
    fn eight_bytes_are_classed_as_each_alone() {
        for byte in 0..=255_u8 {
            for (place, neighbour) in (0..8).zip([0, b'/', b'0', b'Z', b'a', 0x7f, 0x80, 0xff]) {
                let mut bytes = [neighbour; 8];
                bytes[place] = byte;
                let classed = (alphanumeric(u64::from_le_bytes(bytes)) & HIGH_BITS).to_le_bytes();
                let alone = bytes.map(|it| if it.is_ascii_alphanumeric() { 0x80 } else { 0 });
                assert_eq!(classed, alone, "{bytes:?}");
            }
        }
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
}
