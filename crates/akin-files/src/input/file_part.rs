//! A part of a file, which several readers can read at the same time: each reader has a position of
//! its own, and none moves the position of the open file.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The bytes of a file in a range.
#[derive(Clone, Debug)]
pub struct FilePart {
    file: Arc<File>,
    bytes: Range<u64>,
}

impl FilePart {
    pub fn new(file: &Arc<File>, bytes: Range<u64>) -> Self {
        Self { file: Arc::clone(file), bytes }
    }

    /// All of a file.
    ///
    /// # Errors
    /// The size of the file is unknown.
    pub fn whole(file: &Arc<File>) -> io::Result<Self> {
        Ok(Self::new(file, 0..file.metadata()?.len()))
    }

    /// The number of bytes that are not read yet.
    pub fn left(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }

    /// The bytes from this position on.
    #[cfg(feature = "parquet")]
    #[must_use]
    pub fn from(&self, position: u64) -> Self {
        let start = self.bytes.start.saturating_add(position).min(self.bytes.end);
        Self::new(&self.file, start..self.bytes.end)
    }
}

impl Read for FilePart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.left().min(buffer.len() as u64) as usize;
        let read = self.file.read_at(&mut buffer[..most], self.bytes.start)?;
        self.bytes.start += read as u64;
        Ok(read)
    }
}

#[cfg(feature = "parquet")]
mod chunks {
    use std::io::{BufReader, Read};

    use bytes::Bytes;
    use parquet::errors::{ParquetError, Result};
    use parquet::file::reader::{ChunkReader, Length};

    use super::FilePart;

    impl Length for FilePart {
        fn len(&self) -> u64 {
            self.left()
        }
    }

    impl ChunkReader for FilePart {
        type T = BufReader<FilePart>;

        fn get_read(&self, start: u64) -> Result<Self::T> {
            Ok(BufReader::new(self.from(start)))
        }

        fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
            let mut from = self.from(start);
            // A damaged file may have any length in it.
            if from.left() < length as u64 {
                return Err(ParquetError::EOF("the file ends within a page".into()));
            }
            let mut bytes = vec![0; length];
            from.read_exact(&mut bytes)?;
            Ok(bytes.into())
        }
    }
}
