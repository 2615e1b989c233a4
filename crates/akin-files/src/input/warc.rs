//! Pages as a crawler saved them (WARC), or their texts (WET).
//!
//! A record is a line `WARC/1.0`, lines `name: value`, an empty line, a block of `Content-Length`
//! bytes and two empty lines. Of a page that was fetched, the block is the answer of its server.

use std::io::{self, BufRead, Read};

use encoding_rs::Encoding;
use flate2::read::MultiGzDecoder;

use super::event::{ITEM_BYTES_MAX, Stop};
use super::html::{charset, decoded};
use super::members::{Values, text_value};
use super::options::Extract;
use super::page::page;
use super::sink::Sink;

const HEAD_BYTES_MAX: u64 = 64 << 10;

/// Names in lower case, and their values.
struct WarcHead(Vec<(String, String)>);

impl WarcHead {
    /// The lines up to an empty line.
    fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        let mut lines = Vec::new();
        let mut limited = reader.take(HEAD_BYTES_MAX);
        loop {
            let mut line = Vec::new();
            if limited.read_until(b'\n', &mut line)? == 0 {
                return Err(io::Error::other("the head of the record is cut off, or too long"));
            }
            let line = String::from_utf8_lossy(&line);
            if line.trim().is_empty() {
                return Ok(Self(lines));
            }
            if let Some((name, value)) = line.split_once(':') {
                lines.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn says(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|known| known.to_ascii_lowercase().starts_with(value))
    }
}

/// How pages are turned into texts.
#[derive(Clone, Copy)]
pub struct Pages {
    pub encoding: Option<&'static Encoding>,
    pub extract: Extract,
}

pub fn read(mut reader: impl BufRead, pages: Pages, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    for number in 1.. {
        let at = |error: io::Error| Stop::at(number, error);
        if !begins(&mut reader).map_err(at)? {
            break;
        }
        let head = WarcHead::read(&mut reader).map_err(at)?;
        let length = head.get("content-length").and_then(|length| length.parse::<u64>().ok());
        let length = length.ok_or_else(|| Stop::at(number, "the record has no Content-Length"))?;
        let mut block = reader.by_ref().take(length);
        let is_page =
            ["conversion", "response", "resource"].contains(&head.get("warc-type").unwrap_or(""));
        let mut bytes = Vec::new();
        if is_page && length <= ITEM_BYTES_MAX as u64 {
            block.read_to_end(&mut bytes).map_err(at)?;
        } else {
            io::copy(&mut block, &mut io::sink()).map_err(at)?;
        }
        if block.limit() > 0 {
            return Err(Stop::at(number, "the record is cut off"));
        }
        if is_page && length > ITEM_BYTES_MAX as u64 {
            sink.failed(Some(number), format!("the record is longer than {ITEM_BYTES_MAX} bytes"))?;
            continue;
        }
        match values(&head, &bytes, pages) {
            Some(Ok(values)) => sink.record(Some(number), values)?,
            Some(Err(reason)) => sink.failed(Some(number), reason)?,
            _ => {}
        }
    }
    Ok(())
}

/// Whether there is another record; its first line is consumed.
fn begins(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let mut line = Vec::new();
        if reader.by_ref().take(HEAD_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        if line.starts_with(b"WARC/") {
            return Ok(true);
        }
        if !line.trim_ascii().is_empty() {
            return Err(io::Error::other("it does not begin like a WARC record"));
        }
    }
}

/// The columns of a record's page; `None` if the record has no page.
fn values(head: &WarcHead, block: &[u8], pages: Pages) -> Option<Result<Values, String>> {
    let is_answer = head.says("content-type", "application/http");
    let found = if is_answer { of_answer(block, pages)? } else { of_body(head, block, pages)? };
    Some(found.map(|mut values| {
        for (name, from) in [
            ("id", "warc-record-id"),
            ("url", "warc-target-uri"),
            ("date", "warc-date"),
            ("language", "warc-identified-content-language"),
        ] {
            if let Some(value) = head.get(from) {
                values.push(text_value(name, value));
            }
        }
        values
    }))
}

/// The text of a body, by its type.
fn of_body(head: &WarcHead, body: &[u8], pages: Pages) -> Option<Result<Values, String>> {
    let named = pages.encoding.or_else(|| charset(head.get("content-type")?));
    if head.says("content-type", "text/plain") {
        let text = decoded(body, named);
        return Some(Ok(vec![text_value("text", text.trim())]));
    }
    let is_html = ["text/html", "application/xhtml"].iter().any(|t| head.says("content-type", t));
    is_html.then(|| page(&decoded(body, named), pages.extract))
}

/// The page in an answer of status 200.
fn of_answer(mut block: &[u8], pages: Pages) -> Option<Result<Values, String>> {
    let mut status = Vec::new();
    (&mut block).take(HEAD_BYTES_MAX).read_until(b'\n', &mut status).ok()?;
    if String::from_utf8_lossy(&status).split_whitespace().nth(1) != Some("200") {
        return None;
    }
    let head = WarcHead::read(&mut block).ok()?;
    let chunked = head.says("transfer-encoding", "chunked");
    // Many crawlers keep the line and not the chunks.
    let body = chunked.then(|| unchunked(block)).flatten().unwrap_or_else(|| block.to_vec());
    match uncompressed(body) {
        Ok(body) => of_body(&head, &body, pages),
        Err(reason) => Some(Err(reason)),
    }
}

/// `None` if these are no chunks.
fn unchunked(mut block: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = block.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(&block[..end]).ok()?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        block = &block[end + 1..];
        body.extend_from_slice(block.get(..length)?);
        block = block.get(length..)?.trim_ascii_start();
    }
}

fn uncompressed(body: Vec<u8>) -> Result<Vec<u8>, String> {
    if !body.starts_with(&[0x1f, 0x8b]) {
        return Ok(body);
    }
    let mut all = Vec::new();
    let mut limited = MultiGzDecoder::new(&body[..]).take(ITEM_BYTES_MAX as u64 + 1);
    limited.read_to_end(&mut all).map_err(|error| error.to_string())?;
    match all.len() <= ITEM_BYTES_MAX {
        true => Ok(all),
        false => Err(format!("the page is larger than {ITEM_BYTES_MAX} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_a_bounded_length() {
        let head = |bytes: usize| {
            let fields = format!("x: {}\r\nContent-Length: 3\r\n\r\n", "y".repeat(bytes));
            WarcHead::read(&mut fields.as_bytes()).is_ok()
        };
        assert!(head(60_000));
        assert!(!head(HEAD_BYTES_MAX as usize));
    }

    #[test]
    fn chunked_bodies_are_joined() {
        assert_eq!(unchunked(b"4\r\nWiki\r\n6;x=y\r\npedia \r\n0\r\n\r\n").unwrap(), b"Wikipedia ");
        assert_eq!(unchunked(b"<html>\n"), None);
        assert_eq!(unchunked(b"ff\r\nshort"), None);
    }
}
