//! Unpacked copies of compressed inputs that are read twice: unpacking costs more than reading.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The copies, in order in an unnamed file.
#[derive(Debug)]
pub struct UnpackedCopies {
    pub file: Arc<File>,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    /// The bytes of the file, by the paths of the inputs.
    ranges: HashMap<PathBuf, Range<u64>>,
    end: u64,
}

/// A copy that is being written. One copy is written at a time.
pub struct UnpackedCopy<'c> {
    copies: &'c UnpackedCopies,
    path: &'c Path,
    bytes: Range<u64>,
}

/// Copies the bytes that are read through it. A copy that cannot be written is given up.
pub struct Copied<'c, R> {
    inner: R,
    copy: Option<UnpackedCopy<'c>>,
}

impl UnpackedCopies {
    pub fn new(file: File) -> Self {
        Self { file: Arc::new(file), written: Mutex::default() }
    }

    /// The bytes of an input that was read to its end.
    pub fn range(&self, path: &Path) -> Option<Range<u64>> {
        self.written.lock().expect("nothing panics under the lock").ranges.get(path).cloned()
    }

    pub fn begin<'c>(&'c self, path: &'c Path) -> UnpackedCopy<'c> {
        let end = self.written.lock().expect("nothing panics under the lock").end;
        UnpackedCopy { copies: self, path, bytes: end..end }
    }
}

impl UnpackedCopy<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.copies.file.write_all_at(bytes, self.bytes.end)?;
        self.bytes.end += bytes.len() as u64;
        Ok(())
    }

    fn end(self) {
        let mut written = self.copies.written.lock().expect("nothing panics under the lock");
        written.end = self.bytes.end;
        written.ranges.insert(self.path.to_owned(), self.bytes);
    }
}

impl<'c, R> Copied<'c, R> {
    pub fn new(inner: R, copy: Option<UnpackedCopy<'c>>) -> Self {
        Self { inner, copy }
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
