//! Where commands write: stdout, or a file that appears only once it is complete.

mod inputs;
#[cfg(test)]
mod tests;

pub use inputs::Inputs;

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, BufWriter, IsTerminal, Read, Write, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{Access, access};
use serde::Serialize;
use tempfile::TempPath;

use super::failure::Failure;
use super::input::{of_name, split_compression};
use super::interrupt;

const BUFFER_BYTES: usize = 256 << 10;
/// Hidden files are no inputs.
const TEMPORARY_PREFIX: &str = ".akin-";
/// The mode of a new file, before the umask.
const MODE: u32 = 0o666;
/// The bits of a replaced file's mode that the new file gets.
const MODE_KEPT: u32 = 0o777;

/// Where a command writes.
#[derive(Args, Clone)]
pub struct Destination {
    /// The file to write, compressed if its name ends in .gz or .zst; - is stdout
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Overwrite files that exist
    #[arg(long)]
    pub force: bool,
}

impl Destination {
    /// Fails before any work is done where the output could not be written, or would destroy
    /// something.
    ///
    /// # Errors
    /// The file exists and `--force` is not given, or it is a directory; it is an input, or lies in
    /// an input.
    pub fn check(&self, inputs: &Inputs) -> Result<(), Failure> {
        self.check_beside(None, inputs)
    }

    /// Like [`Self::check`], for a command that writes a second file.
    ///
    /// # Errors
    /// As [`Self::check`], for either of the files; or both are the same file.
    pub fn check_beside(&self, other: Option<&Path>, inputs: &Inputs) -> Result<(), Failure> {
        let outputs = || [Some(self.output.as_path()), other].into_iter().flatten();
        for output in outputs().filter(|output| !is_stdout(output)) {
            refuse_overwriting(output, self.force)?;
            if !parent(output).is_dir() {
                let parent = parent(output).display();
                let what =
                    format!("cannot write {}: there is no directory {parent}", output.display());
                return Err(Failure::with_hint(what, "make the directory first"));
            }
            if !is_special(output) {
                check_compression(&replaced_by(output))?;
                let is_writable = access(directory(output), Access::WRITE_OK);
                is_writable.map_err(|error| failed(output, &error.into()))?;
            }
        }
        inputs.protect(outputs())
    }

    pub fn is_stdout(&self) -> bool {
        is_stdout(&self.output)
    }

    /// The file to write, unless the output is stdout or a device.
    pub fn file(&self) -> Option<&Path> {
        let is_file = !is_stdout(&self.output) && !is_special(&self.output);
        is_file.then_some(self.output.as_path())
    }

    /// Whether the file is named .parquet.
    pub fn is_parquet(&self) -> bool {
        replaced_by(&self.output).extension().is_some_and(|extension| extension == "parquet")
    }

    /// Whether the file is named .csv, and perhaps compressed.
    pub fn is_csv(&self) -> bool {
        let file = replaced_by(&self.output);
        let name = file.to_string_lossy();
        let (plain, _) = split_compression(&name);
        Path::new(plain).extension().is_some_and(|extension| extension == "csv")
    }

    /// `is_table`: rows are written as CSV, too.
    ///
    /// # Errors
    /// The name of the file says a format other than that of the written documents.
    pub fn check_format(&self, is_table: bool) -> Result<(), Failure> {
        let file = self.file().map(replaced_by).unwrap_or_default();
        match of_name(&file.to_string_lossy()).map(|format| format.name) {
            None | Some("jsonl" | "json" | "text") => Ok(()),
            Some(_) if self.is_parquet() || is_table && self.is_csv() => Ok(()),
            Some(format) => Err(Failure::with_hint(
                format!("{} would have lines of JSON, and its name says {format}", file.display()),
                "name it .jsonl, or .parquet where all inputs are Parquet",
            )),
        }
    }

    /// # Errors
    /// The bytes would go to a terminal.
    pub fn check_binary(&self) -> Result<(), Failure> {
        if is_stdout(&self.output) && stdout().is_terminal() {
            return Err(Failure::new("the output is not text: name a file by --output"));
        }
        Ok(())
    }

    /// `json`: whether stdout is for a summary in JSON.
    ///
    /// # Errors
    /// The output would also go to stdout.
    pub fn check_summary(&self, json: bool) -> Result<(), Failure> {
        if json && is_stdout(&self.output) {
            let what = "--json writes the summary to stdout: name a file by --output";
            return Err(Failure::new(what));
        }
        Ok(())
    }

    /// # Errors
    /// The file cannot be created.
    pub fn create(&self) -> Result<Output, Failure> {
        Output::create(&self.output, self.force)
    }
}

/// # Errors
/// The file exists, and `force` is not given; or it is a directory.
pub fn refuse_overwriting(path: &Path, force: bool) -> Result<(), Failure> {
    if path.is_dir() && !is_stdout(path) {
        return Err(Failure::with_hint(
            format!("{} is a directory", path.display()),
            "name a file in it",
        ));
    }
    // A link to nothing is there, too.
    if force || is_stdout(path) || is_special(path) || path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Failure::with_hint(
        format!("{} exists already", path.display()),
        "name another file, or overwrite it by --force",
    ))
}

/// # Errors
/// The name says a compression that akin does not write.
fn check_compression(path: &Path) -> Result<(), Failure> {
    match path.extension().and_then(OsStr::to_str) {
        Some(other @ ("bz2" | "xz" | "lz4" | "br" | "zip" | "7z")) => Err(Failure::with_hint(
            format!("{} would not be compressed, and its name says {other}", path.display()),
            "name it .gz or .zst, or pipe stdout into another program",
        )),
        _ => Ok(()),
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A device or a pipe.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The file that is replaced by an output: of a symbolic link the file that it points to, whose
/// name says the format and the compression.
fn replaced_by(output: &Path) -> PathBuf {
    output.canonicalize().unwrap_or_else(|_| output.to_owned())
}

/// The directory in which the file of an output is written.
#[must_use]
pub fn directory(output: &Path) -> PathBuf {
    parent(&replaced_by(output)).to_owned()
}

/// Stdout, or a file, compressed according to its extension. A file is written under a hidden
/// temporary name in the same directory and renamed by `finish`; dropped before, it leaves nothing,
/// and killed before, a file that no command reads as a part of the directory.
pub struct Output {
    encoder: Encoder,
    /// `None` for stdout, and for a device or a pipe, which cannot be replaced by a file.
    target: Option<Target>,
}

struct Target {
    temporary: TempPath,
    path: PathBuf,
    overwrite: bool,
}

enum Encoder {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

/// Writes a value as a line of JSON, as `--json` does in every command.
///
/// # Errors
/// It cannot be written.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

/// Writes a value to stdout as a line of JSON.
///
/// # Errors
/// It cannot be written.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    write_json(&mut stdout().lock(), value)
}

/// Writes a server's answer to stdout as it is, and ends its line.
///
/// # Errors
/// It cannot be written.
pub fn print_answer(answer: &[u8]) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(answer)?;
    if !answer.ends_with(b"\n") {
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Copies all of a server's `what`, and calls `written` with each piece.
///
/// # Errors
/// The answer broke off, or it cannot be written.
pub fn copy(
    from: &mut impl Read,
    to: &mut Output,
    what: &str,
    mut written: impl FnMut(&[u8]),
) -> Result<(), Failure> {
    let mut piece = vec![0; BUFFER_BYTES];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let what = format!("the {what} broke off: {error}");
                return Err(Failure::with_hint(what, "the server's log may say why"));
            }
        };
        to.write_all(&piece[..read])?;
        written(&piece[..read]);
    }
}

impl Output {
    /// # Errors
    /// The file cannot be created, or exists and must not be overwritten.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        refuse_overwriting(path, overwrite)?;
        Self::open(path, overwrite).map_err(|error| failed(path, &error))
    }

    fn open(path: &Path, overwrite: bool) -> io::Result<Self> {
        if is_stdout(path) {
            let stdout = File::from(stdout().as_fd().try_clone_to_owned()?);
            return Ok(Self { encoder: Encoder::Plain(buffered(stdout)), target: None });
        }
        if is_special(path) {
            let special = File::options().write(true).open(path)?;
            return Ok(Self { encoder: Encoder::new(path, special)?, target: None });
        }
        let path = replaced_by(path);
        let replaced = path.metadata().ok();
        let mode = replaced.as_ref().map_or(MODE, |replaced| replaced.mode() & MODE_KEPT);
        let mut unfinished = interrupt::unfinished();
        let (file, temporary) = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(parent(&path))?
            .into_parts();
        unfinished.push(temporary.to_path_buf());
        drop(unfinished);
        if let Some(replaced) = replaced {
            take_over(&file, &replaced)?;
        }
        let encoder = Encoder::new(&path, file)?;
        Ok(Self { encoder, target: Some(Target { temporary, path, overwrite }) })
    }

    /// Gives the file its name, once all of it is on disk.
    ///
    /// # Errors
    /// The disk is full, or the file exists by now and must not be overwritten.
    pub fn finish(self) -> Result<(), Failure> {
        let file = self.encoder.finish()?;
        let Some(Target { temporary, path, overwrite }) = self.target else { return Ok(()) };
        file.sync_all().map_err(|error| failed(&path, &error))?;
        let mut unfinished = interrupt::unfinished();
        interrupt::finished(&mut unfinished, &temporary);
        let persisted = match overwrite {
            true => temporary.persist(&path),
            false => temporary.persist_noclobber(&path),
        };
        let persisted = persisted.map_err(|error| error.error);
        persisted.map_err(|error| failed(&path, &error))
    }
}

/// Gives the new file the owner and the mode of the file that it replaces, so that it is
/// readable by nobody else.
fn take_over(file: &File, replaced: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
        // Only root may change the owner; for other users the file stays their own.
        let _ = fchown(file, Some(replaced.uid()), Some(replaced.gid()));
    }
    file.set_permissions(Permissions::from_mode(replaced.mode() & MODE_KEPT))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(BUFFER_BYTES, file)
}

impl Encoder {
    fn new(path: &Path, file: File) -> io::Result<Self> {
        let file = buffered(file);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Ok(Self::Gzip(GzEncoder::new(file, Compression::default()))),
            Some("zst") => {
                let mut encoder = zstd::stream::write::Encoder::new(file, 0)?;
                encoder.include_checksum(true)?;
                Ok(Self::Zstd(encoder))
            }
            _ => Ok(Self::Plain(file)),
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }

    fn finish(self) -> io::Result<File> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encoder.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.writer().flush()
    }
}
