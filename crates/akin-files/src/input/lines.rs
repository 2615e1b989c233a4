//! Lines of JSON.

use std::io::{self, BufRead, Read};

use super::encoding::UTF_8_MARK;
use super::event::{ITEM_BYTES_MAX, Stop};
use super::sink::Sink;

pub fn read(mut reader: impl BufRead, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let mut number = 0;
    loop {
        number += 1 + skip_blank(&mut reader).map_err(|e| Stop::at(number + 1, e))?;
        let mut json = Vec::new();
        let mut limited = reader.by_ref().take(ITEM_BYTES_MAX as u64);
        let read = limited.read_until(b'\n', &mut json).map_err(|e| Stop::at(number, e))?;
        if read == 0 {
            break;
        }
        if read == ITEM_BYTES_MAX && json.last() != Some(&b'\n') {
            reader.skip_until(b'\n').map_err(|e| Stop::at(number, e))?;
            let reason = format!("the line is longer than {ITEM_BYTES_MAX} bytes");
            sink.failed(Some(number), reason)?;
            continue;
        }
        if json.starts_with(UTF_8_MARK) {
            json.drain(..UTF_8_MARK.len());
        }
        json.truncate(json.trim_ascii_end().len());
        if !json.trim_ascii_start().is_empty() {
            sink.json(number, json)?;
        }
    }
    Ok(())
}

/// Consumes blank lines, of which a compressed file may have gigabytes, and counts them.
fn skip_blank(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut lines = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let blank = &buffer[..buffer.len() - buffer.trim_ascii_start().len()];
        // The whitespace before a document is a part of its line.
        let Some(last) = memchr::memrchr(b'\n', blank) else { return Ok(lines) };
        lines += memchr::memchr_iter(b'\n', blank).count() as u64;
        reader.consume(last + 1);
    }
}
