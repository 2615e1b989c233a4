//! Text → shingles.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::ShingleError;
use super::characters::SpacedText;
use super::cut_shingles::{Cut, Firsts};
use super::hash::{HashesSet, combine, combine_in_place, token_element};
use super::normalize::Edits;
use super::sequence::WordSequence;
use super::settings::ShingleSettings;
use super::unit::{Cutting, Unit};
use super::words::TextRules;
use crate::simd::{Level, WordMix};

/// The range of bytes of each unit of a text: start and end.
pub(super) type UnitRanges = Vec<[u32; 2]>;

/// The maximum length of a normalised text in bytes: twice the largest document that settings
/// allow. Places in a text are 32 bits wide, and lowercasing may make a text longer by half.
const NORMALIZED_BYTES_MAX: usize = 512 << 20;

/// Cuts texts into shingles.
#[derive(Clone, Debug)]
pub(super) struct Cutter {
    unit: Unit,
    size: usize,
    rules: TextRules,
    word_mix: WordMix,
    seed: u64,
    stop_words: Option<Arc<HashesSet>>,
    /// Shingles that do not count.
    ignored: Option<Arc<HashesSet>>,
    /// Further shingles that do not count in a text that has others.
    templates: Option<Arc<HashesSet>>,
    pub level: Level,
    normalized_bytes_max: usize,
}

impl Cutter {
    pub(super) fn new(settings: &ShingleSettings, seed: u64) -> Self {
        let (rules, word_mix) = (settings.rules(), WordMix::new(seed));
        let hashes = || Arc::new(settings.stopwords.hashes(rules, settings.lowercase, word_mix));
        let stop_words = (settings.unit == Unit::Stopword).then(hashes);
        let (unit, size) = (settings.unit, settings.size as usize);
        let (level, normalized_bytes_max) = (Level::best(), NORMALIZED_BYTES_MAX);
        let mut cutter = Self {
            unit,
            size,
            rules,
            word_mix,
            seed,
            stop_words,
            ignored: None,
            templates: None,
            level,
            normalized_bytes_max,
        };
        if !settings.ignore.is_empty() {
            cutter.ignored = Some(Arc::new(settings.ignore.shingles(&cutter).collect()));
        }
        cutter
    }

    /// Ignores these shingles, too, in texts that have others.
    pub(super) fn ignore_templates(&mut self, shingles: &[u64]) {
        self.templates = Some(Arc::new(shingles.iter().copied().collect()));
    }

    /// The shingles of a text.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub(super) fn cut(&self, text: &str) -> Result<Cut, ShingleError> {
        let raw = match self.unit.cutting() {
            Cutting::Words(cut) => self.raw_words(text, None).map(|words| cut(self, words)),
            Cutting::Text(_) => None,
        };
        let cut = match raw {
            Some(cut) => cut,
            None => self.cut_normalized(&self.normalize(text, None)?, None),
        };
        Ok(self.without_ignored(cut))
    }

    fn without_ignored(&self, cut: Cut) -> Cut {
        let cut = match &self.ignored {
            Some(ignored) => cut.only(|shingle| !ignored.contains(&shingle)),
            None => cut,
        };
        match &self.templates {
            Some(templates) if !cut.shingles.iter().all(|shingle| templates.contains(shingle)) => {
                cut.only(|shingle| !templates.contains(&shingle))
            }
            _ => cut,
        }
    }

    /// The bytes of a text that ignored shingles cover, in ranges that do not touch.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub(super) fn ignored(&self, text: &str) -> Result<Vec<Range<usize>>, ShingleError> {
        let Some(ignored) = &self.ignored else { return Ok(Vec::new()) };
        let (cut, units) = self.cut_all_with_ranges(text)?;
        let mut covered: Vec<Range<usize>> = Vec::new();
        for (number, shingle) in cut.shingles.iter().enumerate() {
            if ignored.contains(shingle) {
                let of_shingle = cut.units_of(number);
                let [start, end] = [units[of_shingle.start][0], units[of_shingle.end - 1][1]];
                let (start, end) = (start as usize, end as usize);
                match covered.last_mut().filter(|last| start <= last.end) {
                    Some(last) => last.end = last.end.max(end),
                    None => covered.push(start..end),
                }
            }
        }
        Ok(covered)
    }

    /// The words of a text if normalising would not change them. Reading ends at the first
    /// character that normalising may change.
    fn raw_words(&self, text: &str, ranges: Option<&mut UnitRanges>) -> Option<Vec<u64>> {
        let is_short = text.len() <= self.normalized_bytes_max;
        let words = || self.rules.hash_raw_words(text, self.word_mix, self.level, ranges);
        is_short.then(words).flatten()
    }

    /// The shingles of a text, and the range of bytes of each unit. Slower than [`Self::cut`].
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub(super) fn cut_with_ranges(&self, text: &str) -> Result<(Cut, UnitRanges), ShingleError> {
        let (cut, ranges) = self.cut_all_with_ranges(text)?;
        Ok((self.without_ignored(cut), ranges))
    }

    /// With the ignored shingles.
    fn cut_all_with_ranges(&self, text: &str) -> Result<(Cut, UnitRanges), ShingleError> {
        self.with_ranges(text, |text, ranges| self.cut_normalized(text, Some(ranges)))
    }

    /// What `cut` makes of the normalised text, and the ranges of its units in the text itself.
    fn with_ranges<T>(
        &self,
        text: &str,
        cut: impl FnOnce(&str, &mut UnitRanges) -> T,
    ) -> Result<(T, UnitRanges), ShingleError> {
        let (mut edits, mut ranges) = (Vec::new(), Vec::new());
        let cut = cut(&self.normalize(text, Some(&mut edits))?, &mut ranges);
        for of_pass in edits.iter().rev() {
            for [start, end] in &mut ranges {
                let original = of_pass.original(*start as usize..*end as usize);
                (*start, *end) = (original.start as u32, original.end as u32);
            }
        }
        Ok((cut, ranges))
    }

    /// The words of a text with their ranges of bytes, by the rules of the unit word, with any
    /// unit.
    ///
    /// # Errors
    /// [`ShingleError::TooLong`]
    pub(super) fn word_sequence(&self, text: &str) -> Result<WordSequence, ShingleError> {
        let mut ranges = Vec::with_capacity(text.len() / 6 + 16);
        if let Some(hashes) = self.raw_words(text, Some(&mut ranges)) {
            return Ok(WordSequence { hashes, ranges });
        }
        let (hashes, ranges) =
            self.with_ranges(text, |text, ranges| self.words(text, Some(ranges)))?;
        Ok(WordSequence { hashes, ranges })
    }

    fn normalize<'t>(
        &self,
        text: &'t str,
        edits: Option<&mut Vec<Edits>>,
    ) -> Result<Cow<'t, str>, ShingleError> {
        let max = self.normalized_bytes_max;
        let normalized = self.rules.normalize_within(max, text, edits);
        normalized.ok_or(ShingleError::TooLong { max })
    }

    fn cut_normalized(&self, text: &str, ranges: Option<&mut UnitRanges>) -> Cut {
        match self.unit.cutting() {
            Cutting::Words(cut) => cut(self, self.words(text, ranges)),
            Cutting::Text(cut) => cut(self, text, ranges),
        }
    }

    fn words(&self, text: &str, ranges: Option<&mut UnitRanges>) -> Vec<u64> {
        self.rules.hash_words(text, self.word_mix, self.level, ranges)
    }

    pub(super) fn cut_words(&self, mut hashes: Vec<u64>) -> Cut {
        if hashes.len() < self.size {
            return Cut::whole(&hashes);
        }
        combine_in_place(&mut hashes, self.size, self.level);
        self.every(hashes)
    }

    /// A stop word with too few words after it begins no shingle. If no word begins a shingle, the
    /// whole text is a shingle: "… the end" would otherwise equal every text with that end.
    #[expect(clippy::needless_pass_by_value, reason = "all units of words are cut by one type")]
    pub(super) fn cut_at_stop_words(&self, hashes: Vec<u64>) -> Cut {
        let stop_words = self.stop_words.as_ref().expect("made for this unit by `new`");
        let mut firsts = Vec::with_capacity(hashes.len() / 2);
        let mut shingles = Vec::with_capacity(hashes.len() / 2);
        for (first, words) in hashes.windows(self.size).enumerate() {
            if stop_words.contains(&words[0]) {
                firsts.push(first);
                shingles.push(combine(words));
            }
        }
        if shingles.is_empty() {
            return Cut::whole(&hashes);
        }
        Cut { shingles, whole_document: false, size: self.size, firsts: Firsts::Some(firsts) }
    }

    pub(super) fn cut_characters(&self, text: &str, ranges: Option<&mut UnitRanges>) -> Cut {
        let spaced = match ranges {
            Some(ranges) => SpacedText::new(text, self.rules, |range| {
                ranges.push([range.start as u32, range.end as u32]);
            }),
            None => SpacedText::new(text, self.rules, |_| ()),
        };
        let units = spaced.count();
        // A text with fewer characters is a single window, and no window of a longer text has as
        // few characters.
        let size = self.size.min(units.max(1));
        let shingles = spaced.shingles(size, self.seed);
        Cut { shingles, whole_document: units < self.size, size, firsts: Firsts::Every }
    }

    pub(super) fn cut_tokens(&self, text: &str, mut ranges: Option<&mut UnitRanges>) -> Cut {
        let mut hashes = Vec::with_capacity(text.len() / 6 + 1);
        let mut folded = String::new();
        for token in text.split_whitespace() {
            folded.clear();
            token.chars().for_each(|character| self.rules.push_folded(character, &mut folded));
            hashes.push(token_element(&folded, self.seed));
            if let Some(ranges) = &mut ranges {
                let start = token.as_ptr().addr() - text.as_ptr().addr();
                ranges.push([start as u32, (start + token.len()) as u32]);
            }
        }
        if self.size == 1 && !hashes.is_empty() {
            return self.every(hashes);
        }
        self.cut_words(hashes)
    }

    fn every(&self, shingles: Vec<u64>) -> Cut {
        Cut { shingles, whole_document: false, size: self.size, firsts: Firsts::Every }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Shingler, StopWords};
    use super::*;
    use crate::document::Content;

    const MAX: usize = 1_000;

    fn stop_words_3() -> ShingleSettings {
        ShingleSettings { unit: Unit::Stopword, ..ShingleSettings::default() }
    }

    /// The range of the text that each shingle covers, and whether the whole text became a shingle.
    fn covered<'t>(settings: &ShingleSettings, text: &'t str) -> (Vec<&'t str>, bool) {
        let shingler = Shingler::new(settings.clone(), 0, MAX);
        let mut covered = Vec::new();
        shingler.spans(text, |_, span| covered.push(&text[span])).unwrap();
        (covered, shingler.text(text).unwrap().whole_document)
    }

    #[test]
    fn texts_too_long_after_normalising_are_refused() {
        for unit in Unit::of_texts() {
            let settings = ShingleSettings { unit, ..ShingleSettings::default() };
            let mut shingler = Shingler::new(settings, 0, MAX);
            shingler.cutter.normalized_bytes_max = 100;
            let [short, long] = [3, 4].map(|count| "\u{fdfa}".repeat(count));
            assert!(shingler.text(&short).is_ok(), "{unit:?}");
            let too_long = ShingleError::TooLong { max: 100 };
            let spanned = shingler.spans(&long, |_, _| panic!("{unit:?}"));
            assert_eq!(shingler.text(&long).err(), Some(too_long), "{unit:?}");
            assert_eq!(shingler.words(&long), Err(too_long), "{unit:?}");
            assert_eq!(shingler.shingles(&long), Err(too_long), "{unit:?}");
            assert_eq!(shingler.bag(&Content::Text(long)).err(), Some(too_long), "{unit:?}");
            assert_eq!(spanned, Err(too_long), "{unit:?}");
            assert_eq!(shingler.shingles(&"x".repeat(101)), Err(too_long), "{unit:?}");
        }
    }

    #[test]
    fn stop_words_begin_shingles() {
        let english = stop_words_3();
        let text = "A spokesperson for the Sudzo Corporation revealed today that studies…";
        let shingles = ["A spokesperson for", "for the Sudzo", "the Sudzo Corporation"];
        assert_eq!(covered(&english, text), (shingles.to_vec(), false));
        let german = StopWords::Language("de".to_owned());
        let german = ShingleSettings { stopwords: german, size: 2, ..stop_words_3() };
        assert_eq!(covered(&german, "DER Zug und die").0, ["DER Zug", "und die"]);
        let own = StopWords::List(vec!["BUY".to_owned()]);
        let own = ShingleSettings { stopwords: own, lowercase: false, ..stop_words_3() };
        assert_eq!(covered(&own, "the end. Buy now, buy a car").0, ["Buy now, buy", "buy a car"]);
    }

    #[test]
    fn texts_without_a_stop_word_shingle_become_one() {
        let settings = stop_words_3();
        for text in ["Products Prices Contact", "Breaking news", "News from the end of it", "the"] {
            let of_one = text != "News from the end of it";
            assert_eq!(covered(&settings, text).1, of_one, "{text}");
        }
        let shingles = |text: &str| Shingler::new(settings.clone(), 0, MAX).shingles(text).unwrap();
        assert_ne!(shingles("Apple pie, the"), shingles("Stock crash, the"));
        // Beyond the words that a shingle can have, each still counts.
        let long: Vec<String> = (0..200).map(|n| format!("product{n}")).collect();
        for changed in [0, 63, 64, 150, 199] {
            let mut other = long.clone();
            other[changed].push('x');
            assert_ne!(shingles(&long.join(" ")), shingles(&other.join(" ")), "word {changed}");
        }
    }

    /// A word for each number: never a stop word.
    fn word(number: u64) -> String {
        format!("word{}", xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes()) % 100_000)
    }

    fn words(from: u64, count: u64) -> String {
        (from..from + count).map(word).collect::<Vec<_>>().join(" ")
    }

    /// Prose, in which every other word is a stop word, between menus, advertisements and links.
    fn page(article: u64, site: u64) -> String {
        let stop_words = ["the", "of", "and", "to", "is", "in", "that", "with", "was", "for"];
        let prose = (0..60).map(|n| {
            let number = article * 1000 + n;
            format!("{} {}", stop_words[(number * number % 10) as usize], word(number))
        });
        let prose = prose.collect::<Vec<_>>().join(" ");
        let [menu, advertisement, links] =
            [1, 2, 3].map(|part| words(site * 10_000 + part * 100, 60));
        format!("{menu}\n{prose}.\n{advertisement}\n{links}")
    }

    #[test]
    fn articles_match_despite_different_surroundings() {
        let resemblance = |unit: Unit, a: &str, b: &str| {
            let settings = ShingleSettings { unit, ..ShingleSettings::default() };
            let shingler = Shingler::new(settings, 0, MAX);
            let [a, b] = [a, b].map(|text| shingler.text(text).unwrap().set);
            let shared = a.as_slice().iter().filter(|it| b.as_slice().contains(it)).count();
            shared as f64 / (a.count() + b.count() - shared) as f64
        };
        for article in 1..20 {
            let [here, there] = [11, 12].map(|site| page(article, site));
            let other = page(article + 100, 11);
            assert!(resemblance(Unit::Stopword, &here, &there) > 0.95);
            assert!(resemblance(Unit::Word, &here, &there) < 0.3);
            // Words that are alike only because of their surroundings are not.
            assert!(resemblance(Unit::Stopword, &here, &other) < 0.1);
            assert!(resemblance(Unit::Word, &here, &other) > 0.4);
        }
    }
}
