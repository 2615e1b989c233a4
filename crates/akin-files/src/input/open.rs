//! Files and stdin, decompressed.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;

use super::encoding::decoded;
use super::event::Stop;
use super::text::whole;
use crate::failure::Failure;

pub const BUFFER_BYTES: usize = 64 << 10;
/// The highest ratio of gzip. zstd reaches 30 times as much, but only for repetitions.
pub const RATIO_MAX: u64 = 1_032;
/// Every file may unpack to this size.
const UNPACKED_FREE_BYTES: u64 = 128 << 20;
/// The first bytes of a Parquet file.
pub const PARQUET_MAGIC: &[u8] = b"PAR1";
/// The time to wait for the writer of a pipe before a message.
const PIPE_PATIENCE: Duration = Duration::from_secs(1);
/// The longest byte order mark.
const MARK_BYTES: usize = 3;

/// The content of a file, or of stdin for `-`, decompressed if it begins like gzip or zstd.
///
/// # Errors
/// It cannot be read.
pub fn open_file(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(decompressed(source(path)?)?.0)
}

/// Whether a file, decompressed, is Parquet.
///
/// # Errors
/// The file cannot be read.
pub fn is_parquet(path: &Path) -> Result<bool, Failure> {
    let start = || peeked(open_file(path)?, PARQUET_MAGIC.len());
    let (start, _) = start().map_err(|error| Failure::unreadable(path, error))?;
    Ok(start == PARQUET_MAGIC)
}

pub fn source(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let is_pipe = path.metadata()?.file_type().is_fifo();
    let file = if is_pipe { open_pipe(path)? } else { File::open(path)? };
    Ok(Box::new(file))
}

/// Waits until the pipe has a writer. A long wait is reported.
fn open_pipe(path: &Path) -> io::Result<File> {
    thread::scope(|scope| {
        let (opened, wait) = channel::<()>();
        scope.spawn(move || {
            if wait.recv_timeout(PIPE_PATIENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("waiting: {} is a pipe without a writer", path.display());
            }
        });
        let file = File::open(path);
        drop(opened);
        file
    })
}

/// All members of a gzip file and all frames of a zstd file; anything else after them is an error,
/// and so is a file that unpacks to more than [`RATIO_MAX`] times its size. Also returns whether it
/// is compressed.
pub fn decompressed<'a>(raw: impl Read + 'a) -> io::Result<(Box<dyn BufRead + 'a>, bool)> {
    let packed = Rc::new(Cell::new(0));
    let raw = Counting { inner: raw, bytes: Rc::clone(&packed) };
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, raw);
    let start = raw.fill_buf()?;
    let Some(compression) = compression_of(start) else { return Ok((Box::new(raw), false)) };
    let unpacked = Unpacked { inner: (compression.unpack)(Box::new(raw))?, bytes: 0, packed };
    Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)), true))
}

/// A compression of whole files.
pub struct Compression {
    /// Stands in a name after the extension of the format.
    pub extension: &'static str,
    begins: fn(&[u8]) -> bool,
    unpack: Unpack,
}

type Unpack = for<'a> fn(Box<dyn BufRead + 'a>) -> io::Result<Box<dyn Read + 'a>>;

pub const COMPRESSIONS: [Compression; 2] = [
    Compression { extension: ".gz", begins: is_gzip, unpack: gunzip },
    Compression { extension: ".zst", begins: is_zstd, unpack: unzstd },
];

/// The compression of a file with these first bytes.
pub fn compression_of(start: &[u8]) -> Option<&'static Compression> {
    COMPRESSIONS.iter().find(|compression| (compression.begins)(start))
}

/// A name, and the extension of a compression behind it, which may be empty.
pub fn split_compression(name: &str) -> (&str, &str) {
    let plain = COMPRESSIONS.iter().find_map(|it| name.strip_suffix(it.extension));
    name.split_at(plain.unwrap_or(name).len())
}

fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

#[expect(clippy::unnecessary_wraps, reason = "another compression can fail to begin")]
fn gunzip<'a>(packed: Box<dyn BufRead + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    Ok(Box::new(MultiGzDecoder::new(packed)))
}

fn unzstd<'a>(packed: Box<dyn BufRead + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    Ok(Box::new(zstd::stream::read::Decoder::with_buffer(packed)?))
}

/// Whether these are the first bytes of a frame, or of a skippable frame, as pzstd begins.
fn is_zstd(start: &[u8]) -> bool {
    let magic = start.first_chunk().map_or(0, |magic| u32::from_le_bytes(*magic));
    magic == zstd::zstd_safe::MAGICNUMBER
        || magic & zstd::zstd_safe::MAGIC_SKIPPABLE_MASK == zstd::zstd_safe::MAGIC_SKIPPABLE_START
}

/// Counts the bytes that are read through it.
struct Counting<R> {
    inner: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Fails where a small file unpacks to too much.
struct Unpacked<R> {
    inner: R,
    bytes: u64,
    packed: Rc<Cell<u64>>,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(explained)?;
        self.bytes += read as u64;
        if self.bytes > UNPACKED_FREE_BYTES.max(self.packed.get().saturating_mul(RATIO_MAX)) {
            let reason = format!(
                "it unpacks to more than {RATIO_MAX} times its size: if that is right, unpack it \
                 first"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(read)
    }
}

/// The decoder holds a whole window in memory, so longer windows are refused.
fn explained(error: io::Error) -> io::Error {
    if !error.to_string().contains("Frame requires too much memory") {
        return error;
    }
    let reason = "its zstd window is longer than 128 MiB: unpack it by `zstd -d --long=31`, or \
                  compress it with at most --long=27";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The first bytes, and a reader of all bytes.
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
        io::read_to_string(decompressed(bytes)?.0)
    }

    #[test]
    fn all_members_are_read() {
        assert_eq!(read(&[gzip("one "), gzip(""), gzip("two")].concat()).unwrap(), "one two");
        assert_eq!(read(&[zstd("one "), zstd(""), zstd("two")].concat()).unwrap(), "one two");
    }

    /// A frame of a raw block, with a window of these bits.
    fn zstd_frame(window_log: u8, text: &str) -> Vec<u8> {
        let block = (text.len() as u32) << 3 | 1;
        let head = [0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3];
        [&head[..], &block.to_le_bytes()[..3], text.as_bytes()].concat()
    }

    #[test]
    fn skippable_frames_are_skipped() {
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], b"size"].concat();
        let parts = [&skippable[..], &zstd("one "), &skippable, &zstd("two")];
        assert_eq!(read(&parts.concat()).unwrap(), "one two");
    }

    #[test]
    fn long_windows_are_refused_with_advice() {
        assert_eq!(read(&zstd_frame(27, "text")).unwrap(), "text");
        let error = read(&zstd_frame(28, "text")).unwrap_err().to_string();
        assert!(error.contains("longer than 128 MiB"), "{error}");
    }

    #[test]
    fn decompression_bombs_are_refused() {
        let mut packed = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        let blank = vec![b'\n'; 1 << 20];
        for _ in 0..=UNPACKED_FREE_BYTES / blank.len() as u64 {
            packed.write_all(&blank).unwrap();
        }
        let packed = packed.finish().unwrap();
        let mut reader = decompressed(&packed[..]).unwrap().0;
        let error = io::copy(&mut reader, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("1032 times its size"), "{error}");
    }

    #[test]
    fn trailing_garbage_and_truncation_are_errors() {
        for whole in [gzip("a text of some words"), zstd("a text of some words")] {
            assert!(read(&[&whole[..], b"garbage"].concat()).is_err());
            assert!(read(&whole[..whole.len() - 5]).is_err());
        }
    }
}
