//! JSON that is not in lines: an array of objects, or objects one after the other.

use std::io::BufRead;

use super::event::{ITEM_BYTES_MAX, Stop};
use super::sink::Sink;

/// Reads object by object, so that a file may be larger than memory. Whitespace between tokens is
/// left out, which makes each object a line.
pub fn read(mut reader: impl BufRead, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let is_array = next_byte(&mut reader, 1)? == Some(b'[');
    if is_array {
        reader.consume(1);
    }
    for number in 1.. {
        match next_byte(&mut reader, number)? {
            Some(b']') if is_array => {
                reader.consume(1);
                return nothing_more(&mut reader, number);
            }
            Some(b',') if is_array && number > 1 => {
                reader.consume(1);
                if next_byte(&mut reader, number)? != Some(b'{') {
                    return Err(Stop::at(number, NO_OBJECT));
                }
            }
            Some(b'{') if !is_array || number == 1 => {}
            Some(_) => return Err(Stop::at(number, NO_OBJECT)),
            None if is_array => return Err(Stop::at(number, "the array is not closed")),
            None => return Ok(()),
        }
        let json = object(&mut reader, number)?;
        sink.json(number, json)?;
    }
    Ok(())
}

const NO_OBJECT: &str = "an object is expected: an array holds documents, as the API takes them";

fn nothing_more(reader: &mut impl BufRead, number: u64) -> Result<(), Stop> {
    match next_byte(reader, number)? {
        None => Ok(()),
        Some(_) => Err(Stop::at(number, "there is more after the end of the array")),
    }
}

/// The next byte that is no whitespace, not yet consumed.
fn next_byte(reader: &mut impl BufRead, number: u64) -> Result<Option<u8>, Stop> {
    loop {
        let buffer = reader.fill_buf().map_err(|error| Stop::at(number, error))?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let blank = buffer.len() - buffer.trim_ascii_start().len();
        let next = buffer.get(blank).copied();
        reader.consume(blank);
        if next.is_some() {
            return Ok(next);
        }
    }
}

/// Where a byte stands in an object.
#[derive(Default)]
struct Scanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Scanner {
    /// Whether the byte belongs to a token.
    fn keeps(&mut self, byte: u8) -> bool {
        if self.in_string {
            let ends = byte == b'"' && !self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            self.in_string = !ends;
            return true;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => return !byte.is_ascii_whitespace(),
        }
        true
    }
}

fn object(reader: &mut impl BufRead, number: u64) -> Result<Vec<u8>, Stop> {
    let mut json = Vec::new();
    let mut scanner = Scanner::default();
    loop {
        let buffer = reader.fill_buf().map_err(|error| Stop::at(number, error))?;
        if buffer.is_empty() {
            return Err(Stop::at(number, "the object is not closed"));
        }
        let length = buffer.len();
        for (at, byte) in buffer.iter().enumerate() {
            if scanner.keeps(*byte) {
                json.push(*byte);
            }
            if scanner.depth == 0 && !scanner.in_string {
                reader.consume(at + 1);
                return Ok(json);
            }
        }
        reader.consume(length);
        if json.len() > ITEM_BYTES_MAX {
            let reason = format!("the object is longer than {ITEM_BYTES_MAX} bytes");
            return Err(Stop::at(number, reason));
        }
    }
}
