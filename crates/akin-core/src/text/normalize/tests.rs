use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::CodePointSetData;
use icu_properties::props::{ChangesWhenNfkcCasefolded, DefaultIgnorableCodePoint};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::simd::{Level, WordMix};
use crate::text::words::TextRules;

const NFC: ComposingNormalizerBorrowed = ComposingNormalizerBorrowed::new_nfc();
const NFD: DecomposingNormalizerBorrowed = DecomposingNormalizerBorrowed::new_nfd();
const NFKC: ComposingNormalizerBorrowed = ComposingNormalizerBorrowed::new_nfkc();
const NFKD: DecomposingNormalizerBorrowed = DecomposingNormalizerBorrowed::new_nfkd();

fn fold(form: Normalize, lowercase: bool, text: &str) -> String {
    TextRules::new(form, lowercase).fold(text)
}

fn nfkc(text: &str) -> String {
    fold(Normalize::Nfkc, true, text)
}

fn normalize_with_edits(text: &str) -> (Cow<'_, str>, Edits) {
    let mut edits = Edits::default();
    let normalizer = Normalizer::new(Normalize::Nfkc, true);
    let normalized = normalizer.normalize_within(usize::MAX, text, Some(&mut edits));
    (normalized.unwrap(), edits)
}

fn with_apostrophes(text: &str) -> String {
    text.replace(['\u{2018}', '\u{2019}', '\u{2bc}'], "'")
}

/// `NFKC_Casefold` of a text by its definition (rule R5 of section 3.13 of the Unicode standard),
/// lowercased.
fn nfkc_by_definition(text: &str, folds_case: bool) -> String {
    let mapped = NFD.normalize_iter(text.chars()).map(|it| map_by_definition(it, folds_case));
    let normalized = NFC.normalize(&mapped.collect::<String>()).into_owned();
    if !folds_case {
        return normalized;
    }
    normalized.chars().flat_map(char::to_lowercase).collect()
}

fn map_by_definition(character: char, folds_case: bool) -> String {
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let mut text = character.to_string();
    loop {
        let kept: String = text.chars().filter(|it| !ignorable.contains(*it)).collect();
        let folded = if folds_case { CaseMapper::new().fold_string(&kept) } else { kept.into() };
        let next = with_apostrophes(&NFKC.normalize(&folded));
        if next == text {
            return text;
        }
        text = next;
    }
}

fn assert_as_defined(text: &str) {
    assert_eq!(
        nfkc(text),
        nfkc_by_definition(text, true),
        "{:?}",
        text.escape_unicode().to_string()
    );
    let cased = fold(Normalize::Nfkc, false, text);
    assert_eq!(cased, nfkc_by_definition(text, false), "{:?}", text.escape_unicode().to_string());
    let composed = with_apostrophes(&NFC.normalize(text));
    assert_eq!(
        fold(Normalize::Nfc, false, text),
        composed,
        "{:?}",
        text.escape_unicode().to_string()
    );
    assert_eq!(fold(Normalize::None, false, text), text);
}

#[test]
fn equivalent_spellings_become_one() {
    for (text, expected) in [
        ("e\u{301}te\u{301} ÉTÉ", "été été"),
        ("tie\u{302}\u{301}ng Vie\u{323}\u{302}t", "tiếng việt"),
        ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}", "한국"),
        ("co\u{ad}op\u{200b}e\u{200d}rate\u{feff}", "cooperate"),
        ("Ｆｕｌｌ ｶﾞｷﾞ", "full ガギ"),
        ("ﬁn ﬂy ĳ", "fin fly ij"),
        ("ΌΣΟΣ όσος", "όσοσ όσοσ"),
        ("STRASSE Straße STRAẞE", "strasse strasse strasse"),
        ("don’t ‘tis", "don't 'tis"),
        ("J\u{30c} ǰ", "ǰ ǰ"),
        ("İ", "i\u{307}"),
        ("Ꭰꭰ", "ꭰꭰ"),
        ("😀❤\u{fe0f}", "😀❤"),
        ("\u{ad}\u{301}", "\u{301}"),
        ("e\u{ad}\u{301}", "é"),
        ("\u{212b}\u{301}", "ǻ"),
    ] {
        assert_eq!(nfkc(text), expected, "{text}");
        assert_as_defined(text);
    }
}

#[test]
fn every_character_is_normalized_as_defined() {
    let changing = CodePointSetData::new::<ChangesWhenNfkcCasefolded>();
    let near = '\0'..='\u{1ffff}';
    let far = '\u{20000}'..=char::MAX;
    for character in near.chain(far.filter(|it| changing.contains(*it))) {
        let text = character.to_string();
        let lower: String = character.to_lowercase().collect();
        let changes = changing.contains(character) || with_apostrophes(&text) != text;
        assert!(changes || nfkc(&text) == lower, "{text:?}");
        if changes {
            // Next to a letter and to marks that sort before and after most other marks.
            assert_as_defined(&format!("{text}E{text}\u{316}E{text}\u{345}"));
        }
        assert_raw_words(&format!("a{text}B'{text}'C {text}'{text} ς{text}{text}"));
    }
}

#[test]
fn ordinary_texts_are_not_copied() {
    for text in ["", "plain ASCII", "Länge ÉTÉ Việt", "한국어 中文 हिन्दी שָׁלוֹם", "“quoted” — 🎉"]
    {
        for form in [Normalize::Nfkc, Normalize::Nfc] {
            let normalized = TextRules::new(form, true).normalize(text);
            assert!(matches!(normalized, Cow::Borrowed(_)), "{form:?} {text}");
        }
    }
}

/// U+FDFA becomes eighteen characters of 33 bytes.
#[test]
fn growth_is_bounded() {
    let text = "\u{fdfa}".repeat(100);
    for (form, bytes) in [(Normalize::Nfkc, 3_300), (Normalize::Nfc, 300), (Normalize::None, 300)] {
        let within = |max| Normalizer::new(form, true).normalize_within(max, &text, None);
        assert_eq!(within(bytes).map(|it| it.len()), Some(bytes), "{form:?}");
        assert_eq!(within(bytes - 1), None, "{form:?}");
    }
}

/// If a text need not be normalised, its words must equal the words of the normalised text. Returns
/// whether the default form needs no normalisation.
fn assert_raw_words(text: &str) -> bool {
    let mix = WordMix::new(0);
    let forms = [(Normalize::Nfc, true), (Normalize::Nfc, false), (Normalize::Nfkc, false)];
    let mut is_raw = false;
    for (form, lowercase) in forms.into_iter().chain([(Normalize::Nfkc, true)]) {
        let rules = TextRules::new(form, lowercase);
        for level in Level::available() {
            let raw = rules.hash_raw_words(text, mix, level, None);
            is_raw = raw.is_some();
            let hashes = || rules.hash_words(&rules.normalize(text), mix, level, None);
            assert!(raw.is_none_or(|raw| raw == hashes()), "{form:?} {lowercase} {text:?}");
        }
    }
    is_raw
}

#[test]
fn ordinary_texts_need_no_normalising() {
    for (text, expected) in [
        ("plain ASCII, isn't it", true),
        ("Die Straße… GROẞ nicht", false),
        ("Die Straße… über „alle“ Höhen\u{a0}!", true),
        ("l'été «\u{a0}déjà\u{a0}» ÉTÉ", true),
        ("Все люди рождаются", true),
        ("ὁ λόγος ΛΌΓΟΣ", true),
        ("人人生而自由，在尊严（和）权利上", true),
        ("يولد جميع الناس أحرارًا", true),
        ("Tất cả mọi người", true),
        ("모든 인간은", true),
        ("क्या सभी मनुष्यों", true),
        ("e\u{301}te\u{301}", false),
        ("co\u{ad}op", false),
        ("don’t", false),
        ("q\u{301}\u{323}", false),
    ] {
        let long = text.repeat(300);
        for text in [text, &format!("{long}{text}"), &format!("{}{text}", "long ".repeat(2_000))] {
            assert_eq!(assert_raw_words(text), expected, "{text}");
        }
    }
}

/// Includes two marks on either side of a boundary between blocks of 64 bytes.
#[test]
fn misordered_marks_are_recognised_at_any_place() {
    for start in 0..200 {
        let text = |marks: &str| format!("{}ב{marks} x", "x".repeat(start));
        assert!(assert_raw_words(&text("\u{5bc}")), "{start}");
        assert!(!assert_raw_words(&text("\u{5bc}\u{5b0}")), "{start}");
    }
}

#[test]
fn edits_lead_back_to_the_original() {
    let text = "a\u{ad}b e\u{301} ﷺ c";
    let (normalized, edits) = normalize_with_edits(text);
    let original = |part: &str| {
        let start = normalized.find(part).unwrap();
        &text[edits.original(start..start + part.len())]
    };
    assert_eq!(original("ab"), "a\u{ad}b");
    assert_eq!((original("a"), original("b")), ("a", "b"));
    assert_eq!(original("é"), "e\u{301}");
    assert_eq!(original("الله"), "ﷺ");
    assert_eq!(original("c"), "c");
}

/// Letters that compose, marks in any order, jamo, compatibility characters and ignorable
/// characters.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z ',.]{1,4}",
        4 => "[aeoqAEJßſςΣΩωαιİıǅ]",
        4 => "[\u{300}-\u{345}\u{5b0}-\u{5c2}\u{64b}-\u{655}\u{1dc0}-\u{1dff}]{1,4}",
        2 => "[\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a8}-\u{11c2}가-힣]{1,4}",
        2 => "[\u{ad}\u{200b}-\u{200f}\u{fe0f}\u{115f}\u{1160}\u{3164}\u{e0001}]{1,2}",
        2 => "[Ａ-ｚｦ-ﾟ①-⑳ﬀ-ﬆﷺ½…ŉǰ\u{2bc}\u{2019}\u{37a}\u{2f800}𝐀-𝐙]{1,2}",
        1 => "[\u{93c}\u{94d}कखड\u{9be}\u{9c7}ข\u{e38}\u{e48}ำ\u{f71}-\u{f84}]{1,3}",
        1 => any::<char>().prop_map(String::from),
    ];
    vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn texts_are_normalized_as_defined(text in texts()) {
        assert_as_defined(&text);
    }

    #[test]
    fn words_read_at_once_equal_normalized_words(
        text in texts(), start in 0..70_usize
    ) {
        let text = format!("{}{text}", "x".repeat(start));
        assert_raw_words(&text);
        assert_raw_words(&NFC.normalize(&text));
        assert_raw_words(&nfkc(&text));
    }

    #[test]
    fn equivalent_texts_become_equal(text in texts()) {
        let expected = nfkc(&text);
        for other in [NFD.normalize(&text), NFC.normalize(&text)] {
            prop_assert_eq!(&nfkc(&other), &expected);
            let canonical = |text: &str| fold(Normalize::Nfc, false, text);
            prop_assert_eq!(canonical(&other), canonical(&text));
        }
        for other in [NFKD.normalize(&expected), NFKC.normalize(&expected)] {
            prop_assert_eq!(&nfkc(&other), &expected);
        }
        prop_assert_eq!(nfkc(&expected), expected);
    }

    /// The image of some bytes of the original is the normalised form of these bytes alone.
    #[test]
    fn edits_cover_the_original(text in texts()) {
        let rules = TextRules::new(Normalize::Nfkc, true);
        let (normalized, edits) = normalize_with_edits(&text);
        prop_assert_eq!(&normalized, &rules.normalize(&text));
        let mut covered = 0;
        for (at, character) in normalized.char_indices() {
            let original = edits.original(at..at + character.len_utf8());
            prop_assert!(original.start <= covered.max(original.start) && original.end >= covered);
            covered = original.end;
            prop_assert!(rules.normalize(&text[original]).contains(character));
        }
    }
}
