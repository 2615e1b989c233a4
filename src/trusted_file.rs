//! Small files that security depends on: keys, certificates, secrets.
//!
//! Reading never waits for another process, as opening a FIFO would, and never takes more
//! memory than its limit. A file that every user of the machine may write is refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

const WRITABLE_BY_ALL: u32 = 0o002;
/// In a sticky directory only the owner of a file may replace it.
const STICKY: u32 = 0o1000;

/// The reasons to refuse a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not a regular file")]
    NotRegular,
    #[error("it has more than {max} bytes")]
    TooLarge { max: u64 },
    #[error(
        "every user of this machine may write it (mode {mode:03o}) and could create keys or read \
         traffic: revoke the permission by `chmod o-w`"
    )]
    WritableByAll { mode: u32 },
}

impl FileError {
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// Distinguishes contents of a path: replacing the file, writing to it and changing its mode each
/// give a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The content of a file.
#[derive(Debug)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    /// The version of the file when reading began.
    pub version: FileVersion,
}

/// Reads a file of at most `bytes_max` bytes. Blocks for the disk alone.
///
/// # Errors
/// [`FileError`]
pub fn read(path: &Path, bytes_max: u64) -> Result<FileContent, FileError> {
    let waits_for_nobody = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(waits_for_nobody.bits()).expect("flags of open(2) are an int");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileError::NotRegular);
    }
    if metadata.mode() & WRITABLE_BY_ALL != 0 {
        return Err(FileError::WritableByAll { mode: metadata.mode() & 0o777 });
    }
    let version = FileVersion::of(&metadata);
    Ok(FileContent { bytes: bounded(file, bytes_max)?, version })
}

/// Reads everything from a reader, at most `bytes_max` bytes.
///
/// # Errors
/// `Io`, `TooLarge`
pub fn bounded(reader: impl Read, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    reader.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(FileError::TooLarge { max: bytes_max });
    }
    Ok(bytes)
}

/// The version of the file at a path; `None` if there is none.
///
/// # Errors
/// The path cannot be looked up.
pub fn version(path: &Path) -> io::Result<Option<FileVersion>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(FileVersion::of(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The directory in which every user of the machine may replace the file, if there is one. Volumes
/// of containers are often writable by all, so it is no reason to refuse the file.
pub fn replaceable_in(path: &Path) -> Option<PathBuf> {
    let target = path.canonicalize().ok()?;
    let directories = [path.parent(), target.parent()].into_iter().flatten();
    let is_open = |directory: &&Path| {
        File::open(directory).and_then(|file| file.metadata()).is_ok_and(|metadata| {
            metadata.mode() & WRITABLE_BY_ALL != 0 && metadata.mode() & STICKY == 0
        })
    };
    directories.filter(|directory| !directory.as_os_str().is_empty()).find(is_open).map(Into::into)
}

impl FileVersion {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::{CWD, Mode};

    use super::*;

    #[test]
    fn only_a_bounded_regular_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let [file, fifo] = ["file", "fifo"].map(|name| dir.path().join(name));
        assert!(read(&file, 4).unwrap_err().is_not_found());
        fs::write(&file, "four").unwrap();
        assert_eq!(read(&file, 4).unwrap().bytes, b"four");
        assert!(matches!(read(&file, 3), Err(FileError::TooLarge { max: 3 })));
        assert!(matches!(read(dir.path(), 4), Err(FileError::NotRegular)));
        // Nobody writes to it, so a reader that waits would wait for ever.
        rustix::fs::mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
        assert!(matches!(read(&fifo, 4), Err(FileError::NotRegular)));
    }

    #[test]
    fn world_writable_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&file, 0o666);
        assert!(matches!(read(&file, 4), Err(FileError::WritableByAll { mode: 0o666 })));
        set(&file, 0o660);
        assert!(read(&file, 4).is_ok());
        assert_eq!(replaceable_in(&file), None);
        set(dir.path(), 0o777);
        assert_eq!(replaceable_in(&file).as_deref(), Some(dir.path()));
        set(dir.path(), 0o1777);
        assert_eq!(replaceable_in(&file), None, "the directory is sticky");
    }

    #[test]
    fn every_change_gives_another_version() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        assert_eq!(version(&file).unwrap(), None);
        fs::write(&file, "a").unwrap();
        let first = read(&file, 4).unwrap().version;
        assert_eq!(version(&file).unwrap(), Some(first));
        fs::write(&file, "ab").unwrap();
        assert_ne!(version(&file).unwrap(), Some(first));
    }
}
