//! Any bytes as a text: at every level of instructions its words are those of the definition,
//! character by character, and its set and sketch are the same.

#![no_main]

use akin::simd::Level;
use akin::sketch::{SketchSettings, Sketcher};
use akin::text::{ShingleSettings, Shingler};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let settings = |size| ShingleSettings {
        size,
        lowercase: bytes.len() % 2 == 0,
        ..ShingleSettings::default()
    };
    let shinglers = [1, 3].map(|size| Shingler::new(settings(size), 7, usize::MAX));
    // Spans are found by the definition.
    let [mut words, mut shingles] = [vec![], vec![]];
    shinglers[0].spans(&text, |word, _| words.push(word)).unwrap();
    shinglers[1].spans(&text, |shingle, _| shingles.push(shingle)).unwrap();
    let sketcher = Sketcher::new(SketchSettings::default());
    let mut sketches = Vec::new();
    for level in Level::available() {
        let [one, three] = shinglers.clone().map(|shingler| shingler.with_level(level));
        assert_eq!(one.shingles(&text).unwrap(), words, "{level:?}");
        assert_eq!(three.shingles(&text).unwrap(), shingles, "{level:?}");
        let Ok(shingled) = three.text(&text) else { continue };
        assert!(shingled.set.as_slice().is_sorted_by(|a, b| a < b), "{level:?}");
        assert!(shingles.iter().all(|it| shingled.set.as_slice().binary_search(it).is_ok()));
        let sketcher = sketcher.clone().with_level(level);
        sketches.push(sketcher.sketch(&shingled.set));
        sketches.push(sketcher.sketch_shingles(&shingles));
    }
    sketches.dedup();
    assert!(sketches.len() <= 1, "the levels differ");
});
