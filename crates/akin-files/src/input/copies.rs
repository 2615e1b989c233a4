//! Copies of inputs that are read twice, where a copy costs less than the second reading: the
//! unpacked bytes of compressed inputs, and the texts of pages. All copies are parts of one file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::file_part::FilePart;

/// The copies of a selection. Selections may share the file, and with it the room for copies, but
/// not the copies: they may read the same path in other ways.
#[derive(Debug)]
pub struct InputCopies {
    spool: Arc<Spool>,
    /// Whether unpacked bytes are kept; they may be many times as large as the inputs.
    pub keeps_unpacked: bool,
    /// By the paths of the inputs.
    kept: Mutex<HashMap<PathBuf, Kept>>,
}

/// The copies one after another, in an unnamed file.
#[derive(Debug)]
struct Spool {
    file: Arc<File>,
    /// The most bytes of all copies.
    bytes_max: u64,
    end: AtomicU64,
}

#[derive(Clone, Debug)]
struct Kept {
    of: CopyOf,
    range: Range<u64>,
    /// The bytes that were read of the input.
    input_bytes: u64,
}

/// The copied part of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOf {
    Unpacked,
    /// The findings of a reader of pages.
    Pages,
}

/// A copy that is being written. Copies are written in turn. A copy that is dropped before its
/// end is cut off the file.
pub struct InputCopy<'c> {
    copies: &'c InputCopies,
    of: CopyOf,
    path: &'c Path,
    range: Range<u64>,
    bytes_read: &'c AtomicU64,
    read_before: u64,
    is_whole: bool,
}

/// Copies the bytes that are read through it. A copy that cannot be written is given up.
pub struct Copied<'c, R> {
    inner: R,
    copy: Option<InputCopy<'c>>,
}

/// Reads a copy, and counts the bytes of its input: after a part of the copy the same part of them.
pub struct CountedCopy<'c> {
    copy: FilePart,
    copy_bytes: u64,
    input_bytes: u64,
    counted: u64,
    bytes_read: &'c AtomicU64,
}

impl InputCopies {
    pub fn new(file: File, bytes_max: u64, keeps_unpacked: bool) -> Self {
        let spool = Spool { file: Arc::new(file), bytes_max, end: AtomicU64::new(0) };
        Self::of_spool(Arc::new(spool), keeps_unpacked)
    }

    fn of_spool(spool: Arc<Spool>, keeps_unpacked: bool) -> Self {
        Self { spool, keeps_unpacked, kept: Mutex::default() }
    }

    /// Copies for another selection, in the same file.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self::of_spool(Arc::clone(&self.spool), self.keeps_unpacked)
    }

    /// The copy of an input that was read to its end.
    pub fn of<'c>(
        &self,
        path: &Path,
        bytes_read: &'c AtomicU64,
    ) -> Option<(CopyOf, CountedCopy<'c>)> {
        let Kept { of, range, input_bytes } = self.kept(path)?;
        let copy = FilePart::new(&self.spool.file, range);
        let copy_bytes = copy.left();
        Some((of, CountedCopy { copy, copy_bytes, input_bytes, counted: 0, bytes_read }))
    }

    /// The unpacked bytes of an input that was read to its end, to be read at any position.
    #[cfg(feature = "parquet")]
    pub fn unpacked(&self, path: &Path) -> Option<FilePart> {
        let kept = self.kept(path).filter(|kept| kept.of == CopyOf::Unpacked)?;
        Some(FilePart::new(&self.spool.file, kept.range))
    }

    fn kept(&self, path: &Path) -> Option<Kept> {
        self.kept.lock().expect("nothing panics under the lock").get(named(path)).cloned()
    }

    /// `bytes_read` counts the bytes of the inputs; nothing of this input has been read before
    /// `read_before`.
    pub fn begin<'c>(
        &'c self,
        of: CopyOf,
        path: &'c Path,
        (bytes_read, read_before): (&'c AtomicU64, u64),
    ) -> InputCopy<'c> {
        let end = self.spool.end.load(Ordering::Relaxed);
        let range = end..end;
        InputCopy { copies: self, of, path, range, bytes_read, read_before, is_whole: false }
    }
}

/// The path of an input without `./`, as in its name: outputs know only the name.
fn named(path: &Path) -> &Path {
    path.strip_prefix("./").unwrap_or(path)
}

impl InputCopy<'_> {
    /// # Errors
    /// The disk or the room for copies is full.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.range.end + bytes.len() as u64;
        if end > self.copies.spool.bytes_max {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.copies.spool.file.write_all_at(bytes, self.range.end)?;
        self.range.end = end;
        Ok(())
    }

    /// The input was read to its end.
    pub fn end(mut self) {
        self.is_whole = true;
        self.copies.spool.end.store(self.range.end, Ordering::Relaxed);
        let input_bytes = self.bytes_read.load(Ordering::Relaxed) - self.read_before;
        let kept = Kept { of: self.of, range: self.range.clone(), input_bytes };
        let mut all = self.copies.kept.lock().expect("nothing panics under the lock");
        all.insert(named(self.path).to_owned(), kept);
    }
}

impl Drop for InputCopy<'_> {
    fn drop(&mut self) {
        if !self.is_whole {
            // If the file cannot be cut, the next copy overwrites the rest.
            self.copies.spool.file.set_len(self.range.start).ok();
        }
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

impl Read for CountedCopy<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.copy.read(buffer)?;
        let done = u128::from(self.copy_bytes - self.copy.left()) * u128::from(self.input_bytes);
        // An empty copy is the copy of an input without pages.
        let counted =
            done.checked_div(self.copy_bytes.into()).map_or(self.input_bytes, |n| n as u64);
        self.bytes_read.fetch_add(counted - self.counted, Ordering::Relaxed);
        self.counted = counted;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_share_the_room_and_a_copy_that_is_given_up_is_cut_off() {
        let file = tempfile::tempfile().unwrap();
        let bytes = || file.metadata().unwrap().len();
        let new = InputCopies::new(file.try_clone().unwrap(), 10, true);
        let (old, path, read) = (new.beside(), Path::new("a"), AtomicU64::new(0));
        let begin = |copies| InputCopies::begin(copies, CopyOf::Unpacked, path, (&read, 0));
        let mut copy = begin(&new);
        copy.write(b"abcdef").unwrap();
        copy.end();
        let mut copy = begin(&old);
        copy.write(b"1234").unwrap();
        assert!(copy.write(b"5").is_err(), "both have 10 bytes");
        assert_eq!(bytes(), 10);
        drop(copy);
        assert_eq!(bytes(), 6);
        assert!(old.of(path, &read).is_none(), "the other selection read this path");
        let kept = new.of(path, &read).unwrap().1;
        assert_eq!(io::read_to_string(kept).unwrap(), "abcdef");
        let long = [&b"x"[..]; 5].concat();
        let mut copied = Copied::new(&long[..], begin(&old));
        assert_eq!(io::copy(&mut copied, &mut io::sink()).unwrap(), 5);
        assert_eq!(bytes(), 6, "too long a copy is given up");
    }
}
