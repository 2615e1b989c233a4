//! Texts whose shingles do not count, such as the menus and notices of a site.

use serde::{Deserialize, Serialize};

use super::cut::Cutter;
use super::settings::ShingleSettings;
use super::unit::Unit;

/// The maximum number of texts.
const TEXTS_MAX: usize = 1_000;

/// The maximum length of all texts together, in bytes.
const BYTES_MAX: usize = 1 << 18;

/// Texts whose shingles are in no set: documents are compared by the other shingles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "schema", schema(example = json!(["Home News Sport Weather Contact"])))]
pub struct IgnoredTexts(Vec<String>);

impl IgnoredTexts {
    /// The given texts, which [`ShingleSettings::faults`] checks.
    pub fn new(texts: Vec<String>) -> Self {
        Self(texts)
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first fault of the texts, as a sentence that starts with the setting's name.
    pub(super) fn fault(&self, settings: &ShingleSettings) -> Option<String> {
        let (count, bytes) = (self.0.len(), self.0.iter().map(String::len).sum::<usize>());
        if count > TEXTS_MAX {
            return Some(format!("ignore must be at most {TEXTS_MAX} texts, not {count}"));
        }
        if bytes > BYTES_MAX {
            return Some(format!("ignore must have at most {BYTES_MAX} bytes, not {bytes}"));
        }
        if settings.unit == Unit::Field && !self.is_empty() {
            return Some("ignore is for texts, not for the unit field".to_owned());
        }
        let settings = ShingleSettings { ignore: Self::default(), ..settings.clone() };
        let cutter = Cutter::new(&settings, 0);
        let has_shingles = |text: &String| {
            cutter.cut(text).is_ok_and(|cut| !cut.whole_document && !cut.shingles.is_empty())
        };
        let wrong = self.0.iter().find(|text| !has_shingles(text))?;
        Some(format!("ignore must be texts of a whole shingle or more, not {wrong:?}"))
    }

    /// The shingles of all texts. `cutter`: a cutter that ignores nothing.
    pub(super) fn shingles<'i>(&'i self, cutter: &'i Cutter) -> impl Iterator<Item = u64> + 'i {
        // Texts that are too long once normalised are faults.
        let cut = |text: &String| cutter.cut(text).map_or_else(|_| vec![], |cut| cut.shingles);
        self.0.iter().flat_map(cut)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ShingleError, Shingler};
    use super::*;
    use crate::document::Content;

    fn settings(unit: Unit, texts: &[&str]) -> ShingleSettings {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        ShingleSettings { unit, ignore: IgnoredTexts::new(texts), ..ShingleSettings::default() }
    }

    fn shingler(unit: Unit, texts: &[&str]) -> Shingler {
        Shingler::new(settings(unit, texts), 3, 1_000)
    }

    #[test]
    fn sets_are_made_without_the_shingles_of_ignored_texts() {
        let menu = "the home, the news; sport";
        for unit in Unit::of_texts() {
            let (all, rest) = (shingler(unit, &[]), shingler(unit, &[menu]));
            let ignored = all.text(menu).unwrap().set;
            // Shingles of both parts count.
            let page = format!("{menu} and the museum of the harbour opens");
            let of_page = all.text(&page).unwrap().set;
            let expected: Vec<u64> = of_page
                .as_slice()
                .iter()
                .copied()
                .filter(|shingle| !ignored.as_slice().contains(shingle))
                .collect();
            assert!((1..of_page.count()).contains(&expected.len()), "{unit:?}");
            assert_eq!(rest.text(&page).unwrap().set.as_slice(), expected, "{unit:?}");
            assert_eq!(
                rest.bag(&Content::Text(page.clone())).unwrap().as_slice().len(),
                expected.len()
            );
            let spans = |shingler: &Shingler| {
                let mut spans = Vec::new();
                shingler.spans(&page, |shingle, bytes| spans.push((shingle, bytes))).unwrap();
                spans
            };
            let mut counted = spans(&all);
            counted.retain(|(shingle, _)| expected.contains(shingle));
            assert_eq!(spans(&rest), counted, "{unit:?}");
            // Three characters occur in other words, too.
            let ranges = rest.ignored(&page).unwrap();
            assert_eq!(&page[ranges[0].clone()], menu, "{unit:?}");
            assert!(ranges.len() == 1 || unit == Unit::Character, "{unit:?} {ranges:?}");
            assert!(all.ignored(&page).unwrap().is_empty());
            assert_eq!(rest.text(menu).unwrap_err(), ShingleError::Empty, "{unit:?}");
        }
    }

    #[test]
    fn further_shingles_are_ignored() {
        let page = "the home, the news; sport and the museum of the harbour";
        let settings = settings(Unit::Word, &["the home the"]);
        let shingler = Shingler::new(settings, 3, 1_000);
        let further = shingler.text("the museum of").unwrap().set;
        let rest = shingler.clone().ignoring(further.as_slice()).text(page).unwrap().set;
        let mut expected = shingler.text(page).unwrap().set.as_slice().to_vec();
        expected.retain(|shingle| !further.as_slice().contains(shingle));
        assert_eq!((rest.as_slice(), rest.count()), (expected.as_slice(), 7));
        let of_further = shingler.ignoring(further.as_slice()).text("The museum of").unwrap().set;
        assert_eq!(of_further, further, "a text without other shingles keeps them");
    }

    #[test]
    fn multisets_ignore_every_occurrence() {
        let mut settings = settings(Unit::Word, &["a b c"]);
        settings.multiset = true;
        let set = |text| Shingler::new(settings.clone(), 0, 100).text(text).unwrap().set;
        assert_eq!(set("a b c a b c x"), set("b c a b c x"));
    }

    #[test]
    fn faults_of_ignored_texts_are_named() {
        let faults = |texts: &[&str]| settings(Unit::Word, texts).faults();
        assert_eq!(faults(&["one two three", "And one, two; three!"]), [""; 0]);
        let too_short = r#"ignore must be texts of a whole shingle or more, not "one two""#;
        assert_eq!(faults(&["one two three", "one two"]), [too_short]);
        assert_eq!(faults(&["?"]), [too_short.replace("one two", "?")]);
        let many = faults(&["a b c"; TEXTS_MAX + 1]);
        assert_eq!(many, ["ignore must be at most 1000 texts, not 1001"]);
        let long = "word ".repeat(BYTES_MAX / 5 + 1);
        assert_eq!(faults(&[&long]), ["ignore must have at most 262144 bytes, not 262145"]);
        let of_fields = settings(Unit::Field, &["a b c"]).faults();
        assert_eq!(of_fields, ["ignore is for texts, not for the unit field"]);
    }
}
