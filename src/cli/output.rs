//! A file that is there only once it is whole.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Stdout, Write, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use super::failure::Failure;

const BUFFER_BYTES: usize = 256 << 10;
/// A file that anybody may read and write whom the umask lets.
const MODE: u32 = 0o666;

/// Stdout for `-`, else a file, compressed as its name ends. A file is written beside the place
/// that it is to have, and takes it when it is finished; dropped before, it leaves nothing.
pub struct Output {
    encoder: Encoder,
    /// The place of a file that is not in it yet.
    path: Option<PathBuf>,
}

enum Encoder {
    Plain(BufWriter<Sink>),
    Gzip(GzEncoder<BufWriter<Sink>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Sink>>),
}

enum Sink {
    Stdout(Stdout),
    /// A device or a pipe, which must stay where it is.
    Special(File),
    Unfinished(NamedTempFile),
}

/// Copies `what` of a server's to the end, and tells of each piece once it is written.
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
    /// There cannot be such a file.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Self::open(path).map_err(|error| told(path, &error))
    }

    fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            let encoder = Encoder::Plain(buffered(Sink::Stdout(stdout())));
            return Ok(Self { encoder, path: None });
        }
        // What a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            let special = File::options().write(true).open(&path)?;
            return Ok(Self { encoder: Encoder::of(&path, Sink::Special(special))?, path: None });
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(parent.unwrap_or(Path::new(".")))?;
        let encoder = Encoder::of(&path, Sink::Unfinished(file))?;
        Ok(Self { encoder, path: Some(path) })
    }

    /// Puts the file in its place, with all that was written to it.
    ///
    /// # Errors
    /// The disk is full, or the place cannot be taken.
    pub fn finish(self) -> Result<(), Failure> {
        let sink = self.encoder.finish()?;
        let (Sink::Unfinished(file), Some(path)) = (sink, self.path) else { return Ok(()) };
        let kept = file.as_file().sync_all().and_then(|()| Ok(file.persist(&path)?));
        kept.map(drop).map_err(|error| told(&path, &error))
    }
}

fn told(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

fn buffered(sink: Sink) -> BufWriter<Sink> {
    BufWriter::with_capacity(BUFFER_BYTES, sink)
}

impl Encoder {
    fn of(path: &Path, sink: Sink) -> io::Result<Self> {
        let sink = buffered(sink);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Ok(Self::Gzip(GzEncoder::new(sink, Compression::default()))),
            Some("zst") => {
                let mut encoder = zstd::stream::write::Encoder::new(sink, 0)?;
                encoder.include_checksum(true)?;
                Ok(Self::Zstd(encoder))
            }
            _ => Ok(Self::Plain(sink)),
        }
    }

    fn finish(self) -> io::Result<Sink> {
        let mut sink = match self {
            Self::Plain(sink) => sink,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        sink.flush()?;
        sink.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Encoder::Plain(sink) => sink.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Plain(sink) => sink.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Special(file) => file.write(bytes),
            Self::Unfinished(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Special(file) => file.flush(),
            Self::Unfinished(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;

    #[test]
    fn a_file_is_there_only_once_it_is_finished() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(output);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left of it");
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_name_tells_the_compression() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = dir.path().join(name);
            let mut output = Output::create(&path).unwrap();
            output.write_all(b"a line\n").unwrap();
            output.finish().unwrap();
            fs::read(path).unwrap()
        };
        let mut text = String::new();
        flate2::read::GzDecoder::new(&write("a.gz")[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "a line\n");
        assert_eq!(zstd::stream::decode_all(&write("a.jsonl.zst")[..]).unwrap(), b"a line\n");
    }

    #[test]
    fn a_device_stays_a_device() {
        let mut output = Output::create(Path::new("/dev/null")).unwrap();
        output.write_all(b"nothing").unwrap();
        output.finish().unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }
}
