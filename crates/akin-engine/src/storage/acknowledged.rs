//! The mark: the sequence up to which writes were made durable, in the file `acknowledged`.
//!
//! SQLite treats a missing or damaged write-ahead log as a log that ends there, so a start would
//! drop its rest without an error. The mark says where the log has to end. It is written after each
//! sync of the log and never synced itself: after a crash of the process it is exact, after a power
//! cut it may be some seconds old, and it is never ahead of the synced log.
//!
//! All numbers are little-endian.
//!
//! ```text
//! bytes
//!     8  "AKINMARK"
//!     8  when the store was created, ms since 1970: the mark of another store says nothing
//!     8  sequence
//!     8  xxh3 of the 24 bytes before
//! ```
//!
//! Example: sequence 17 of a store created at 1800000000000:
//!
//! ```text
//! 41 4b 49 4e 4d 41 52 4b  00 50 5c 18 a3 01 00 00
//! 11 00 00 00 00 00 00 00  11 7c ee ca b8 59 4c 46
//! ```

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::{StorageError, directory};

const NAME: &str = "acknowledged";
const MAGIC: &[u8; 8] = b"AKINMARK";
const BYTES: usize = 32;

/// The open mark of a store.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    path: PathBuf,
    created_at_ms: i64,
    /// Writing it has failed, which was logged then.
    failed: bool,
}

impl Mark {
    /// Opens the mark of a store that was created at `created_at_ms` and ends at `last_sequence`.
    ///
    /// # Errors
    /// [`StorageError::LostWrites`] if the store ends before its mark.
    pub fn open(dir: &Path, created_at_ms: i64, last_sequence: u64) -> Result<Self, StorageError> {
        check(dir, created_at_ms, last_sequence)?;
        let (path, is_new) = (dir.join(NAME), !exists(dir));
        let options = File::options().create(true).truncate(false).write(true).clone();
        let file = directory::open_regular(&path, &options).map_err(StorageError::io(&path))?;
        let mut mark = Self { file, path, created_at_ms, failed: false };
        mark.write(last_sequence);
        if is_new {
            directory::sync(dir)?;
        }
        Ok(mark)
    }

    /// Notes that writes up to the sequence are durable. A failure leaves an older mark, which is
    /// still true.
    pub fn write(&mut self, sequence: u64) {
        let written = self.file.write_all_at(&encode(self.created_at_ms, sequence), 0);
        if let (Err(error), false) = (&written, self.failed) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "could not write the acknowledged sequence");
        }
        self.failed = written.is_err();
    }
}

/// Checks that a store does not end before its mark. A missing or damaged mark says nothing.
///
/// # Errors
/// [`StorageError::LostWrites`].
pub(super) fn check(
    dir: &Path,
    created_at_ms: i64,
    last_sequence: u64,
) -> Result<(), StorageError> {
    let path = dir.join(NAME);
    if !exists(dir) {
        return Ok(());
    }
    let bytes = directory::read_small(&path, BYTES as u64);
    match decode(bytes.as_deref().unwrap_or_default()) {
        Some((of, acknowledged)) if of == created_at_ms && acknowledged > last_sequence => {
            Err(StorageError::LostWrites { path, store: last_sequence, acknowledged })
        }
        None if !bytes.is_ok_and(|bytes| bytes.is_empty()) => {
            tracing::warn!(path = %path.display(), "ignoring a damaged file; writing it again");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether a store was created in the directory.
pub(super) fn exists(dir: &Path) -> bool {
    dir.join(NAME).exists()
}

/// Checks, before a store is created, that there was none.
///
/// # Errors
/// [`StorageError::LostWrites`].
pub(super) fn check_new(dir: &Path) -> Result<(), StorageError> {
    let path = dir.join(NAME);
    let bytes = directory::read_small(&path, BYTES as u64).ok();
    match bytes.and_then(|bytes| decode(&bytes)) {
        Some((_, acknowledged)) if acknowledged > 0 => {
            Err(StorageError::LostWrites { path, store: 0, acknowledged })
        }
        _ => Ok(()),
    }
}

fn encode(created_at_ms: i64, sequence: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&created_at_ms.to_le_bytes());
    bytes[16..24].copy_from_slice(&sequence.to_le_bytes());
    let checksum = xxh3_64(&bytes[..24]);
    bytes[24..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The creation time of its store, and the sequence.
fn decode(bytes: &[u8]) -> Option<(i64, u64)> {
    let [_, created_at_ms, sequence, _] = bytes.as_chunks::<8>().0 else { return None };
    let (created_at_ms, sequence) =
        (i64::from_le_bytes(*created_at_ms), u64::from_le_bytes(*sequence));
    (bytes == encode(created_at_ms, sequence)).then_some((created_at_ms, sequence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_with_a_flipped_bit_is_ignored() {
        let sound = encode(1, 5);
        for bit in 0..BYTES * 8 {
            let mut bytes = sound;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&bytes), None, "{bit}");
        }
        assert_eq!(decode(&sound[..31]), None);
    }

    #[test]
    fn store_that_ends_before_its_mark_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        Mark::open(dir.path(), 1, 4).unwrap().write(7);
        for sequence in [7, 8] {
            check(dir.path(), 1, sequence).unwrap();
        }
        check(dir.path(), 2, 0).unwrap();
        let error = Mark::open(dir.path(), 1, 6).unwrap_err();
        assert!(
            matches!(error, StorageError::LostWrites { store: 6, acknowledged: 7, .. }),
            "{error}"
        );
    }
}
