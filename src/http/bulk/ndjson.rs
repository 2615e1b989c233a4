//! A JSON value a line.

use bytes::Bytes;
use serde::Serialize;

pub const MEDIA: &str = "application/x-ndjson";

/// The value on one line. Line breaks can only come from between the tokens of metadata, which is
/// given back as it was laid out: in strings they are escaped.
pub fn line(value: &impl Serialize) -> Bytes {
    let mut line = serde_json::to_vec(value).expect("replies are plain JSON");
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    line.into()
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
