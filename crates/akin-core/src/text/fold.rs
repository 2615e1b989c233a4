//! Differences of spelling that a collection may ignore, beside the differences that normalisation
//! removes.
//!
//! Each rule is a pass over the text, before or after it is normalised. A pass replaces pieces of
//! the text, by Unicode's properties of their characters. No pass runs unless a setting wants it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use icu_normalizer::properties::{
    CanonicalCompositionBorrowed, CanonicalDecompositionBorrowed, Decomposed,
};
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, JoiningType, Script};
use icu_properties::script::ScriptWithExtensions;
use serde::{Deserialize, Serialize};

use super::classes::{Class, LETTERS};
use super::normalize::Edits;

/// A difference of spelling that can be ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", value(rename_all = "snake_case"))]
pub enum Fold {
    /// A word that a hyphen divides at the end of a line, as in German and scanned texts
    LineEndHyphens,
    /// Turkish and Azerbaijani letter case: I is ı, and İ is i
    TurkicCase,
    /// Arabic harakat and tatweel, Hebrew points, and the place of Vietnamese tones (hòa, hoà)
    Marks,
    /// Digits of any script
    Digits,
    /// Letters that look alike, by the skeletons of UTS 39
    Lookalikes,
}

impl Fold {
    /// Every fold.
    pub const ALL: [Self; 5] =
        [Self::LineEndHyphens, Self::TurkicCase, Self::Marks, Self::Digits, Self::Lookalikes];
}

/// Several [`Fold`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Folds(u8);

/// A place in a text where a rule may apply.
struct FoldPlace<'t> {
    before: Option<char>,
    rest: &'t str,
    lowercase: bool,
}

/// Writes what stands for the first bytes at a place, and returns how many bytes these are: 0 where
/// the rule does not apply.
type Rule = fn(place: &FoldPlace<'_>, folded: &mut String) -> usize;

/// In the order of the passes.
const BEFORE_NORMALISING: [(Fold, Rule); 1] = [(Fold::LineEndHyphens, line_end_hyphen)];
const AFTER_NORMALISING: [(Fold, Rule); 4] = [
    (Fold::TurkicCase, turkic_case),
    (Fold::Marks, mark),
    (Fold::Digits, digit),
    (Fold::Lookalikes, lookalike),
];

const COMPOSITIONS: CanonicalCompositionBorrowed = CanonicalCompositionBorrowed::new();
const DECOMPOSITIONS: CanonicalDecompositionBorrowed = CanonicalDecompositionBorrowed::new();

/// Grave, acute, tilde, hook above and dot below.
const VIETNAMESE_TONES: [char; 5] = ['\u{300}', '\u{301}', '\u{303}', '\u{309}', '\u{323}'];

/// Hyphens at the end of a line: the hyphen-minus, the hyphen and the soft hyphen.
const HYPHENS: [char; 3] = ['-', '\u{2010}', '\u{ad}'];

impl Folds {
    pub(super) fn new(folds: &BTreeSet<Fold>) -> Self {
        Self(folds.iter().fold(0, |bits, fold| bits | 1 << *fold as u8))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The passes before a text is normalised; `None` if the text becomes longer than `bytes_max`.
    pub(super) fn before_normalising<'t>(
        self,
        text: Cow<'t, str>,
        lowercase: bool,
        bytes_max: usize,
        edits: Option<&mut Vec<Edits>>,
    ) -> Option<Cow<'t, str>> {
        self.run(&BEFORE_NORMALISING, text, lowercase, bytes_max, edits)
    }

    /// The passes after a text is normalised; `None` if the text becomes longer than `bytes_max`.
    pub(super) fn after_normalising<'t>(
        self,
        text: Cow<'t, str>,
        lowercase: bool,
        bytes_max: usize,
        edits: Option<&mut Vec<Edits>>,
    ) -> Option<Cow<'t, str>> {
        self.run(&AFTER_NORMALISING, text, lowercase, bytes_max, edits)
    }

    fn run<'t>(
        self,
        rules: &[(Fold, Rule)],
        mut text: Cow<'t, str>,
        lowercase: bool,
        bytes_max: usize,
        mut edits: Option<&mut Vec<Edits>>,
    ) -> Option<Cow<'t, str>> {
        for (_, rule) in rules.iter().filter(|(fold, _)| self.0 & 1 << *fold as u8 != 0) {
            let mut of_pass = Edits::default();
            text = pass(text, *rule, lowercase, bytes_max, &mut of_pass)?;
            if let Some(edits) = &mut edits {
                edits.push(of_pass);
            }
        }
        Some(text)
    }
}

/// The text with all pieces replaced to which a rule applies; `None` beyond `bytes_max`.
fn pass<'t>(
    text: Cow<'t, str>,
    rule: Rule,
    lowercase: bool,
    bytes_max: usize,
    edits: &mut Edits,
) -> Option<Cow<'t, str>> {
    let (mut output, mut piece) = (String::new(), String::new());
    let (mut at, mut flushed, mut before) = (0, 0, None);
    while let Some(character) = text[at..].chars().next() {
        piece.clear();
        let replaced = rule(&FoldPlace { before, rest: &text[at..], lowercase }, &mut piece);
        let end = at + replaced.max(character.len_utf8());
        if replaced > 0 {
            output.push_str(&text[flushed..at]);
            edits.push(output.len()..output.len() + piece.len(), at..end);
            output.push_str(&piece);
            flushed = end;
        }
        if output.len() > bytes_max {
            return None;
        }
        before = text[at..end].chars().next_back();
        at = end;
    }
    if flushed == 0 {
        return Some(text);
    }
    output.push_str(&text[flushed..]);
    (output.len() <= bytes_max).then_some(Cow::Owned(output))
}

/// Joins two parts of a word. A part in upper case begins a word of its own (Nord-Süd), unless the
/// part before ends in upper case, too.
fn line_end_hyphen(place: &FoldPlace<'_>, _: &mut String) -> usize {
    let Some(hyphen) = place.rest.chars().next().filter(|it| HYPHENS.contains(it)) else {
        return 0;
    };
    let Some(before) = place.before.filter(|it| it.is_alphabetic()) else { return 0 };
    let is_blank = |it: char| matches!(it, ' ' | '\t');
    let end_of_line = place.rest[hyphen.len_utf8()..].trim_start_matches(is_blank);
    let lines = ["\r\n", "\n", "\r"].iter().find_map(|end| end_of_line.strip_prefix(end));
    let Some(next) = lines.map(|next| next.trim_start_matches(is_blank)) else { return 0 };
    let continues = |it: char| it.is_alphabetic() && (!it.is_uppercase() || before.is_uppercase());
    if next.starts_with(continues) { place.rest.len() - next.len() } else { 0 }
}

/// Lowercases the letters whose lower case is another in Turkish (`SpecialCasing.txt`).
fn turkic_case(place: &FoldPlace<'_>, folded: &mut String) -> usize {
    const CASES: [(&str, &str); 3] = [("I", "ı"), ("İ", "i"), ("i\u{307}", "i")];
    let found = CASES.iter().find(|(upper, _)| place.rest.starts_with(upper));
    found.map_or(0, |(upper, lower)| {
        folded.push_str(lower);
        upper.len()
    })
}

/// Drops marks that most writers leave out, and moves a Vietnamese tone to the first of two vowels.
fn mark(place: &FoldPlace<'_>, folded: &mut String) -> usize {
    let mut characters = place.rest.chars();
    let Some(first) = characters.next() else { return 0 };
    if is_optional(first) {
        return first.len_utf8();
    }
    let toned = match first {
        'o' | 'O' => ['a', 'e'].as_slice(),
        'u' | 'U' => ['y'].as_slice(),
        _ => return 0,
    };
    let Some(second) = characters.next() else { return 0 };
    let Decomposed::Expansion(base, tone) = DECOMPOSITIONS.decompose(second) else { return 0 };
    let moved = COMPOSITIONS.compose(first, tone);
    match moved
        .filter(|_| toned.contains(&base.to_ascii_lowercase()) && VIETNAMESE_TONES.contains(&tone))
    {
        Some(moved) => {
            folded.extend([moved, base]);
            first.len_utf8() + second.len_utf8()
        }
        None => 0,
    }
}

/// Points over and under Arabic and Hebrew letters, and letters that only stretch a word.
fn is_optional(character: char) -> bool {
    if character.is_ascii() {
        return false;
    }
    match CodePointMapData::<GeneralCategory>::new().get(character) {
        GeneralCategory::NonspacingMark => {
            let of = |script| ScriptWithExtensions::new().has_script(character, script);
            of(Script::Arabic) || of(Script::Hebrew)
        }
        GeneralCategory::ModifierLetter => {
            CodePointMapData::<JoiningType>::new().get(character) == JoiningType::JoinCausing
        }
        _ => false,
    }
}

fn digit(place: &FoldPlace<'_>, _: &mut String) -> usize {
    let category = |it| CodePointMapData::<GeneralCategory>::new().get(it);
    let is_digit = |it: char| match it.is_ascii() {
        true => it.is_ascii_digit(),
        false => category(it) == GeneralCategory::DecimalNumber,
    };
    place.rest.len() - place.rest.trim_start_matches(is_digit).len()
}

/// Letters, marks and digits stay in their words: a prototype that would cut a word is not taken.
fn lookalike(place: &FoldPlace<'_>, folded: &mut String) -> usize {
    let Some(character) = place.rest.chars().next() else { return 0 };
    let is_of_words = |it| LETTERS.class(it) != Class::Separator;
    if !is_of_words(character) {
        return 0;
    }
    let mut lower = String::new();
    match place.lowercase {
        true => lower.extend(character.to_lowercase()),
        false => lower.push(character),
    }
    folded.extend(unicode_security::skeleton(&lower));
    if folded.chars().all(is_of_words) && !folded.chars().eq([character]) {
        return character.len_utf8();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::super::{ShingleSettings, Shingler, Unit};
    use super::*;

    fn shingler(fold: &[Fold]) -> Shingler {
        let fold = fold.iter().copied().collect();
        let settings = ShingleSettings { fold, size: 1, ..ShingleSettings::default() };
        Shingler::new(settings, 0, usize::MAX)
    }

    fn hashes(shingler: &Shingler, text: &str) -> Vec<u64> {
        shingler.words(text).unwrap().hashes().to_vec()
    }

    #[test]
    fn each_fold_makes_its_texts_equal_and_no_other_does() {
        let mut wrong = Vec::new();
        for (fold, a, b) in [
            (Fold::LineEndHyphens, "Donaudampf-\nschiff", "Donaudampfschiff"),
            (Fold::LineEndHyphens, "KORRES\u{2010} \r\n  PONDENZ", "Korrespondenz"),
            (Fold::LineEndHyphens, "Wort\u{ad}\nteil", "Wortteil"),
            (Fold::TurkicCase, "DİYARBAKIR", "diyarbakır"),
            (Fold::Marks, "كِتَابٌ", "كتاب"),
            (Fold::Marks, "كتـــاب", "كتاب"),
            (Fold::Marks, "שָׁלוֹם", "שלום"),
            (Fold::Marks, "Hòa khỏe thúy", "HOÀ khoẻ thuý"),
            (Fold::Digits, "Page 3 of 17", "page 12 of 201 ٣٤"),
            (Fold::Lookalikes, "p\u{430}yp\u{430}l", "paypal"),
            (Fold::Lookalikes, "modern", "rnodern"),
        ] {
            let are_equal = |folds: &[Fold]| {
                let shingler = shingler(folds);
                hashes(&shingler, a) == hashes(&shingler, b)
            };
            let equal_by: Vec<_> =
                Fold::ALL.into_iter().filter(|fold| are_equal(&[*fold])).collect();
            wrong.extend((equal_by != [fold]).then_some((a, b, equal_by)));
            wrong.extend((!are_equal(&Fold::ALL)).then_some((a, b, Fold::ALL.to_vec())));
        }
        assert_eq!(wrong, []);
        for (fold, a, b) in
            [(Fold::TurkicCase, "IŞIK", "ışık"), (Fold::Lookalikes, "g00gle", "google")]
        {
            let alone = shingler(&[fold]);
            assert_eq!(hashes(&alone, a), hashes(&alone, b));
        }
    }

    #[test]
    fn what_means_another_word_is_kept() {
        let mut wrong = Vec::new();
        for (fold, a, b) in [
            (Fold::LineEndHyphens, "Nord-\nSüd", "NordSüd"),
            (Fold::LineEndHyphens, "ja -\nnein", "janein"),
            (Fold::LineEndHyphens, "ein-\n\nzwei", "einzwei"),
            (Fold::LineEndHyphens, "well-known", "wellknown"),
            (Fold::Marks, "résumé", "resume"),
            (Fold::Marks, "آب", "اب"),
            (Fold::Marks, "ma má mà", "ma ma ma"),
            (Fold::Lookalikes, "a | b", "a l b"),
        ] {
            let shingler = shingler(&[fold]);
            wrong.extend((hashes(&shingler, a) == hashes(&shingler, b)).then_some((a, b)));
        }
        assert_eq!(wrong, []);
    }

    #[test]
    fn words_keep_their_places_in_the_text() {
        let shingler = shingler(&Fold::ALL);
        let text = "ـكِتَابٌ 12 Donau-\n  schiff, 7ﬁnd hoà.";
        let words = shingler.words(text).unwrap();
        let found: Vec<_> = (0..words.len()).map(|at| &text[words.bytes(at..at + 1)]).collect();
        assert_eq!(found, ["كِتَاب", "Donau-\n  schiff", "ﬁnd", "hoà"]);
        let mut spans = Vec::new();
        shingler.spans(text, |_, range| spans.push(&text[range])).unwrap();
        assert_eq!(spans, found);
    }

    #[test]
    fn other_units_are_folded_too_and_tokens_of_clients_are_not() {
        for unit in Unit::of_texts() {
            let fold = BTreeSet::from([Fold::Digits]);
            let settings = ShingleSettings { unit, fold, ..ShingleSettings::default() };
            let shingler = Shingler::new(settings, 0, usize::MAX);
            let [a, b] = ["the page x3 is of y17", "the page x40 is of y5"]
                .map(|text| shingler.text(text).unwrap().set);
            assert_eq!(a, b, "{unit:?}");
        }
        let token = |text: &str| [crate::document::Token { text: text.to_owned(), count: 1 }];
        let shingler = shingler(&Fold::ALL);
        let [a, b] = ["x3", "x4"].map(|text| shingler.tokens(&token(text)).unwrap().set);
        assert_ne!(a, b);
    }

    #[test]
    fn a_folded_text_has_a_limit_too() {
        let long = "\u{fdf2}".repeat(100);
        let folds = Folds::new(&BTreeSet::from([Fold::Lookalikes]));
        let within = |max| folds.after_normalising(Cow::Borrowed(&long), true, max, None);
        assert!(within(300).is_none() && within(10_000).is_some());
    }

    #[test]
    fn turkic_case_is_for_texts_without_case() {
        let fold = BTreeSet::from([Fold::TurkicCase]);
        let settings = ShingleSettings { fold, lowercase: false, ..ShingleSettings::default() };
        assert_eq!(settings.faults(), ["fold turkic_case needs lowercase = true"]);
    }
}
