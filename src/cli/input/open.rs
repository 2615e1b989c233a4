//! Files and stdin, decompressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::encoding::decoded;
use super::event::Stop;
use super::text::whole;
use crate::cli::failure::Failure;

const BUFFER_BYTES: usize = 64 << 10;
/// The longest mark of the byte order.
const MARK_BYTES: usize = 3;

/// The content of a file, or of stdin for `-`, decompressed if it begins like gzip or zstd.
///
/// # Errors
/// It cannot be read.
pub fn open_file(path: &Path) -> io::Result<Box<dyn BufRead>> {
    decompressed(source(path)?)
}

pub fn source(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(path)?)) }
}

/// All members of a gzip file and all frames of a zstd file; anything else after them is an error.
pub fn decompressed<'a>(raw: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, raw);
    let start = raw.fill_buf()?;
    if start.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(raw))));
    }
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)));
    }
    Ok(Box::new(raw))
}

/// The first bytes, and a reader of all.
pub fn peeked<'a>(
    mut reader: Box<dyn BufRead + 'a>,
    bytes: usize,
) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'a>)> {
    let mut start = Vec::new();
    reader.by_ref().take(bytes as u64).read_to_end(&mut start)?;
    Ok((start.clone(), Box::new(io::Cursor::new(start).chain(reader))))
}

/// The text of one file, or of stdin for `-`; gzip and zstd are decompressed.
///
/// # Errors
/// It cannot be read, or is not text.
pub fn read_text_file(path: &Path) -> Result<String, Failure> {
    let read = |path| {
        let (start, reader) = peeked(open_file(path)?, MARK_BYTES)?;
        whole(decoded(&start, reader, None))
    };
    read(path).map_err(|stop| {
        let reason = match stop {
            Stop::Failed { reason, .. } => reason,
            Stop::NotRead(_) | Stop::Empty | Stop::Cancelled => "it is not UTF-8 text".into(),
        };
        Failure::unreadable(path, reason)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 1).unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<String> {
        io::read_to_string(decompressed(bytes)?)
    }

    #[test]
    fn all_members_are_read() {
        assert_eq!(read(&[gzip("one "), gzip(""), gzip("two")].concat()).unwrap(), "one two");
        assert_eq!(read(&[zstd("one "), zstd(""), zstd("two")].concat()).unwrap(), "one two");
    }

    #[test]
    fn trailing_garbage_and_truncation_are_errors() {
        for whole in [gzip("a text of some words"), zstd("a text of some words")] {
            assert!(read(&[&whole[..], b"garbage"].concat()).is_err());
            assert!(read(&whole[..whole.len() - 5]).is_err());
        }
    }
}
