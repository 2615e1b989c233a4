//! What was read of inputs that are read again, where that costs less than to read them again: the
//! unpacked bytes of compressed inputs, and the texts of pages.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The copies, in order in an unnamed file.
#[derive(Debug)]
pub struct InputCopies {
    file: Arc<File>,
    /// The most bytes of all copies.
    bytes_max: u64,
    /// Whether unpacked bytes are kept; they may be many times as large as the inputs.
    pub keeps_unpacked: bool,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    /// The bytes of the file, by the paths of the inputs.
    ranges: HashMap<PathBuf, (CopyOf, Range<u64>)>,
    end: u64,
}

/// What is copied of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOf {
    Unpacked,
    /// The findings of a reader of pages.
    Pages,
}

/// A copy that is being written. One copy is written at a time.
pub struct InputCopy<'c> {
    copies: &'c InputCopies,
    of: CopyOf,
    path: &'c Path,
    bytes: Range<u64>,
}

/// Copies the bytes that are read through it. A copy that cannot be written is given up.
pub struct Copied<'c, R> {
    inner: R,
    copy: Option<InputCopy<'c>>,
}

/// Reads a part of a file, also while other readers read the file.
pub struct FromCopy {
    file: Arc<File>,
    bytes: Range<u64>,
}

impl InputCopies {
    pub fn new(file: File, bytes_max: u64, keeps_unpacked: bool) -> Self {
        Self { file: Arc::new(file), bytes_max, keeps_unpacked, written: Mutex::default() }
    }

    /// The copy of an input that was read to its end.
    pub fn of(&self, path: &Path) -> Option<(CopyOf, FromCopy)> {
        let written = self.written.lock().expect("nothing panics under the lock");
        let (of, bytes) = written.ranges.get(path).cloned()?;
        Some((of, FromCopy { file: Arc::clone(&self.file), bytes }))
    }

    pub fn begin<'c>(&'c self, of: CopyOf, path: &'c Path) -> InputCopy<'c> {
        let end = self.written.lock().expect("nothing panics under the lock").end;
        InputCopy { copies: self, of, path, bytes: end..end }
    }
}

impl InputCopy<'_> {
    /// # Errors
    /// The disk or the room for copies is full.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.bytes.end + bytes.len() as u64;
        if end > self.copies.bytes_max {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.copies.file.write_all_at(bytes, self.bytes.end)?;
        self.bytes.end = end;
        Ok(())
    }

    /// The input was read to its end.
    pub fn end(self) {
        let mut written = self.copies.written.lock().expect("nothing panics under the lock");
        written.end = self.bytes.end;
        written.ranges.insert(self.path.to_owned(), (self.of, self.bytes));
    }
}

impl<'c, R> Copied<'c, R> {
    pub fn new(inner: R, copy: InputCopy<'c>) -> Self {
        Self { inner, copy: Some(copy) }
    }
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let Some(mut copy) = self.copy.take() else { return Ok(read) };
        if read == 0 {
            copy.end();
        } else if copy.write(&buffer[..read]).is_ok() {
            self.copy = Some(copy);
        }
        Ok(read)
    }
}

impl FromCopy {
    /// All of a file.
    pub fn whole(file: &Arc<File>) -> Self {
        Self { file: Arc::clone(file), bytes: 0..u64::MAX }
    }
}

impl Read for FromCopy {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = (self.bytes.end - self.bytes.start).min(buffer.len() as u64) as usize;
        let read = self.file.read_at(&mut buffer[..most], self.bytes.start)?;
        self.bytes.start += read as u64;
        Ok(read)
    }
}
