//! Pages as a crawler saved them (WARC), or their texts (WET).
//!
//! A record is a line `WARC/1.0`, lines `name: value`, an empty line, a block of `Content-Length`
//! bytes and two empty lines. Of a page that was fetched, the block is the answer of its server.

use std::io::{self, BufRead, Read};

use super::answer;
use super::event::{ITEM_BYTES_MAX, Stop};
use super::formats::OpenInput;
use super::members::text_value;
use super::options::Reading;
use super::page::page;
use super::page_encoding::{charset_of, decode_page, undeclared};
use super::sink::{Page, Sink};
use super::warc_records::WarcRecords;

pub const HEAD_BYTES_MAX: u64 = 64 << 10;
const PLAIN: &str = "text/plain";
const HTML: [&str; 2] = ["text/html", "application/xhtml"];
const CUT_OFF: &str = "the head of the record is cut off, or too long";

/// Names in lower case, and their values.
pub struct WarcHead(Vec<(String, String)>);

impl WarcHead {
    /// The lines up to an empty line.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        match Self::lines(reader)? {
            (head, true) => Ok(head),
            (_, false) => Err(io::Error::new(io::ErrorKind::InvalidData, CUT_OFF)),
        }
    }

    /// The lines up to an empty line, and whether there is one.
    fn lines(reader: &mut impl BufRead) -> io::Result<(Self, bool)> {
        let mut lines = Vec::new();
        let mut limited = reader.take(HEAD_BYTES_MAX);
        loop {
            let mut line = Vec::new();
            if limited.read_until(b'\n', &mut line)? == 0 {
                return Ok((Self(lines), false));
            }
            let line = String::from_utf8_lossy(&line);
            if line.trim().is_empty() {
                return Ok((Self(lines), true));
            }
            if let Some((name, value)) = line.split_once(':') {
                lines.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The parts of all lists under a name.
    fn list<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        let lists = self.0.iter().filter(move |(known, _)| known == name);
        lists.flat_map(|(_, list)| list.split(','))
    }

    fn says(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|known| known.to_ascii_lowercase().starts_with(value))
    }
}

pub fn read(input: OpenInput<'_>, sink: &mut Sink<'_, '_>) -> Result<(), Stop> {
    let OpenInput { reading, content, .. } = input;
    let mut records = WarcRecords::new(content);
    for number in 1.. {
        let record = records.next().map_err(|error| Stop::at(number, error))?;
        let found = match record {
            None => break,
            Some(Err(reason)) => Some(Err(reason)),
            Some(Ok(record)) if !has_page(&record.head) => None,
            Some(Ok(record)) => match record.block {
                Some(block) => page_of(&record.head, &block, reading),
                None => Some(Err(format!("the record is longer than {ITEM_BYTES_MAX} bytes"))),
            },
        };
        match found {
            Some(Ok(page)) => sink.page(Some(number), page)?,
            Some(Err(reason)) => sink.failed(Some(number), reason)?,
            None => {}
        }
    }
    Ok(())
}

/// Whether a crawl with these first bytes has texts that were found in its pages before (WET).
pub fn begins_with_texts(start: &[u8]) -> bool {
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let types = start.lines().filter_map(|line| line.strip_prefix("warc-type:"));
    types.map(str::trim).find(|name| *name != "warcinfo") == Some("conversion")
}

/// Whether the record may have a page: not a request, and not a crawler's notes or addresses.
fn has_page(head: &WarcHead) -> bool {
    let uri = head.get("warc-target-uri").map_or("", uri);
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    ["conversion", "response", "resource"].contains(&head.get("warc-type").unwrap_or(""))
        && !["metadata", "dns"].iter().any(|other| scheme.eq_ignore_ascii_case(other))
}

/// Wget writes the URI in angle brackets.
fn uri(value: &str) -> &str {
    value.strip_prefix('<').and_then(|value| value.strip_suffix('>')).unwrap_or(value)
}

/// The columns of a record's page; `None` if the record has no page.
fn page_of(head: &WarcHead, block: &[u8], reading: &Reading) -> Option<Result<Page, String>> {
    let is_answer = head.says("content-type", "application/http");
    let found = if is_answer { of_answer(block, reading)? } else { of_body(head, block, reading)? };
    Some(found.map(|mut page| {
        for (name, from) in [
            ("id", "warc-record-id"),
            ("url", "warc-target-uri"),
            ("date", "warc-date"),
            ("language", "warc-identified-content-language"),
        ] {
            if let Some(value) = head.get(from) {
                let value = if name == "url" { uri(value) } else { value };
                page.further.push(text_value(name, value));
            }
        }
        page
    }))
}

/// The text of a body, by its type.
fn of_body(head: &WarcHead, body: &[u8], reading: &Reading) -> Option<Result<Page, String>> {
    let named = reading.encoding.or_else(|| charset_of(head.get("content-type")?));
    if head.says("content-type", PLAIN) {
        let encoding = named.unwrap_or_else(|| undeclared(body));
        let text = encoding.decode(body).0.trim().to_owned();
        return Some(Ok(Page { text, further: Vec::new(), has_article: true }));
    }
    let is_html = HTML.iter().any(|html| head.says("content-type", html));
    is_html.then(|| page(&decode_page(body, named), reading.extract, &mut |_| Ok(())))
}

/// The page in an answer of status 200.
fn of_answer(mut block: &[u8], reading: &Reading) -> Option<Result<Page, String>> {
    let mut status = Vec::new();
    (&mut block).take(HEAD_BYTES_MAX).read_until(b'\n', &mut status).ok()?;
    if String::from_utf8_lossy(&status).split_whitespace().nth(1) != Some("200") {
        return None;
    }
    let (head, is_whole) = WarcHead::lines(&mut block).ok()?;
    if !is_whole {
        // The type may be cut off, too, wholly or in part.
        let found = head.get("content-type").unwrap_or_default().to_ascii_lowercase();
        let may_be = |page: &&str| page.starts_with(&found) || found.starts_with(*page);
        return HTML.iter().chain(&[PLAIN]).any(may_be).then(|| Err(CUT_OFF.into()));
    }
    let codings = head.list("content-encoding").chain(head.list("transfer-encoding"));
    match answer::decoded(block, codings) {
        Ok(body) => of_body(&head, &body, reading),
        Err(reason) => Some(Err(reason)),
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
}
