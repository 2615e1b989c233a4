//! Compares two contents: estimated and exact resemblance, measures and shared passages.

pub(crate) mod comparison;
pub(crate) mod measures;
mod probes;
mod records;

use std::ops::Range;

use crate::document::Content;
use crate::engine::compare::measures::{bag_overlap, measure};
use crate::engine::compare::records::compare_records;
use crate::engine::{
    Analyser, Analysis, CompareOptions, Comparison, EngineError, ExactResemblance, Explanation,
    MeasureSelection, PairContainment, Passages, Scores,
};
use akin_core::measure::Overlap;
use akin_core::sketch::Estimate;
use akin_core::text::{CharOffsets, ShingleSet};

/// A side of a comparison.
pub(crate) struct Side {
    /// `None` if the collection does not keep contents.
    pub content: Option<Content>,
    pub analysis: Analysis,
}

/// Compares two contents; needs no store.
///
/// # Errors
/// The errors of [`Analyser::analyse`]; for measures `TextRequired`, `TextsTooLong`.
pub fn compare_contents(
    analyser: &Analyser,
    a: Content,
    b: Content,
    options: CompareOptions,
) -> Result<Comparison, EngineError> {
    let side = |content: Content| -> Result<Side, EngineError> {
        Ok(Side { analysis: analyser.analyse(&content)?, content: Some(content) })
    };
    compare_sides(analyser, &side(a)?, &side(b)?, options)
}

/// Compares two sides. Without contents there are no explanation and no measures of contents.
pub(crate) fn compare_sides(
    analyser: &Analyser,
    a: &Side,
    b: &Side,
    options: CompareOptions,
) -> Result<Comparison, EngineError> {
    if analyser.takes_signatures() {
        return compare_signatures(analyser, [&a.analysis, &b.analysis], options);
    }
    let contents = a.content.as_ref().zip(b.content.as_ref());
    if let Some((records, contents)) = analyser.scheme.fields().zip(contents) {
        return compare_records(analyser, records, contents, options);
    }
    compare_sets(analyser, contents, [&a.analysis, &b.analysis], options)
}

fn compare_sets(
    analyser: &Analyser,
    contents: Option<(&Content, &Content)>,
    [a, b]: [&Analysis; 2],
    options: CompareOptions,
) -> Result<Comparison, EngineError> {
    let overlap = Overlap::of(&a.set, &b.set);
    let explained = contents.filter(|_| options.explain);
    let explanation = explained
        .map(|(of_a, of_b)| explain_contents(analyser, (of_a, a), (of_b, b)))
        .transpose()?;
    let measures = measure(analyser, contents, &overlap, options.measures)?;
    let bag = match contents {
        _ if analyser.multiset => Some(overlap),
        Some(contents) => Some(bag_overlap(analyser, contents)?),
        None => None,
    };
    let scores = Scores::Sets {
        estimated: estimate(analyser, a, b),
        exact: ExactResemblance {
            bag: bag.map(|bag| bag.resemblance_by_sum()),
            bag_max_union: bag.map(|bag| bag.resemblance()),
            ..ExactResemblance::from(overlap)
        },
        containment: PairContainment::from(overlap),
    };
    Ok(Comparison { measures, explanation, ..scored(analyser, scores, overlap.resemblance()) })
}

/// Signatures have no sets, so the comparison has only an estimate.
fn compare_signatures(
    analyser: &Analyser,
    [a, b]: [&Analysis; 2],
    options: CompareOptions,
) -> Result<Comparison, EngineError> {
    if options.explain || options.measures != MeasureSelection::default() {
        return Err(EngineError::NotForSignatures);
    }
    let estimated = estimate(analyser, a, b);
    Ok(scored(analyser, Scores::Signatures { estimated }, estimated.value))
}

fn estimate(analyser: &Analyser, a: &Analysis, b: &Analysis) -> Estimate {
    let agreeing = analyser.estimator.agreeing(a.sketch.as_bytes(), b.sketch.as_bytes());
    analyser.estimator.estimate(agreeing)
}

/// The part of a comparison that is not on request.
fn scored(analyser: &Analyser, scores: Scores, resemblance: f64) -> Comparison {
    let (scheme, threshold) = (&analyser.scheme, analyser.threshold);
    Comparison {
        scores,
        probability_candidate: scheme.probability_candidate(resemblance, threshold),
        probability_reported: scheme.probability_reported(resemblance, threshold),
        measures: None,
        explanation: None,
    }
}

fn explain_contents(
    analyser: &Analyser,
    (a, of_a): (&Content, &Analysis),
    (b, of_b): (&Content, &Analysis),
) -> Result<Explanation, EngineError> {
    let [sketch_a, sketch_b] = [of_a, of_b].map(|analysis| analysis.sketch.as_bytes());
    Ok(Explanation {
        a: passages(analyser, a, &of_b.set)?,
        b: passages(analyser, b, &of_a.set)?,
        bands_shared: analyser.scheme.tables_shared(sketch_a, sketch_b).collect(),
        fields: Vec::new(),
    })
}

/// The parts of a text that are covered by shingles of the other set, the parts that are covered by
/// ignored shingles, and the remaining parts, in Unicode code points. Documents of tokens have no
/// passages.
fn passages(
    analyser: &Analyser,
    content: &Content,
    other: &ShingleSet,
) -> Result<Passages, EngineError> {
    let Content::Text(text) = content else { return Ok(Passages::default()) };
    let mut shared: Vec<Range<usize>> = Vec::new();
    let mut last_was_shared = false;
    analyser.shingler.spans(text, |shingle, span| {
        let is_shared = other.as_slice().binary_search(&shingle).is_ok();
        match shared.last_mut() {
            // Consecutive or overlapping shingles form a single passage. Between stop-word
            // shingles there may be words of no shingle.
            Some(last)
                if is_shared
                    && (span.start <= last.end
                        || last_was_shared && !has_word(&text[last.end..span.start])) =>
            {
                last.end = last.end.max(span.end);
            }
            _ if is_shared => shared.push(span),
            _ => {}
        }
        last_was_shared = is_shared;
    })?;
    let ignored = analyser.shingler.ignored(text)?;
    let differing = between(text, &merged([shared.clone(), ignored.clone()].concat()));
    let offsets = CharOffsets::new(text);
    let chars = |bytes: Range<usize>| [offsets.at(bytes.start), offsets.at(bytes.end)];
    let [shared, differing, ignored] =
        [shared, differing, ignored].map(|passages| passages.into_iter().map(chars).collect());
    Ok(Passages { shared, differing, ignored })
}

/// The ranges in their order, so that none overlap.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

fn has_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// The ranges between the passages, without surrounding white space.
fn between(text: &str, passages: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(passages.iter().map(|passage| passage.end));
    let ends = passages.iter().map(|passage| passage.start).chain([text.len()]);
    let gaps = starts.zip(ends).map(|(start, end)| trim(text, start..end));
    gaps.filter(|gap| !gap.is_empty()).collect()
}

fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::CollectionSettings;
    use akin_core::text::{IgnoredTexts, Unit};

    fn explained() -> CompareOptions {
        CompareOptions { explain: true, ..CompareOptions::default() }
    }

    fn compare(a: &str, b: &str) -> Comparison {
        let analyser = Analyser::new(&CollectionSettings::default());
        let [a, b] = [a, b].map(|text| Content::Text(text.to_owned()));
        compare_contents(&analyser, a, b, explained()).unwrap()
    }

    fn of_sets(comparison: &Comparison) -> (ExactResemblance, Estimate) {
        let Scores::Sets { exact, estimated, .. } = comparison.scores else {
            panic!("texts have sets: {comparison:?}")
        };
        (exact, estimated)
    }

    /// The parts of a text.
    fn parts(text: &str, ranges: &[[usize; 2]]) -> Vec<String> {
        let part = |[from, to]: &[usize; 2]| text.chars().skip(*from).take(to - from).collect();
        ranges.iter().map(part).collect()
    }

    #[test]
    fn ignored_parts_are_explained_and_do_not_count() {
        let mut settings = CollectionSettings::default();
        settings.shingles.ignore = IgnoredTexts::new(vec!["Home, news and sport".to_owned()]);
        let analyser = Analyser::new(&settings);
        let texts = [
            "HOME\nNews and Sport\nThe quick brown fox jumps.",
            "The quick brown fox jumps. Home news and",
        ];
        let [a, b] = texts.map(|text| Content::Text(text.to_owned()));
        let comparison = compare_contents(&analyser, a, b, explained()).unwrap();
        // Each text has, with the three shared shingles, two shingles at the end of the ignored
        // part.
        let (exact, _) = of_sets(&comparison);
        assert_eq!((exact.intersection, exact.union), (3, 7));
        let explanation = comparison.explanation.unwrap();
        for (text, passages, ignored) in [
            (texts[0], &explanation.a, "HOME\nNews and Sport"),
            (texts[1], &explanation.b, "Home news and"),
        ] {
            assert_eq!(parts(text, &passages.ignored), [ignored]);
            assert_eq!(parts(text, &passages.shared), ["The quick brown fox jumps"]);
            assert!(parts(text, &passages.differing).iter().all(|part| part == "."));
        }
    }

    #[test]
    fn passages_are_code_points_of_each_text() {
        let cases = [
            (
                "Intro. The quick brown fox jumps over the lazy dog, they say.",
                "Ünlike: the QUICK brown fox jumps over\nthe lazy cat.",
                ["The quick brown fox jumps over the lazy", "Intro.", "dog, they say."],
                ["the QUICK brown fox jumps over\nthe lazy", "Ünlike:", "cat."],
            ),
            (
                "Größe: über den Fluß führt eine Brücke, weiß man.",
                "Schön. Über den Fluß führt eine BRÜCKE nach Süden.",
                ["über den Fluß führt eine Brücke", "Größe:", ", weiß man."],
                ["Über den Fluß führt eine BRÜCKE", "Schön.", "nach Süden."],
            ),
            (
                "春：我们在河边看见一座桥。",
                "昨天我们在河边看见一只鸟。",
                ["我们在河边看见一", "春：", "座桥。"],
                ["我们在河边看见一", "昨天", "只鸟。"],
            ),
            (
                "🦊🦊 𝐎𝐧𝐞 two three four 🐈 five 🌉.",
                "🏔️ one two three four five six",
                ["𝐎𝐧𝐞 two three four 🐈 five", "🦊🦊", "🌉."],
                ["one two three four five", "🏔️", "six"],
            ),
        ];
        for (a, b, of_a, of_b) in cases {
            let explanation = compare(a, b).explanation.unwrap();
            for (text, found, expected) in [(a, explanation.a, of_a), (b, explanation.b, of_b)] {
                assert_eq!(parts(text, &found.shared), expected[..1]);
                assert_eq!(parts(text, &found.differing), expected[1..]);
            }
        }
    }

    #[test]
    fn words_of_no_shingle_are_of_no_passage() {
        let mut settings = CollectionSettings::default();
        settings.shingles.unit = Unit::Stopword;
        let text = "The quick fox. Buy cars now! And it jumps, of course it does.";
        let content = Content::Text(text.to_owned());
        let analyser = Analyser::new(&settings);
        let explanation =
            compare_contents(&analyser, content.clone(), content, explained()).unwrap();
        let explanation = explanation.explanation.unwrap();
        let shared = parts(text, &explanation.a.shared);
        assert_eq!(shared, ["The quick fox", "now! And it jumps, of course it"]);
    }

    #[test]
    fn equal_texts_share_everything() {
        let comparison = compare("one two three four", "One, two; three... four!");
        let (exact, estimated) = of_sets(&comparison);
        assert_eq!((exact.value, estimated.value), (1.0, 1.0));
        let explanation = comparison.explanation.unwrap();
        assert_eq!(explanation.bands_shared.len(), 32);
        assert_eq!(explanation.a.shared, [[0, 18]]);
        assert!(explanation.a.differing.is_empty());
    }

    #[test]
    fn a_pair_below_the_threshold_may_be_a_candidate_and_is_never_reported() {
        let words: Vec<String> = (0..100).map(|word| format!("w{word}")).collect();
        let resemblance_and_chances = |shared: usize| {
            let other = [&words[..shared], &["other".to_owned()]].concat();
            let comparison = compare(&words.join(" "), &other.join(" "));
            let candidate = comparison.probability_candidate.unwrap();
            (of_sets(&comparison).0.value, candidate, comparison.probability_reported)
        };
        let (value, candidate, reported) = resemblance_and_chances(79);
        assert!((0.77..0.8).contains(&value) && candidate > 0.95 && reported == 0.0);
        let (value, candidate, reported) = resemblance_and_chances(84);
        assert!(value > 0.8 && candidate > 0.99 && reported > 0.99 && reported <= candidate);
    }

    #[test]
    fn nothing_in_common_is_nothing_in_common() {
        let comparison = compare("one two three four", "five six seven eight");
        assert_eq!(of_sets(&comparison).0.intersection, 0);
        assert!(comparison.probability_candidate.unwrap() < 1e-9);
        assert!(comparison.explanation.unwrap().a.shared.is_empty());
    }
}
