//! The memory and the disk that the work with a corpus may use.

use std::fs::File;
use std::io;
use std::path::PathBuf;

/// Memory, and a directory for unnamed files. The space of unnamed files is freed even after a
/// crash.
#[derive(Clone, Debug)]
pub struct Room {
    pub directory: PathBuf,
    /// Bytes. Data beyond this size is in files, except some 36 bytes for each document,
    /// and 80 more to find documents that lie in others.
    pub memory: usize,
}

const MEMORY_USUAL: usize = 1 << 30;

impl Default for Room {
    fn default() -> Self {
        Self { directory: std::env::temp_dir(), memory: MEMORY_USUAL }
    }
}

impl Room {
    /// A new, empty file.
    ///
    /// # Errors
    /// The directory does not exist or cannot be written to.
    pub fn file(&self) -> io::Result<File> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.directory.display()))
        };
        tempfile::tempfile_in(&self.directory).map_err(named)
    }

    /// Bytes of the disk that are free for this process.
    ///
    /// # Errors
    /// The directory does not exist.
    pub fn disk_free(&self) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(&self.directory)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Bytes for each of the buffers that are in memory at the same time.
    pub fn share(&self) -> usize {
        self.memory / 8
    }
}
