//! The members of a line of JSON, with its text unescaped already.
//!
//! Most of a line is its text. serde_json would read it twice, to find its end and to unescape it.
//! Here the text is read once, and copied eight bytes at a time. A line with anything unusual is
//! left to [`members`], which alone says what is malformed.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::members::{Member, Value, members};

/// The members of a JSON object as [`members`] has them, but the member with this name is a
/// [`Value::Text`] if it is a text.
///
/// # Errors
/// The JSON is malformed, or not an object.
pub fn members_with_text<'a>(json: &'a [u8], name: &str) -> Result<Vec<Member<'a>>, String> {
    usual_members(json, name).map_or_else(|| members(json), Ok)
}

/// `None` if another reader has to read the line.
fn usual_members<'a>(json: &'a [u8], text_name: &str) -> Option<Vec<Member<'a>>> {
    let (mut members, mut has_text) = (Vec::new(), false);
    let mut rest = after(json, b'{')?;
    loop {
        let (name, behind) = name(after(rest, b'"')?)?;
        let value = after(behind, b':')?;
        let (value, behind) = match after(value, b'"').filter(|_| name == text_name) {
            Some(begun) => {
                // Most of a line is its text; a further text is rare.
                let bytes = if has_text { 0 } else { begun.len() };
                has_text = true;
                let (text, behind) = text(begun, bytes)?;
                (Value::Text(text.into()), behind)
            }
            None => raw(value)?,
        };
        members.push((name.into(), value));
        match after(behind, b',') {
            Some(next) => rest = next,
            None => return without_blanks(after(behind, b'}')?).is_empty().then_some(members),
        }
    }
}

/// The rest of the JSON after blanks and this character.
fn after(json: &[u8], character: u8) -> Option<&[u8]> {
    without_blanks(json).strip_prefix(&[character])
}

fn without_blanks(json: &[u8]) -> &[u8] {
    let blanks = json.iter().take_while(|byte| **byte == b' ').count();
    &json[blanks..]
}

/// Any value, and the JSON behind it.
fn raw(json: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let mut values = serde_json::Deserializer::from_slice(json).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    Some((Value::Json(Cow::Borrowed(value)), &json[values.byte_offset()..]))
}

/// A name that has begun, and the JSON behind it.
fn name(json: &[u8]) -> Option<(&str, &[u8])> {
    let end = json.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '))?;
    let behind = json[end..].strip_prefix(b"\"")?;
    Some((str::from_utf8(&json[..end]).ok()?, behind))
}

/// A text that has begun, and the JSON behind it. `bytes`: of memory that is reserved.
fn text(json: &[u8], bytes: usize) -> Option<(String, &[u8])> {
    let (mut text, mut rest) = (Vec::with_capacity(bytes), json);
    loop {
        if let Some((bytes, behind)) = rest.split_first_chunk() {
            text.extend_from_slice(bytes);
            let usual = usual_bytes(*bytes);
            if usual == bytes.len() {
                rest = behind;
                continue;
            }
            text.truncate(text.len() - bytes.len() + usual);
            rest = &rest[usual..];
        }
        let (first, behind) = rest.split_first()?;
        rest = match first {
            b'"' => return Some((String::from_utf8(text).ok()?, behind)),
            b'\\' => {
                let (character, len) = escaped(behind)?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                &behind[len..]
            }
            // A control character, of which only the other reader knows what is wrong.
            ..b' ' => return None,
            byte => {
                text.push(*byte);
                behind
            }
        };
    }
}

/// The number of bytes before the first quote, backslash or control character. Of a word from each
/// byte of which 1 is subtracted, the lowest byte that borrows was 0.
fn usual_bytes(bytes: [u8; 8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let word = u64::from_le_bytes(bytes);
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let unusual = (is(b'"') | is(b'\\') | below(word, b' ')) & (ONES << 7);
    (unusual.trailing_zeros() / 8) as usize
}

/// The character of an escape, and the bytes of the escape after its backslash.
fn escaped(escape: &[u8]) -> Option<(char, usize)> {
    let character = match escape.first()? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        b'u' => {
            let first = unit(&escape[1..])?;
            let second = || unit(escape[5..].strip_prefix(b"\\u")?);
            let units = [first, if matches!(first, 0xd800..=0xdbff) { second()? } else { 0 }];
            let character = char::decode_utf16(units).next()?.ok()?;
            return Some((character, if character.len_utf16() == 2 { 11 } else { 5 }));
        }
        _ => return None,
    };
    Some((character, 1))
}

/// The code unit of UTF-16 that four hexadecimal digits write.
fn unit(digits: &[u8]) -> Option<u16> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16).map(|digit| digit as u16);
    digits.get(..4)?.iter().try_fold(0, |unit, next| Some(unit << 4 | digit(next)?))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Both readers agree, but for the text, which has the same characters.
    fn agrees(line: &[u8]) {
        let [usual, expected] = [members_with_text(line, "text"), members(line)];
        let [usual, expected] = match (usual, expected) {
            (Ok(usual), Ok(expected)) => [usual, expected],
            (usual, expected) => {
                assert_eq!(usual.err(), expected.err());
                return;
            }
        };
        assert_eq!(usual.len(), expected.len());
        for ((name, value), (of, wanted)) in usual.iter().zip(&expected) {
            assert_eq!(name, of);
            match value {
                Value::Text(text) => assert_eq!(*text, wanted.text().unwrap().unwrap()),
                Value::Json(json) => assert_eq!(json.get(), wanted.json().get()),
            }
        }
    }

    #[test]
    fn texts_are_unescaped_as_serde_json_does() {
        for text in [
            r"plain",
            r#"a \"b\" \\ \/ \b\f\n\r\t"#,
            r"\u00e9\u20AC \ud83c\udf89",
            "é€🎉",
            "",
            r"\ud83c",
            r"\ud83cx",
            r"\ud83c\n",
            r"\udf89",
            r"\u12",
            r"\u+123",
            r"\x",
            "\u{1}",
            "\\",
        ] {
            for line in [
                format!(r#"{{"text":"{text}"}}"#),
                format!(" {{ \"id\" : 7 ,\t\"text\" : \"{text}\" , \"{text}\": [\"{text}\"] }} "),
                format!(r#"{{"text":"{text}"#),
            ] {
                agrees(line.as_bytes());
            }
        }
        let found = members_with_text(br#"{"id":"a","text":"b\nc"}"#, "text").unwrap();
        assert!(matches!(&found[1].1, Value::Text(text) if text == "b\nc"));
        for line in [
            "{}",
            "{\"text\":\"a\",}",
            "{\"text\":\"a\"}}",
            "{\"text\":\"a\"} x",
            "[]",
            "\u{c}{}",
            "{\"text\":1}",
            "{\"text\":null}",
            "{\"text\" \"a\"}",
            "{\"text\":\"a\" \"b\":1}",
            "{\"a\":01}",
            "{\"a\":1 2}",
            "{\"a\":[1,]}",
            "{\"te\\u0078t\":\"a\"}",
            "",
        ] {
            agrees(line.as_bytes());
        }
        agrees(b"{\"text\":\"caf\xe9\"}");
    }

    #[test]
    fn escaped_texts_take_no_more_than_the_line() {
        let texts = r#""text":"\n","#.repeat(1_000);
        let line = format!(r#"{{{texts}"text":"\t{}"}}"#, "long ".repeat(100));
        let members = members_with_text(line.as_bytes(), "text").unwrap();
        let capacity = |(_, value): &Member<'_>| match value {
            Value::Text(Cow::Owned(text)) => text.capacity(),
            value => panic!("{value:?} is not read here"),
        };
        let capacities: usize = members.iter().map(capacity).sum();
        assert_eq!(members.len(), 1_001);
        assert!(capacities < 3 * line.len(), "{capacities} bytes of {}", line.len());
    }

    proptest! {
        #[test]
        fn both_readers_agree(pieces in vec(prop_oneof![
            Just("{"), Just("}"), Just("\"text\""), Just("\"id\""), Just(":"), Just(","),
            Just("\""), Just("\\"), Just("\\n"), Just("\\u0041"), Just("a"), Just(" "), Just("1"),
            Just("[1]"), Just("é"), Just("{\"text\":\""), Just("\"}"), Just("\u{2}"),
        ], 0..12)) {
            agrees(pieces.concat().as_bytes());
        }
    }
}
