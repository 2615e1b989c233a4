//! A record's fields in the form in which they are indexed and compared.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::equivalents::Equivalents;
use super::hash::field_element;
use super::words::TextRules;

/// Name → normalised value, for each field of a record that has a word; at least one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalisedFields(BTreeMap<String, String>);

impl NormalisedFields {
    /// The normalised value of a field; `None` if the record lacks the field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// At least 1.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The elements of the record's set: an element for each field and its value.
    pub(super) fn elements(&self, seed: u64) -> impl Iterator<Item = u64> {
        self.iter().map(move |(name, value)| field_element(name, value, seed))
    }
}

/// Normalises fields: joins their words by single spaces, and replaces each member of a group of
/// equivalents by the first.
#[derive(Clone, Debug)]
pub(super) struct FieldNormaliser {
    rules: TextRules,
    /// Normalised words and values → their replacements.
    firsts: Arc<HashMap<String, String>>,
}

impl FieldNormaliser {
    pub(super) fn new(equivalents: &Equivalents, rules: TextRules) -> Self {
        Self { rules, firsts: Arc::new(equivalents.firsts(rules)) }
    }

    /// `None` if no field has a word.
    pub(super) fn normalise_all(
        &self,
        fields: &BTreeMap<String, String>,
    ) -> Option<NormalisedFields> {
        let normalised = fields.iter().map(|(name, text)| (name.clone(), self.normalise(text)));
        let fields: BTreeMap<_, _> = normalised.filter(|(_, value)| !value.is_empty()).collect();
        (!fields.is_empty()).then_some(NormalisedFields(fields))
    }

    /// If a whole value is in a group, the first member of the group replaces it; otherwise its
    /// words are replaced in the same way.
    fn normalise(&self, text: &str) -> String {
        let words = normalised_words(text, self.rules);
        if self.firsts.is_empty() {
            return words.text;
        }
        match self.firsts.get(&words.text) {
            Some(first) => first.clone(),
            None => self.normalise_words(&words),
        }
    }

    fn normalise_words(&self, words: &Words) -> String {
        let mut normalised = String::with_capacity(words.text.len());
        let mut end = 0;
        for range in &words.ranges {
            normalised.push_str(&words.text[end..range.start]);
            let word = &words.text[range.clone()];
            normalised.push_str(self.firsts.get(word).map_or(word, String::as_str));
            end = range.end;
        }
        normalised
    }
}

/// The words of a text, normalised, with a space between words that do not touch. (Letters of
/// scripts that are written without spaces are words without a space between them.)
pub(super) struct Words {
    pub text: String,
    /// The bytes of each word in the text above.
    ranges: Vec<Range<usize>>,
}

pub(super) fn normalised_words(text: &str, rules: TextRules) -> Words {
    let mut words = Words { text: String::with_capacity(text.len()), ranges: Vec::new() };
    let mut last_end = None;
    rules.for_each_word(&rules.normalize(text), |spelling, range| {
        if last_end.is_some_and(|end| end < range.start) {
            words.text.push(' ');
        }
        last_end = Some(range.end);
        let start = words.text.len();
        words.text.push_str(spelling);
        words.ranges.push(start..words.text.len());
    });
    words
}

#[cfg(test)]
mod tests {
    use super::super::Normalize;
    use super::*;

    fn normaliser(groups: &[&[&str]], lowercase: bool) -> FieldNormaliser {
        let group = |group: &&[&str]| group.iter().map(|word| (*word).to_owned()).collect();
        let equivalents = Equivalents::new(groups.iter().map(group).collect());
        let rules = TextRules::new(Normalize::Nfkc, lowercase);
        assert_eq!(equivalents.faults(rules), [""; 0]);
        FieldNormaliser::new(&equivalents, rules)
    }

    fn record(fields: &[(&str, &str)]) -> BTreeMap<String, String> {
        fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn elements(fields: &[(&str, &str)]) -> Vec<u64> {
        let normalised = normaliser(&[], true).normalise_all(&record(fields)).unwrap();
        normalised.elements(7).collect()
    }

    #[test]
    fn separators_of_words_become_single_spaces() {
        let plain = normaliser(&[], true);
        assert_eq!(plain.normalise("  O'Neil,\tSEÁN — jr. "), "o'neil seán jr");
        assert_eq!(plain.normalise("O’NEIL STRAẞE ﬁ\u{ad}x"), "o'neil strasse fix");
        assert_eq!(plain.normalise("+1 (555) 123-4567"), "1 555 123 4567");
        assert_eq!(plain.normalise("北京市 朝阳区"), "北京市 朝阳区");
        assert_eq!(plain.normalise("--"), "");
        assert_eq!(normaliser(&[], false).normalise("Mc Donald"), "Mc Donald");
    }

    #[test]
    fn the_first_of_a_group_replaces_its_equivalents() {
        let groups: &[&[&str]] =
            &[&["William", "Bill", "Will"], &["new york", "NY", "big-apple"], &["st", "Saint"]];
        let equivalent = normaliser(groups, true);
        assert_eq!(equivalent.normalise("BILL Willow"), "william willow");
        assert_eq!(equivalent.normalise("William"), "william");
        assert_eq!(equivalent.normalise("N.Y."), "n y");
        assert_eq!(equivalent.normalise("ny, ny"), "new york new york");
        assert_eq!(equivalent.normalise("The Big Apple"), "the big apple", "not as a whole");
        assert_eq!(equivalent.normalise("Big Apple"), "new york");
        assert_eq!(equivalent.normalise("Saint-Denis"), "st denis");
        assert_eq!(normaliser(groups, false).normalise("BILL Bill"), "BILL William");
    }

    #[test]
    fn fields_without_a_word_are_absent() {
        let plain = normaliser(&[], true);
        let normalised = plain.normalise_all(&record(&[("a", "-"), ("b", "x")])).unwrap();
        assert_eq!(normalised.iter().collect::<Vec<_>>(), [("b", "x")]);
        assert_eq!((normalised.get("a"), normalised.count()), (None, 1));
        assert_eq!(plain.normalise_all(&record(&[("a", "-")])), None);
        assert_eq!(plain.normalise_all(&record(&[])), None);
    }

    #[test]
    fn an_element_is_a_field_and_its_value() {
        assert_eq!(elements(&[("a", "X")]), elements(&[("a", "x.")]));
        assert_ne!(elements(&[("a", "bc")]), elements(&[("ab", "c")]));
        assert_ne!(elements(&[("a", "x")]), elements(&[("b", "x")]));
        // A changed hash would change every stored record.
        assert_eq!(elements(&[("name", "Ann")]), [7_927_998_175_972_061_516]);
    }
}
