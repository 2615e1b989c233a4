//! The documents that earlier runs kept, in a directory, so that later runs are compared with them.
//!
//! `sketches`, `rows`, `ids`, `elements` and `words` are files as [`RowWriter`] writes them, which
//! only grow. `state.json` has the settings, and for each batch the lengths of the files at its end
//! and the checksums of what it added to them. A batch is in the state once its `state.json` was
//! renamed into place; bytes beyond the last length are of a run that did not end.
//!
//! `state.json` is written first, so a directory that has files and no `state.json` is not a state,
//! and none of its files is written. Neither are links and pipes in a state, behind which are the
//! files of others.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::Xxh3;

use super::documents::SortKey;
use super::rows::{Ends, NAMES, Row, RowFiles, RowWriter, row_files};
use super::{OfflineCorpus, WordsReader};
use akin_core::join::Sets;
use akin_core::scheme::Scheme;
use akin_model::analysis::Analyser;
use akin_model::settings::CollectionSettings;

/// The version of the files.
const FORMAT: u32 = 4;
/// The mode of a new file, before the umask.
const MODE: u32 = 0o666;
const DESCRIPTION: &str = "state.json";
const LOCK: &str = "lock";
/// The files of a state.
pub const STATE_FILES: [&str; 7] =
    [NAMES[0], NAMES[1], NAMES[2], NAMES[3], NAMES[4], DESCRIPTION, LOCK];
/// A batch takes some 130 bytes of it.
const DESCRIPTION_BYTES_MAX: u64 = 1 << 28;
const BUFFER_BYTES: usize = 1 << 20;

/// Why a state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("another process uses the state {0}")]
    InUse(PathBuf),
    #[error("{0} is not empty, and has no state (no state.json)")]
    NotAState(PathBuf),
    #[error("the state {path} is damaged: {reason}")]
    Damaged { path: PathBuf, reason: String },
    /// The name of a setting, its value in the state, and the value of this run.
    #[error("the state was made with {name} = {stored}, and this run has {given}")]
    OtherSettings { name: String, stored: Value, given: Value },
    #[error("the state {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// A state, locked against other processes.
pub struct OfflineState {
    directory: PathBuf,
    _lock: File,
    description: Description,
    sketch_bytes: usize,
}

#[derive(Serialize, Deserialize)]
struct Description {
    format: u32,
    settings: Value,
    batches: Vec<SavedBatch>,
}

/// The documents of a run, and the lengths of the files after it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedBatch {
    /// Equal for runs with the same documents in the same order.
    pub digest: String,
    #[serde(flatten)]
    pub ends: Ends,
    /// Of the bytes that the batch added to each file, in the order of the names.
    checksums: RowFiles<u64>,
}

/// The documents of a state, which come before the documents of a run.
#[derive(Default)]
pub(super) struct Saved {
    pub ends: Ends,
    pub files: Option<RowFiles<File>>,
    pub batches: Vec<SavedBatch>,
}

impl OfflineState {
    /// Opens a state, or begins a state in a directory that does not exist or is empty. `options`:
    /// the options of the command that decide, with the settings, the result of a run.
    ///
    /// # Errors
    /// [`StateError`]
    pub fn open(
        directory: &Path,
        settings: &CollectionSettings,
        options: Map<String, Value>,
    ) -> Result<Self, StateError> {
        let io_failed = |source| StateError::Io { path: directory.to_owned(), source };
        let path = directory.join(DESCRIPTION);
        // A run that was killed at its start leaves an empty lock.
        let is_other = |entry: io::Result<fs::DirEntry>| {
            !entry.is_ok_and(|entry| {
                let is_empty = || entry.metadata().is_ok_and(|it| it.is_file() && it.len() == 0);
                entry.file_name() == LOCK && is_empty()
            })
        };
        let is_new = || path.symlink_metadata().is_err();
        if is_new() && fs::read_dir(directory).is_ok_and(|mut all| all.any(is_other)) {
            return Err(StateError::NotAState(directory.to_owned()));
        }
        let lock = lock(directory).map_err(|error| match error {
            TryLockError::WouldBlock => StateError::InUse(directory.to_owned()),
            TryLockError::Error(error) => io_failed(error),
        })?;
        let identity = settings.identity(&Scheme::new(&settings.scheme, &settings.sketch));
        let mut all: Map<String, Value> =
            serde_json::from_str(&identity).expect("an identity is an object");
        all.extend(options);
        let new = Description { format: FORMAT, settings: all.into(), batches: Vec::new() };
        let description = match is_new() {
            true => new,
            false => Description::read(directory, new)?,
        };
        let sketch_bytes = Analyser::new(settings).sketch_bytes();
        let directory = directory.to_owned();
        let state = Self { directory, _lock: lock, description, sketch_bytes };
        match state.description.batches.is_empty() {
            true => state.write_description().map_err(|source| state.failed(source))?,
            false => state.check_files()?,
        }
        Ok(state)
    }

    fn check_files(&self) -> Result<(), StateError> {
        let damaged = |reason| StateError::Damaged { path: self.directory.clone(), reason };
        for (which, name) in NAMES.iter().enumerate() {
            let bytes_of = |ends: Ends| ends.bytes_of(name, self.sketch_bytes);
            let mut file = self.open_own(name).map_err(|source| self.failed(source))?;
            let len = file.metadata().map_err(|source| self.failed(source))?.len();
            let least = bytes_of(self.ends());
            if len < least {
                return Err(damaged(format!("{name} has {len} bytes, and had {least}")));
            }
            let mut begin = 0;
            for (number, batch) in (1..).zip(&self.description.batches) {
                let end = bytes_of(batch.ends);
                let bytes = end.saturating_sub(begin);
                let found = checksum(&mut file, bytes).map_err(|source| self.failed(source))?;
                if end < begin || found != batch.checksums[which] {
                    return Err(damaged(format!("batch {number} of {name} has changed")));
                }
                begin = end;
            }
        }
        Ok(())
    }

    /// Opens a file of the state to be read.
    fn open_own(&self, name: &str) -> io::Result<File> {
        open_own(&self.directory, name, File::options().read(true))
    }

    fn failed(&self, source: io::Error) -> StateError {
        StateError::Io { path: self.directory.clone(), source }
    }

    /// The number of documents.
    pub fn documents(&self) -> u32 {
        self.ends().documents
    }

    /// The number of the batch that a document is of, from 1.
    pub fn batch_of(&self, number: u32) -> usize {
        self.description.batches.partition_point(|batch| batch.ends.documents <= number) + 1
    }

    pub(super) fn saved(&self) -> io::Result<Saved> {
        let batches = self.description.batches.clone();
        Ok(Saved { ends: self.ends(), files: self.files()?, batches })
    }

    fn ends(&self) -> Ends {
        self.description.batches.last().map_or(Ends::default(), |batch| batch.ends)
    }

    /// The files, to be read; `None` if the state is empty.
    fn files(&self) -> io::Result<Option<RowFiles<File>>> {
        let open = || row_files(|name| self.open_own(name));
        (!self.description.batches.is_empty()).then(open).transpose()
    }

    /// Visits the documents in their order: place, fingerprint and number.
    pub(super) fn visit(
        &self,
        mut visit: impl FnMut(SortKey<'_>, u64, u32) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some([_, rows, ids, ..]) = self.files()? else { return Ok(()) };
        let [mut rows, mut ids] =
            [rows, ids].map(|file| BufReader::with_capacity(BUFFER_BYTES, file));
        let mut id = Vec::new();
        for number in 0..self.documents() {
            let row = Row::read(&mut rows)?;
            id.resize(row.id_len.into(), 0);
            ids.read_exact(&mut id)?;
            let id = str::from_utf8(&id).map_err(io::Error::other)?;
            let place = SortKey { is_new: false, source: 0, rank: number.into(), id };
            visit(place, row.fingerprint, number)?;
        }
        Ok(())
    }

    /// Adds the new documents that are kept as a batch, and returns its number. A batch that is in
    /// the state already is not added again.
    ///
    /// # Errors
    /// The disk is full; the state is then as it was.
    pub fn add(
        &mut self,
        corpus: &mut OfflineCorpus,
        is_kept: impl Fn(u32) -> bool,
    ) -> io::Result<usize> {
        if let Some(batch) = corpus.repeats {
            return Ok(batch);
        }
        let files = row_files(|name| self.open_end(name))?;
        let mut writer = RowWriter::new(files, self.ends(), self.sketch_bytes);
        let OfflineCorpus { documents, ids, sets, words, first_new, .. } = corpus;
        let mut words = match words {
            Some(words) => Some(WordsReader::new(words.further()?)),
            None => None,
        };
        for number in *first_new..documents.numbers() {
            let words = words.as_mut().map(WordsReader::next_text).transpose()?;
            let Some(set) = documents.set_of(number).filter(|_| is_kept(number)) else { continue };
            let elements = sets.set(set)?;
            let sketched = (sets.sketch(set)?, &elements, elements.fingerprint());
            writer.push(&ids.id(number)?, Some(sketched))?;
            words.map(|words| writer.push_words(words).map(drop)).transpose()?;
        }
        let (ends, files) = writer.into_files()?;
        files.iter().try_for_each(File::sync_data)?;
        let mut checksums = [0; NAMES.len()];
        for (checksum_of, name) in checksums.iter_mut().zip(NAMES) {
            let [begin, end] = [self.ends(), ends].map(|it| it.bytes_of(name, self.sketch_bytes));
            let mut file = self.open_own(name)?;
            file.seek(SeekFrom::Start(begin))?;
            *checksum_of = checksum(&mut file, end - begin)?;
        }
        let digest = corpus.digest.clone();
        self.description.batches.push(SavedBatch { digest, ends, checksums });
        if let Err(error) = self.write_description() {
            self.description.batches.pop();
            return Err(error);
        }
        Ok(self.description.batches.len())
    }

    /// A file without the bytes of runs that did not end, positioned at its end.
    fn open_end(&self, name: &str) -> io::Result<File> {
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        let mut file = open_own(&self.directory, name, &mut options)?;
        file.set_len(self.ends().bytes_of(name, self.sketch_bytes))?;
        file.seek(SeekFrom::End(0))?;
        Ok(file)
    }

    fn write_description(&self) -> io::Result<()> {
        let mut partial = tempfile::Builder::new();
        let partial =
            partial.permissions(Permissions::from_mode(MODE)).tempfile_in(&self.directory);
        let mut file = BufWriter::new(partial?);
        serde_json::to_writer(&mut file, &self.description)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(self.directory.join(DESCRIPTION))?;
        File::open(&self.directory)?.sync_all()
    }
}

/// Makes the directory of a state and keeps other processes out of it while the file is open.
fn lock(directory: &Path) -> Result<File, TryLockError> {
    let made = fs::create_dir_all(directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
        _ => error,
    });
    made.map_err(TryLockError::Error)?;
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    let file = open_own(directory, LOCK, &mut options).map_err(TryLockError::Error)?;
    file.try_lock()?;
    Ok(file)
}

/// Opens a file that is only in the state: no link, no pipe.
fn open_own(directory: &Path, name: &str, options: &mut OpenOptions) -> io::Result<File> {
    let path = directory.join(name);
    let is_own = |found: &fs::Metadata| found.is_file() && found.nlink() == 1;
    if path.symlink_metadata().is_ok_and(|found| !is_own(&found)) {
        return Err(io::Error::other(format!("{name} is a link or a pipe, not a file of its own")));
    }
    options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)
}

/// Of the next bytes of a file.
fn checksum(file: &mut File, bytes: u64) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file.take(bytes));
    let mut checksum = Xxh3::new();
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(checksum.digest());
        }
        checksum.update(buffer);
        let read = buffer.len();
        reader.consume(read);
    }
}

impl Description {
    /// `new`: the description of a state without batches, which has the settings of this run.
    fn read(directory: &Path, new: Self) -> Result<Self, StateError> {
        let path = &directory.join(DESCRIPTION);
        let damaged = |reason: String| StateError::Damaged { path: path.to_owned(), reason };
        let mut bytes = Vec::new();
        open_own(directory, DESCRIPTION, File::options().read(true))
            .and_then(|file| file.take(DESCRIPTION_BYTES_MAX + 1).read_to_end(&mut bytes))
            .map_err(|source| StateError::Io { path: path.to_owned(), source })?;
        if bytes.len() as u64 > DESCRIPTION_BYTES_MAX {
            return Err(damaged(format!("it has more than {DESCRIPTION_BYTES_MAX} bytes")));
        }
        let read: Self =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if read.format != FORMAT {
            return Err(damaged(format!("its format is {}, not {FORMAT}", read.format)));
        }
        let ascending = read.batches.is_sorted_by_key(|batch| batch.ends.documents);
        match first_difference("", &read.settings, &new.settings) {
            _ if read.batches.is_empty() => Ok(new),
            _ if !ascending => Err(damaged("its batches are not in their order".to_owned())),
            Some((name, stored, given)) => Err(StateError::OtherSettings { name, stored, given }),
            None => Ok(read),
        }
    }
}

/// The name of the first setting with another value, and both values.
fn first_difference(name: &str, stored: &Value, given: &Value) -> Option<(String, Value, Value)> {
    let (Value::Object(of_stored), Value::Object(of_given)) = (stored, given) else {
        return (stored != given).then(|| (name.to_owned(), stored.clone(), given.clone()));
    };
    let dot = if name.is_empty() { "" } else { "." };
    of_stored.keys().chain(of_given.keys()).find_map(|key| {
        let value = |of: &Map<String, Value>| of.get(key).cloned().unwrap_or_default();
        first_difference(&format!("{name}{dot}{key}"), &value(of_stored), &value(of_given))
    })
}
