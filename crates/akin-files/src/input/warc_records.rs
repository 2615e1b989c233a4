//! The records of a WARC file. A record whose `Content-Length` is wrong is an error, and the
//! records after it are read: a record begins with a line `WARC/1.`, as it does for warcio.

use std::io::{self, BufRead, Cursor, Read};

use memchr::memmem;

use super::event::ITEM_BYTES_MAX;
use super::warc::{HEAD_BYTES_MAX, WarcHead};

/// Bytes are read again after a length that is too large. A file with more of them is given up.
const REPEATED_BYTES_MAX: u64 = 1 << 30;
/// Memory is reserved for so much of a block, whose length may be wrong.
const ROOM_BYTES_MAX: u64 = 1 << 20;

pub struct WarcRecord {
    pub head: WarcHead,
    /// `None` if the block is too large.
    pub block: Option<Vec<u8>>,
}

pub struct WarcRecords<R> {
    reader: Rewinding<R>,
    /// The first line of the next record has been read.
    is_begun: bool,
    repeated: u64,
}

impl<R: BufRead> WarcRecords<R> {
    pub fn new(reader: R) -> Self {
        let reader = Rewinding { last: Cursor::default(), inner: reader };
        Self { reader, is_begun: false, repeated: 0 }
    }

    /// The next record, or why it is broken.
    ///
    /// # Errors
    /// The file cannot be read, or has too many wrong lengths.
    pub fn next(&mut self) -> io::Result<Option<Result<WarcRecord, String>>> {
        let line = if self.is_begun { None } else { Some(self.line()?) };
        match line {
            Some(line) if line.is_empty() => return Ok(None),
            Some(line) if !begins(&line) => {
                self.skip_to_head(line.ends_with(b"\n"))?;
                return Ok(Some(Err("it does not begin like a WARC record".into())));
            }
            _ => self.is_begun = false,
        }
        let head = match WarcHead::read(&mut self.reader) {
            Ok(head) => head,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.skip_to_head(false)?;
                return Ok(Some(Err(error.to_string())));
            }
            Err(error) => return Err(error),
        };
        let length = head.get("content-length").and_then(|length| length.parse::<u64>().ok());
        let Some(length) = length else {
            self.skip_to_head(true)?;
            return Ok(Some(Err("the record has no Content-Length".into())));
        };
        if length > ITEM_BYTES_MAX as u64 {
            self.skip_to_head(true)?;
            return Ok(Some(Ok(WarcRecord { head, block: None })));
        }
        let block = self.block(length)?;
        Ok(Some(block.map(|block| WarcRecord { head, block: Some(block) })))
    }

    /// A block of this length, if it ends before the next record.
    fn block(&mut self, length: u64) -> io::Result<Result<Vec<u8>, String>> {
        let mut block = Vec::with_capacity(length.min(ROOM_BYTES_MAX) as usize);
        self.reader.by_ref().take(length).read_to_end(&mut block)?;
        let is_cut = (block.len() as u64) < length;
        let line = self.line()?;
        if begins(&line) || line.is_empty() && !is_cut {
            self.is_begun = !line.is_empty();
            return Ok(Ok(block));
        }
        let ends_line = line.ends_with(b"\n");
        block.extend(line);
        match head_in(&block) {
            Some(at) => {
                self.repeated += (block.len() - at) as u64;
                if self.repeated > REPEATED_BYTES_MAX {
                    return Err(io::Error::other("too many records have a wrong Content-Length"));
                }
                self.reader.rewind(&block[at..]);
            }
            None if is_cut => return Ok(Err("the record is cut off".into())),
            None => self.skip_to_head(ends_line)?,
        }
        Ok(Err(format!("its Content-Length, {length}, is wrong")))
    }

    /// The next line that is not blank, or as much of it as fits into a head; empty at the end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = self.reader.by_ref().take(HEAD_BYTES_MAX).read_until(b'\n', &mut line)?;
            if read == 0 || !line.trim_ascii().is_empty() {
                return Ok(line);
            }
        }
    }

    /// Reads up to the next line that begins a record. `at_line`: a line begins here.
    fn skip_to_head(&mut self, mut at_line: bool) -> io::Result<()> {
        loop {
            let mut line = Vec::new();
            let read = self.reader.by_ref().take(HEAD_BYTES_MAX).read_until(b'\n', &mut line)?;
            self.is_begun = at_line && begins(&line);
            if read == 0 || self.is_begun {
                return Ok(());
            }
            at_line = line.ends_with(b"\n");
        }
    }
}

fn begins(line: &[u8]) -> bool {
    line.strip_prefix(b"WARC/").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
}

/// Where a line begins a record.
fn head_in(block: &[u8]) -> Option<usize> {
    memmem::find_iter(block, b"\nWARC/").map(|at| at + 1).find(|at| begins(&block[*at..]))
}

/// A reader of which the last bytes can be read again.
struct Rewinding<R> {
    last: Cursor<Vec<u8>>,
    inner: R,
}

impl<R: BufRead> Rewinding<R> {
    /// `bytes`: the last bytes that were read.
    fn rewind(&mut self, bytes: &[u8]) {
        let left = self.last.get_ref().len() as u64 - self.last.position();
        match self.last.position().checked_sub(bytes.len() as u64) {
            Some(position) if left > 0 => self.last.set_position(position),
            _ => self.last = Cursor::new(bytes.to_vec()),
        }
    }
}

impl<R: BufRead> Read for Rewinding<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let read = available.len().min(buffer.len());
        buffer[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Rewinding<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let is_over = self.last.fill_buf()?.is_empty();
        if is_over { self.inner.fill_buf() } else { self.last.fill_buf() }
    }

    fn consume(&mut self, bytes: usize) {
        let is_over = self.last.position() == self.last.get_ref().len() as u64;
        if is_over { self.inner.consume(bytes) } else { self.last.consume(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of this block, whose length is off by `wrong`.
    fn record(block: &str, wrong: isize) -> String {
        let length = block.len().saturating_add_signed(wrong);
        format!("WARC/1.0\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n")
    }

    /// The blocks, or why they are broken.
    fn blocks(file: &str) -> Vec<String> {
        let mut records = WarcRecords::new(file.as_bytes());
        let mut found = Vec::new();
        while let Some(record) = records.next().unwrap() {
            let block = |record: WarcRecord| {
                record.block.map_or("large".into(), |block| String::from_utf8(block).unwrap())
            };
            found.push(record.map_or_else(|reason| reason, block));
        }
        found
    }

    #[test]
    fn a_wrong_length_costs_one_record() {
        let text = "some words\nof a page. ".repeat(10);
        for wrong in [-100, -7, 5, 9, 30, 90, 200, 300, 10_000, 1 << 40] {
            let file = record("one", 0) + &record(&text, wrong) + &record("two", 0);
            let file = file + &record("", 0) + &record("three", 0);
            let found = blocks(&file);
            assert_eq!(found.len(), 5, "{wrong}: {found:?}");
            assert_eq!((&*found[0], &*found[2], &*found[4]), ("one", "two", "three"), "{wrong}");
            assert!(found[1].contains("is wrong") || found[1] == "large", "{wrong}: {}", found[1]);
        }
    }

    #[test]
    fn broken_heads_cost_one_record() {
        let name = "x".repeat(HEAD_BYTES_MAX as usize);
        for (broken, why) in [
            ("WARC/1.0\r\nContent-Length: many\r\n\r\nx\r\n\r\n".to_owned(), "no Content-Length"),
            ("WARC/1.0\r\nWARC-Type: response\r\n\r\n".to_owned(), "no Content-Length"),
            (format!("WARC/1.0\r\n{name}: x\r\n\r\n"), "too long"),
        ] {
            let found = blocks(&(record("one", 0) + &broken + &record("two", 0)));
            assert_eq!((found.len(), &*found[0], &*found[2]), (3, "one", "two"), "{found:?}");
            assert!(found[1].contains(why), "{}", found[1]);
        }
        let found = blocks(&("noise\nand more\n".to_owned() + &record("two", 0)));
        assert_eq!(found, ["it does not begin like a WARC record", "two"]);
    }

    #[test]
    fn a_page_may_have_the_line_of_a_head() {
        let text = "see\nWARC/1.0\nContent-Length: 7\n\nhow it is\n";
        assert_eq!(blocks(&(record(text, 0) + &record("two", 0))), [text, "two"]);
    }

    #[test]
    fn a_file_that_breaks_off_is_reported() {
        let file = record("one", 0) + &record("some words", 0);
        assert_eq!(blocks(&file[..file.len() - 9]), ["one", "the record is cut off"]);
        assert_eq!(blocks(&file[..file.len() - 4]), ["one", "some words"]);
        assert!(blocks(&file[..file.len() - 18])[1].contains("cut off"));
    }
}
