//! What is fuzzed: functions that take any bytes and panic if a promise is broken. `cargo fuzz`
//! runs them (`fuzz/`), and so does a test, on `fuzz/corpus` and on some thousand mutations of it.
//! They are compiled for these two alone.

#[cfg(test)]
mod tests;

use crate::{engine, http, storage};
use akin_core::simd::Level;
use akin_core::sketch::{SketchSettings, Sketcher};
use akin_core::text::{Fold, Normalize, ShingleSettings, Shingler, Unit};

/// Panics if a promise is broken for the input.
pub type Target = fn(&[u8]);

/// Each target by the name of its folder in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 9] = [
    ("text", text),
    ("json", http::fuzzing::json),
    ("ndjson", http::fuzzing::ndjson),
    ("query", http::fuzzing::query_string),
    ("filter", engine::fuzzing::filter),
    ("snapshot", storage::fuzzing::snapshot),
    ("record", storage::fuzzing::record),
    ("backup", engine::fuzzing::backup),
    ("formats", akin_files::fuzzing::formats),
];

/// Runs the target of a name.
///
/// # Panics
/// There is none, or the input breaks a promise.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    target.expect("the target is in the table").1(input);
}

/// A text after a byte of settings: at every level of instructions its shingles are the shingles
/// of the definition, character by character, and its set and sketch are the same.
fn text(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let unit = if choice & 4 == 0 { Unit::Word } else { Unit::Character };
    let normalize =
        if choice & 2 == 0 { ShingleSettings::default().normalize } else { Normalize::None };
    let folds = Fold::ALL.into_iter().filter(|fold| *fold != Fold::TurkicCase);
    let settings = |size| ShingleSettings {
        unit,
        size,
        normalize,
        lowercase: choice & 1 == 0,
        fold: folds.clone().filter(|_| choice & 8 != 0).collect(),
        ..ShingleSettings::default()
    };
    let shinglers = [1, 3].map(|size| Shingler::new(settings(size), 7, usize::MAX));
    let [units, shingles] = shinglers.each_ref().map(|shingler| by_definition(shingler, &text));
    let sketcher = Sketcher::new(SketchSettings::default());
    let mut sketches = Vec::new();
    for level in Level::available() {
        let [one, three] = shinglers.clone().map(|shingler| shingler.with_level(level));
        assert_eq!(one.shingles(&text).ok(), units, "{level:?}");
        assert_eq!(three.shingles(&text).ok(), shingles, "{level:?}");
        let (Ok(shingled), Some(shingles)) = (three.text(&text), &shingles) else { continue };
        let set = shingled.set.as_slice();
        assert!(set.is_sorted_by(|a, b| a < b), "{level:?}");
        assert!(shingles.iter().all(|shingle| set.binary_search(shingle).is_ok()), "{level:?}");
        let sketcher = sketcher.clone().with_level(level);
        sketches.push(sketcher.sketch(&shingled.set));
        if !shingled.whole_document {
            sketches.push(sketcher.sketch_shingles(shingles));
        }
    }
    sketches.dedup();
    assert!(sketches.len() <= 1, "the levels differ");
}

/// Spans are found by the definition.
fn by_definition(shingler: &Shingler, text: &str) -> Option<Vec<u64>> {
    let mut shingles = Vec::new();
    shingler.spans(text, |shingle, _| shingles.push(shingle)).ok()?;
    Some(shingles)
}
