//! The replacement of each character, and the characters that can be replaced by themselves.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_normalizer::properties::{
    CanonicalCombiningClassMapBorrowed, CanonicalCompositionBorrowed,
    CanonicalDecompositionBorrowed, Decomposed,
};
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{ChangesWhenNfkcCasefolded, DefaultIgnorableCodePoint};
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};

pub(super) static NFKC_CASEFOLD: LazyLock<CharacterTable> =
    LazyLock::new(|| CharacterTable::new(Mapping::Casefold));
pub(super) static NFKC: LazyLock<CharacterTable> =
    LazyLock::new(|| CharacterTable::new(Mapping::Compatible));
pub(super) static NFC: LazyLock<CharacterTable> =
    LazyLock::new(|| CharacterTable::new(Mapping::Canonical));

/// Characters that are written for an apostrophe: single quotation marks (UAX #29 takes them for an
/// apostrophe within a word) and the modifier letter.
const APOSTROPHES: [char; 3] = ['\u{2018}', '\u{2019}', '\u{2bc}'];

/// Code points of the planes in which nearly all characters of texts are.
const PLANES_0_AND_1: usize = 0x2_0000;

const NFD: DecomposingNormalizerBorrowed = DecomposingNormalizerBorrowed::new_nfd();
const TO_NFC: ComposingNormalizerBorrowed = ComposingNormalizerBorrowed::new_nfc();
const TO_NFKC: ComposingNormalizerBorrowed = ComposingNormalizerBorrowed::new_nfkc();
const COMPOSITIONS: CanonicalCompositionBorrowed = CanonicalCompositionBorrowed::new();
const DECOMPOSITIONS: CanonicalDecompositionBorrowed = CanonicalDecompositionBorrowed::new();
const CASES: CaseMapperBorrowed = CaseMapper::new();
const IGNORABLE: CodePointSetDataBorrowed = CodePointSetData::new::<DefaultIgnorableCodePoint>();
const CLASSES: CanonicalCombiningClassMapBorrowed = CanonicalCombiningClassMapBorrowed::new();

/// The decomposition of a single character, before the characters of a text are composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mapping {
    /// `NFKC_Casefold`, and the apostrophe.
    Casefold,
    /// The same with letter case kept.
    Compatible,
    /// Nothing but the apostrophe.
    Canonical,
}

/// The effect of a normalisation on each character.
#[derive(Debug)]
pub(super) struct CharacterTable {
    /// Packed entries by code point.
    near: Box<[u16]>,
    /// Packed entries of the other planes' characters that are not inert.
    far: HashMap<char, u16>,
    images: Vec<Image>,
    folds_case: bool,
}

/// The treatment of a character. A normalised text consists of inert characters, of marks in the
/// order of their classes, and of images.
#[derive(Clone, Copy, Debug)]
pub(super) enum CharacterEntry<'t> {
    /// Stays, except for lowercasing, regardless of the character before. The next character may
    /// compose with it.
    Inert,
    /// A mark that composes with nothing, with its canonical combining class.
    Mark(u8),
    /// May compose with the character before, and stays otherwise.
    Composing,
    /// Is replaced.
    Image(&'t Image),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Image {
    pub text: Box<str>,
    /// Nothing before it changes it.
    pub starts_run: bool,
    /// It ends with a mark that may be reordered with the marks that follow.
    pub ends_with_mark: bool,
}

/// Packed entries: inert, a mark's class, composing, and from here on the image's number.
const COMPOSING: u16 = 256;
const FIRST_IMAGE: u16 = 257;

impl CharacterTable {
    fn new(mapping: Mapping) -> Self {
        let mut table = Self {
            near: vec![0; PLANES_0_AND_1].into_boxed_slice(),
            far: HashMap::new(),
            images: Vec::new(),
            folds_case: mapping == Mapping::Casefold,
        };
        for mark in ('\0'..='\u{1ffff}').filter(|mark| CLASSES.get_u8(*mark) != 0) {
            table.set(mark, u16::from(CLASSES.get_u8(mark)));
        }
        let composing = second_characters();
        for second in &composing {
            table.set(*second, COMPOSING);
        }
        let changing = CodePointSetData::new::<ChangesWhenNfkcCasefolded>();
        let changing = changing.iter_ranges().flatten().filter_map(char::from_u32);
        let mut numbers = HashMap::new();
        for character in changing.chain(APOSTROPHES) {
            let image = Image::new(character, mapping, &composing);
            let is_inert = image.starts_run && !image.ends_with_mark;
            let is_lowercased = image.text.chars().eq(character.to_lowercase());
            let stays = image.text.chars().eq([character]);
            if stays || is_lowercased && is_inert && table.folds_case {
                continue;
            }
            let number = *numbers.entry(image).or_insert_with_key(|image| {
                table.images.push(image.clone());
                FIRST_IMAGE + table.images.len() as u16 - 1
            });
            table.set(character, number);
        }
        table
    }

    fn set(&mut self, character: char, packed: u16) {
        match self.near.get_mut(character as usize) {
            Some(entry) => *entry = packed,
            None => drop(self.far.insert(character, packed)),
        }
    }

    /// The packed entry of a character in the first two planes: 0 if it is inert, the class of a
    /// mark if it is less than 256.
    #[inline(always)]
    pub(super) fn packed_near(&self, code_point: u32) -> Option<u16> {
        self.near.get(code_point as usize).copied()
    }

    #[inline]
    pub(super) fn entry(&self, character: char) -> CharacterEntry<'_> {
        let packed = match self.near.get(character as usize) {
            Some(packed) => *packed,
            None => self.far.get(&character).copied().unwrap_or(0),
        };
        match packed {
            0 => CharacterEntry::Inert,
            class @ ..COMPOSING => CharacterEntry::Mark(class as u8),
            COMPOSING => CharacterEntry::Composing,
            number => CharacterEntry::Image(&self.images[(number - FIRST_IMAGE) as usize]),
        }
    }

    /// The composition of a run of a letter and marks, or of jamo, if all of them compose in
    /// sequence: most runs of decomposed texts.
    pub(super) fn compose(&self, run: &str) -> Option<char> {
        let mut characters = run.chars();
        let first =
            characters.next().filter(|it| matches!(self.entry(*it), CharacterEntry::Inert))?;
        let first = if self.folds_case { first.to_lowercase().next()? } else { first };
        characters.try_fold(first, |composed, second| match self.entry(second) {
            CharacterEntry::Composing => compose_in_order(composed, second),
            _ => None,
        })
    }

    /// Decomposes a run, maps each character and composes the result. Case is folded first: a
    /// lower-case letter may compose with a mark that its upper case does not compose with.
    pub(super) fn normalize_run(&self, run: &str) -> String {
        let mut mapped = String::with_capacity(run.len() + 8);
        for character in NFD.normalize_iter(run.chars()) {
            match self.entry(character) {
                CharacterEntry::Image(image) => mapped.push_str(&image.text),
                CharacterEntry::Inert if self.folds_case => mapped.extend(character.to_lowercase()),
                _ => mapped.push(character),
            }
        }
        TO_NFC.normalize(&mapped).into_owned()
    }
}

impl Image {
    /// A mark may be reordered before it becomes a letter, so it starts no run.
    fn new(character: char, mapping: Mapping, composing: &HashSet<char>) -> Self {
        if mapping != Mapping::Canonical && IGNORABLE.contains(character) {
            return Self { text: "".into(), starts_run: false, ends_with_mark: false };
        }
        let text = mapping.image(character);
        let is_starter = |it| CLASSES.get_u8(it) == 0 && !composing.contains(&it);
        let starts_run = is_starter(character) && text.chars().next().is_some_and(is_starter);
        let is_mark = |it: Option<char>| it.is_some_and(|it| CLASSES.get_u8(it) != 0);
        // A mark that becomes a letter (U+0345) may be reordered before.
        let last = NFD.normalize_iter(std::iter::once(character)).last();
        let becomes_letter =
            is_mark(last) && last.is_some_and(|it| !mapping.map(it).chars().eq([it]));
        let ends_with_mark = is_mark(text.chars().next_back()) || becomes_letter;
        Self { text: text.into(), starts_run, ends_with_mark }
    }
}

impl Mapping {
    /// The normalised form of a text of a single character.
    fn image(self, character: char) -> String {
        let decomposed = NFD.normalize_iter(std::iter::once(character));
        let mapped: String = decomposed.map(|part| self.map(part)).collect();
        TO_NFC.normalize(&mapped).into_owned()
    }

    /// Repeats until nothing changes: the definition of `NFKC_Casefold` in
    /// `DerivedNormalizationProps.txt` of the Unicode character database.
    fn map(self, character: char) -> String {
        let mut mapped = character.to_string();
        loop {
            let next = self.map_once(&mapped);
            if next == mapped {
                return mapped;
            }
            mapped = next;
        }
    }

    fn map_once(self, text: &str) -> String {
        let apostrophes_replaced = |text: &str| text.replace(APOSTROPHES, "'");
        if self == Self::Canonical {
            return apostrophes_replaced(text);
        }
        let kept: String = text.chars().filter(|it| !IGNORABLE.contains(*it)).collect();
        let folded = if self == Self::Casefold { CASES.fold_string(&kept) } else { kept.into() };
        apostrophes_replaced(&TO_NFKC.normalize(&folded))
    }
}

/// Composes a letter with a further mark, before its marks of a higher class.
fn compose_in_order(letter: char, mark: char) -> Option<char> {
    match DECOMPOSITIONS.decompose(letter) {
        Decomposed::Expansion(base, last) if CLASSES.get_u8(last) > CLASSES.get_u8(mark) => {
            COMPOSITIONS.compose(compose_in_order(base, mark)?, last)
        }
        Decomposed::Singleton(_) => None,
        _ => COMPOSITIONS.compose(letter, mark),
    }
}

/// Characters that compose with the character before.
fn second_characters() -> HashSet<char> {
    let second = |composed| match DECOMPOSITIONS.decompose(composed) {
        Decomposed::Expansion(first, second) => {
            (COMPOSITIONS.compose(first, second) == Some(composed)).then_some(second)
        }
        Decomposed::Default | Decomposed::Singleton(_) => None,
    };
    ('\0'..='\u{1ffff}').filter_map(second).collect()
}
