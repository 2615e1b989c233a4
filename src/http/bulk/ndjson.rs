//! NDJSON: a JSON value per line.

use bytes::Bytes;
use serde::Serialize;

pub const MEDIA: &str = "application/x-ndjson";

/// The value as one line.
pub fn line(value: &impl Serialize) -> Bytes {
    let mut line = Vec::with_capacity(128);
    write_line(&mut line, value);
    line.into()
}

/// Appends the value as one line. Line breaks can only occur between the tokens of metadata, which
/// is returned as it was formatted: in strings they are escaped.
pub fn write_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    write_on_one_line(lines, value);
    lines.push(b'\n');
}

/// Appends the value without line breaks.
pub fn write_on_one_line(text: &mut Vec<u8>, value: &impl Serialize) {
    let start = text.len();
    serde_json::to_writer(&mut *text, value).expect("replies are plain JSON");
    for byte in &mut text[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn metadata_over_several_lines_stays_on_one() {
        let raw: &RawValue = serde_json::from_str("{\r\n\t\"a\": \"b\\nc\"\n}").unwrap();
        assert_eq!(line(&raw), "{  \t\"a\": \"b\\nc\" }\n");
    }
}
