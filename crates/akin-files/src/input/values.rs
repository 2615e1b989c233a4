//! JSON that is not in lines: an array of objects, or a sequence of objects.

use std::io::BufRead;

use super::encoding::UTF_8_MARK;
use super::event::{ITEM_BYTES_MAX, Stop};
use super::sink::Sink;
use akin_model::value_end::ValueEnd;

/// Reads object by object, so that a file may be larger than memory. Whitespace between tokens is
/// left out, which makes each object a line. `records`: where each object has an array of the
/// documents.
pub fn read(
    mut reader: impl BufRead,
    records: Option<&str>,
    sink: &mut Sink<'_, '_>,
) -> Result<(), Stop> {
    let mut number = 0;
    match (next_byte(&mut reader, 1)?, records) {
        (Some(b'['), None) => {
            elements(&mut reader, &mut number, sink)?;
            nothing_more(&mut reader, number + 1)
        }
        (_, None) => {
            while next_byte(&mut reader, number + 1)?.is_some() {
                number += 1;
                let json = object(&mut reader, number)?;
                sink.json(number, json.into())?;
            }
            Ok(())
        }
        (_, Some(records)) => {
            let path: Vec<&str> = records.split('.').collect();
            while next_byte(&mut reader, number + 1)?.is_some() {
                if !within(&mut reader, &path, &mut number, sink)? {
                    let reason = format!("the object has no array '{records}' (--records)");
                    return Err(Stop::Failed { line: None, reason });
                }
            }
            Ok(())
        }
    }
}

/// The objects of an array that begins here.
fn elements(
    reader: &mut impl BufRead,
    number: &mut u64,
    sink: &mut Sink<'_, '_>,
) -> Result<(), Stop> {
    expect(reader, *number + 1, b'[', "an array is expected")?;
    let first = *number + 1;
    loop {
        *number += 1;
        match next_byte(reader, *number)? {
            Some(b']') => {
                reader.consume(1);
                *number -= 1;
                return Ok(());
            }
            Some(b',') if *number > first => reader.consume(1),
            Some(b'{') if *number == first => {}
            Some(_) => return Err(Stop::at(*number, NO_OBJECT)),
            None => return Err(Stop::at(*number, "the array is not closed")),
        }
        if next_byte(reader, *number)? == Some(b']') {
            return Err(Stop::at(*number, "a comma without a document behind it"));
        }
        let json = object(reader, *number)?;
        sink.json(*number, json.into())?;
    }
}

/// Reads the array at a path in the object that begins here. Returns whether the array exists.
fn within(
    reader: &mut impl BufRead,
    path: &[&str],
    number: &mut u64,
    sink: &mut Sink<'_, '_>,
) -> Result<bool, Stop> {
    let at = *number + 1;
    expect(reader, at, b'{', "an object is expected")?;
    let (mut found, mut is_first) = (false, true);
    loop {
        match next_byte(reader, at)? {
            Some(b'}') => {
                reader.consume(1);
                return Ok(found);
            }
            Some(b',') if !is_first => reader.consume(1),
            Some(b'"') if is_first => {}
            Some(_) => return Err(Stop::at(at, "it is not JSON")),
            None => return Err(Stop::at(at, "the object is not closed")),
        }
        is_first = false;
        if next_byte(reader, at)? != Some(b'"') {
            return Err(Stop::at(at, "it is not JSON"));
        }
        let name = value(reader, at, true)?;
        let name = serde_json::from_slice::<String>(&name);
        let name = name.map_err(|error| Stop::at(at, error))?;
        expect(reader, at, b':', "it is not JSON")?;
        match (next_byte(reader, at)?, path) {
            (Some(b'['), [last]) if name == *last => {
                elements(reader, number, sink)?;
                found = true;
            }
            (Some(b'{'), [outer, rest @ ..]) if name == *outer && !rest.is_empty() => {
                found |= within(reader, rest, number, sink)?;
            }
            _ => drop(value(reader, at, false)?),
        }
    }
}

fn expect(reader: &mut impl BufRead, at: u64, byte: u8, or: &str) -> Result<(), Stop> {
    if next_byte(reader, at)? != Some(byte) {
        return Err(Stop::at(at, or));
    }
    reader.consume(1);
    Ok(())
}

const NO_OBJECT: &str = "an object is expected: an array holds documents, as the API takes them";

fn nothing_more(reader: &mut impl BufRead, number: u64) -> Result<(), Stop> {
    match next_byte(reader, number)? {
        None => Ok(()),
        Some(_) => Err(Stop::at(number, "there is more after the end of the array")),
    }
}

/// The next byte that is no whitespace and not of a byte order mark, not yet consumed.
fn next_byte(reader: &mut impl BufRead, number: u64) -> Result<Option<u8>, Stop> {
    loop {
        let buffer = reader.fill_buf().map_err(|error| Stop::at(number, error))?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || UTF_8_MARK.contains(byte);
        let blank = buffer.iter().position(|byte| !is_blank(byte)).unwrap_or(buffer.len());
        let next = buffer.get(blank).copied();
        reader.consume(blank);
        if next.is_some() {
            return Ok(next);
        }
    }
}

fn object(reader: &mut impl BufRead, number: u64) -> Result<Vec<u8>, Stop> {
    if next_byte(reader, number)? != Some(b'{') {
        return Err(Stop::at(number, NO_OBJECT));
    }
    value(reader, number, true)
}

/// The value that begins here. An unwanted value may be of any length.
fn value(reader: &mut impl BufRead, number: u64, is_wanted: bool) -> Result<Vec<u8>, Stop> {
    let (mut json, mut end) = (Vec::new(), ValueEnd::default());
    loop {
        let buffer = reader.fill_buf().map_err(|error| Stop::at(number, error))?;
        if buffer.is_empty() {
            return Err(Stop::at(number, "the object is not closed"));
        }
        let (taken, is_whole) = match is_wanted {
            true => end.take(buffer, |byte| json.push(byte)),
            false => end.take(buffer, |_| ()),
        };
        reader.consume(taken);
        if is_whole {
            return Ok(json);
        }
        if json.len() > ITEM_BYTES_MAX {
            let reason = format!("the object is longer than {ITEM_BYTES_MAX} bytes");
            return Err(Stop::at(number, reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::columns::TextColumns;
    use super::super::event::Event;
    use super::*;

    /// The documents and why reading stopped.
    fn documents(json: &str, records: Option<&str>) -> (Vec<String>, Option<String>) {
        let mut found = Vec::new();
        let columns = Arc::<TextColumns>::default();
        let mut emit = |event| {
            if let Event::Item(item) = event {
                found.push(String::from_utf8(item.line().into_owned()).unwrap());
            }
            Ok(())
        };
        let mut sink =
            Sink { file: "f".into(), names_places: false, columns: &columns, emit: &mut emit };
        let stop = match read(json.as_bytes(), records, &mut sink) {
            Err(Stop::Failed { reason, .. }) => Some(reason),
            _ => None,
        };
        (found, stop)
    }

    #[test]
    fn documents_are_found_within_an_object() {
        let json = r#" {"n": 1, "s": "]}", "x": [{"text": "no"}], "a.b": {"data": []},
            "out": {"m": null, "data": [ {"text": "o\"ne ]"}, {"text": "two"} ], "z": [[]]},
            "e": -1.5 }
            {"out": {"data": [{"text": "three"}]}}"#;
        let expected = [r#"{"text":"o\"ne ]"}"#, r#"{"text":"two"}"#, r#"{"text":"three"}"#];
        assert_eq!(documents(json, Some("out.data")), (expected.map(String::from).into(), None));
        for (json, why) in [
            (r#"{"data": 7}"#, "no array 'data'"),
            (r#"{"data": [7]}"#, "an object is expected"),
            (r#"{"data": [{}"#, "the array is not closed"),
            (r#"{"data": [{},]}"#, "a comma without a document"),
            (r#"{"data": [], "x" 1}"#, "not JSON"),
            (r#"{"data": [] "x": 1}"#, "not JSON"),
            (r#"{"data": []"#, "the object is not closed"),
            ("[]", "an object is expected"),
        ] {
            let stop = documents(json, Some("data")).1.unwrap();
            assert!(stop.contains(why), "{json}: {stop}");
        }
        assert_eq!(documents("[{}, {}]", None), (vec!["{}".into(); 2], None));
        assert!(documents("[{}, {}], 1", None).1.unwrap().contains("more after"));
    }
}
