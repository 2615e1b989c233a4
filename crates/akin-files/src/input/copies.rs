//! What was read of inputs that are read again, where that costs less than to read them again: the
//! unpacked bytes of compressed inputs, and the texts of pages. Formats that are read at any
//! position have a file each, all others are byte ranges of one file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The copies of one selection. Selections may share the file, and with it the room for copies, but
/// not the copies: they may read the same path in other ways.
#[derive(Debug)]
pub struct InputCopies {
    spool: Arc<Spool>,
    /// Whether unpacked bytes are kept; they may be many times as large as the inputs.
    pub keeps_unpacked: bool,
    /// By the paths of the inputs.
    kept: Mutex<HashMap<PathBuf, Kept>>,
    /// Unpacked inputs that are read at any position, by their paths.
    files: Mutex<HashMap<PathBuf, File>>,
}

/// The copies one after another, in an unnamed file.
#[derive(Debug)]
struct Spool {
    file: Arc<File>,
    /// The most bytes of all copies.
    bytes_max: u64,
    end: AtomicU64,
    /// Of the copies with a file each.
    bytes_of_files: AtomicU64,
}

#[derive(Clone, Debug)]
struct Kept {
    of: CopyOf,
    range: Range<u64>,
    /// The bytes that were read of the input.
    input_bytes: u64,
}

/// What is copied of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOf {
    Unpacked,
    /// The findings of a reader of pages.
    Pages,
}

/// A copy that is being written. One copy is written at a time. A copy that is dropped before its
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

/// Reads a part of a file, also while other readers read the file.
pub struct FromCopy {
    file: Arc<File>,
    bytes: Range<u64>,
}

/// Reads a copy, and counts the bytes of its input: after a part of the copy the same part of them.
pub struct CountedCopy<'c> {
    copy: FromCopy,
    copy_bytes: u64,
    input_bytes: u64,
    counted: u64,
    bytes_read: &'c AtomicU64,
}

impl InputCopies {
    pub fn new(file: File, bytes_max: u64, keeps_unpacked: bool) -> Self {
        let (end, bytes_of_files) = (AtomicU64::new(0), AtomicU64::new(0));
        let spool = Spool { file: Arc::new(file), bytes_max, end, bytes_of_files };
        Self::of_spool(Arc::new(spool), keeps_unpacked)
    }

    fn of_spool(spool: Arc<Spool>, keeps_unpacked: bool) -> Self {
        Self { spool, keeps_unpacked, kept: Mutex::default(), files: Mutex::default() }
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
        let kept = self.kept.lock().expect("nothing panics under the lock").get(path).cloned()?;
        let Kept { of, range, input_bytes } = kept;
        let copy_bytes = range.end - range.start;
        let copy = FromCopy { file: Arc::clone(&self.spool.file), bytes: range };
        Some((of, CountedCopy { copy, copy_bytes, input_bytes, counted: 0, bytes_read }))
    }

    /// The unpacked input at this path, if it was kept.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn file(&self, path: &Path) -> io::Result<Option<File>> {
        let files = self.files.lock().expect("nothing panics under the lock");
        files.get(path).map(File::try_clone).transpose()
    }

    /// Keeps the unpacked input at this path, if there is room.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn keep_file(&self, path: &Path, file: &File) -> io::Result<()> {
        let bytes = file.metadata()?.len();
        let all = self.spool.bytes_of_files.load(Ordering::Relaxed) + bytes;
        if self.keeps_unpacked
            && all + self.spool.end.load(Ordering::Relaxed) <= self.spool.bytes_max
        {
            self.spool.bytes_of_files.store(all, Ordering::Relaxed);
            let mut files = self.files.lock().expect("nothing panics under the lock");
            files.insert(path.to_owned(), file.try_clone()?);
        }
        Ok(())
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

impl InputCopy<'_> {
    /// # Errors
    /// The disk or the room for copies is full.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.range.end + bytes.len() as u64;
        let of_files = self.copies.spool.bytes_of_files.load(Ordering::Relaxed);
        if end + of_files > self.copies.spool.bytes_max {
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
        all.insert(self.path.to_owned(), kept);
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

impl Read for CountedCopy<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.copy.read(buffer)?;
        let left = self.copy.bytes.end - self.copy.bytes.start;
        let done = u128::from(self.copy_bytes - left) * u128::from(self.input_bytes);
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
