//! The members of a line of JSON, with its text unescaped already.
//!
//! Most of a line is its text. serde_json would read it twice, to find its end and to unescape it.
//! Here the text is read once, by runs between its escapes. A line with anything unusual is left to
//! [`members`], which alone says what is malformed.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::members::{Member, Value, members};

/// The members of a JSON object as [`members`] has them, but the member with this name is a
/// [`Value::Text`] if it is a text.
///
/// # Errors
/// The JSON is malformed, or not an object.
pub fn members_with_text<'a>(json: &'a [u8], name: &str) -> Result<Vec<Member<'a>>, String> {
    // Without an early end, the loop has vector instructions.
    let has_control = json.iter().fold(0, |found, byte| found | u8::from(*byte < b' ')) != 0;
    let usual = || usual_members(std::str::from_utf8(json).ok()?, name);
    if has_control { None } else { usual() }.map_or_else(|| members(json), Ok)
}

/// The line has no control characters. `None` if another reader has to read the line.
fn usual_members<'a>(json: &'a str, text_name: &str) -> Option<Vec<Member<'a>>> {
    let mut members = Vec::new();
    let mut rest = after(json, '{')?;
    loop {
        let (name, behind) = text(after(rest, '"')?)?;
        let value = after(behind, ':')?;
        let (value, behind) = match after(value, '"').filter(|_| name == text_name) {
            Some(begun) => {
                let (text, behind) = text(begun)?;
                (Value::Text(text), behind)
            }
            None => raw(value)?,
        };
        members.push((name, value));
        match after(behind, ',') {
            Some(next) => rest = next,
            None => return without_blanks(after(behind, '}')?).is_empty().then_some(members),
        }
    }
}

/// The rest of the JSON after blanks and this character.
fn after(json: &str, character: char) -> Option<&str> {
    without_blanks(json).strip_prefix(character)
}

fn without_blanks(json: &str) -> &str {
    json.trim_start_matches(' ')
}

/// Any value, and the JSON behind it.
fn raw(json: &str) -> Option<(Value<'_>, &str)> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    Some((Value::Json(Cow::Borrowed(value)), &json[values.byte_offset()..]))
}

/// A text that has begun, and the JSON behind it.
fn text(json: &str) -> Option<(Cow<'_, str>, &str)> {
    let bytes = json.as_bytes();
    let (mut text, mut run) = (String::new(), 0);
    loop {
        let end = run + memchr::memchr2(b'"', b'\\', &bytes[run..])?;
        if bytes[end] == b'"' {
            let behind = &json[end + 1..];
            if run == 0 {
                return Some((Cow::Borrowed(&json[..end]), behind));
            }
            text.push_str(&json[run..end]);
            return Some((Cow::Owned(text), behind));
        }
        text.push_str(&json[run..end]);
        let (character, len) = escaped(&bytes[end + 1..])?;
        text.push(character);
        run = end + 1 + len;
    }
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
    fn escaped_members_take_no_more_than_the_line() {
        let names = (0..1_000).map(|n| format!(r#""\n{n}":0,"#)).collect::<Vec<_>>().concat();
        let texts = r#""text":"\n","#.repeat(1_000);
        let line = format!(r#"{{{names}{texts}"text":"\t{}"}}"#, "long ".repeat(100));
        let members = members_with_text(line.as_bytes(), "text").unwrap();
        let owned = |text: &Cow<'_, str>| match text {
            Cow::Owned(text) => text.capacity(),
            Cow::Borrowed(_) => 0,
        };
        let capacity = |(name, value): &Member<'_>| match value {
            Value::Text(text) => owned(name) + owned(text),
            Value::Json(_) => owned(name),
        };
        let capacities: usize = members.iter().map(capacity).sum();
        assert_eq!(members.len(), 2_001);
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
