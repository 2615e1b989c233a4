//! A corpus that is the same on every machine: made-up words by Zipf's law.

mod numbers;
mod texts;

pub use numbers::Numbers;
pub use texts::each_document;

/// The documents of a file: `text` of each line of JSON, or the lines themselves.
#[allow(dead_code, reason = "some benches only make documents up")]
pub fn read(path: &str) -> Vec<String> {
    let text = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(document) => Some(document["text"].as_str()?.to_owned()),
        Err(_) => Some(line.to_owned()),
    };
    let file = std::fs::read_to_string(path).expect("the corpus can be read");
    file.lines().filter_map(text).collect()
}
