//! Finds the files to read.

use std::cell::RefCell;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use walkdir::WalkDir;

use super::copies::InputCopies;
use super::detect::extension;
use super::links::{Links, is_hidden};
use super::open::source;
use super::options::Reading;
use crate::failure::Failure;

/// A file, or stdin.
#[derive(Clone, Debug)]
pub struct Input {
    /// `None`: stdin.
    pub path: Option<PathBuf>,
    /// Its name in messages and ids: the path as given, joined with the path below it.
    pub name: Arc<str>,
    /// The path was given, not found in a directory.
    pub is_named: bool,
}

/// The inputs of a command.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub paths: Vec<PathBuf>,
    pub reading: Reading,
    /// If not empty: read only the files with one of these extensions (before `.gz` and `.zst`) in
    /// directories.
    pub extensions: Vec<String>,
}

/// A path that cannot be read or named.
#[derive(Debug)]
pub struct Unreadable {
    pub name: String,
    pub reason: String,
}

impl Selection {
    /// Every input, in the order of the paths given and of the names within. Symbolic links in a
    /// directory are followed to files that are not read without them. Hidden files and directories
    /// are skipped, among which are the unfinished outputs of runs that were killed.
    pub fn inputs(&self) -> impl Iterator<Item = Result<Input, Unreadable>> + '_ {
        let links = Rc::new(RefCell::new(Links::new(self)));
        self.paths.iter().flat_map(move |path| self.inputs_of(path, Rc::clone(&links)))
    }

    /// The size of all inputs on disk and of the copies of pipes; `None` if stdin was not copied,
    /// or once `go_on` says no.
    pub fn bytes(&self, go_on: impl Fn() -> bool) -> Option<u64> {
        let mut bytes = 0;
        for input in self.inputs() {
            if !go_on() {
                return None;
            }
            let Ok(Input { path, .. }) = input else { continue };
            let metadata = match self.reading.pipes.get(path.as_deref().unwrap_or(Path::new("-"))) {
                Some(copy) => copy.metadata(),
                None => path?.metadata(),
            };
            bytes += metadata.map_or(0, |metadata| metadata.len());
        }
        Some(bytes)
    }

    /// # Errors
    /// One of the paths does not exist.
    pub fn check_exists(&self) -> Result<(), Failure> {
        for path in self.paths.iter().filter(|path| path.as_os_str() != "-") {
            path.metadata().map_err(|error| Failure::unreadable(path, error))?;
        }
        Ok(())
    }

    /// Copies stdin and pipes, which can be read only once, into unnamed files of this directory,
    /// which has all further unnamed files of the selection, too. Their bytes are copied as they
    /// are: a pipe that breaks off is for the reader of its format to name.
    ///
    /// # Errors
    /// A pipe cannot be read, or the disk is full.
    pub fn copy_pipes(&mut self, directory: &Path) -> Result<(), Failure> {
        for path in self.paths.iter().filter(|path| is_pipe(path)) {
            if self.reading.pipes.contains_key(path) {
                continue;
            }
            let copied = || {
                let mut copy = tempfile::tempfile_in(directory)?;
                io::copy(&mut source(path)?, &mut copy)?;
                Ok(Arc::new(copy))
            };
            let copy = copied().map_err(|error: io::Error| Failure::unreadable(path, error))?;
            self.reading.pipes.insert(path.clone(), copy);
        }
        self.reading.directory = Some(directory.to_owned());
        Ok(())
    }

    /// Keeps what is read for the next time, where a copy costs less than to read the input again.
    pub fn keep_copies(&mut self, copies: InputCopies) {
        self.reading.copies = Some(Arc::new(copies));
    }

    fn inputs_of<'a>(
        &'a self,
        path: &'a Path,
        links: Rc<RefCell<Links<'a>>>,
    ) -> Box<dyn Iterator<Item = Result<Input, Unreadable>> + 'a> {
        if path == Path::new("-") {
            let stdin = Input { path: None, name: "stdin".into(), is_named: true };
            return Box::new(std::iter::once(Ok(stdin)));
        }
        let entries = WalkDir::new(path).sort_by_file_name().into_iter();
        let entries =
            entries.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name()));
        Box::new(entries.filter_map(move |entry| match entry {
            Ok(entry) if entry.depth() == 0 => {
                (!entry.path().is_dir()).then(|| input(entry.path(), true))
            }
            Ok(entry) if entry.path_is_symlink() => links.borrow_mut().follow(entry.path()),
            Ok(entry) if !entry.file_type().is_file() || !self.wants(entry.path()) => None,
            Ok(entry) => Some(input(entry.path(), false)),
            Err(error) => {
                let name = error.path().unwrap_or(path).display().to_string();
                let reason =
                    error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                Some(Err(Unreadable { name, reason }))
            }
        }))
    }

    /// Whether the file in a directory has one of the extensions that are read.
    pub(super) fn wants(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return true };
        self.extensions.is_empty()
            || self
                .extensions
                .iter()
                .any(|wanted| extension(name) == wanted.trim_start_matches('.'))
    }
}

fn is_pipe(path: &Path) -> bool {
    let is_fifo = || path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo());
    path == Path::new("-") || is_fifo()
}

/// # Errors
/// Both selections read stdin, or one and the list of files: `what` says so.
pub fn refuse_stdin_twice(
    one: &Selection,
    other: &Selection,
    list: Option<&Path>,
    what: &str,
) -> Result<(), Failure> {
    let is_stdin = |path: &Path| path == Path::new("-");
    let [one, other] = [one, other].map(|it| it.paths.iter().any(|path| is_stdin(path)));
    match other && (one || list.is_some_and(is_stdin)) {
        true => Err(Failure::with_hint(what, "name a file for one of them")),
        false => Ok(()),
    }
}

/// # Errors
/// The path is a URL. The hint shows a pipe instead.
pub fn refuse_url(path: &Path) -> Result<(), Failure> {
    let Some(url) = path.to_str() else { return Ok(()) };
    let Some((scheme, _)) = url.split_once("://") else { return Ok(()) };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme || path.exists() {
        return Ok(());
    }
    let get = match scheme {
        "s3" => format!("aws s3 cp {url} -"),
        "gs" => format!("gcloud storage cat {url}"),
        "http" | "https" => format!("curl -sfL {url}"),
        "file" => format!("cat {}", &url["file://".len()..]),
        _ => format!("COMMAND {url}"),
    };
    Err(Failure::with_hint(
        format!("{url} is a URL, and files are read"),
        format!("pipe it, and name stdin as the input: `{get} | akin … -`"),
    ))
}

pub(super) fn input(path: &Path, is_named: bool) -> Result<Input, Unreadable> {
    let Some(name) = path.to_str() else {
        let reason = "its name is not UTF-8, so it cannot be an id".into();
        return Err(Unreadable { name: path.display().to_string(), reason });
    };
    let name = name.strip_prefix("./").unwrap_or(name);
    Ok(Input { path: Some(path.to_owned()), name: name.into(), is_named })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::input::{Event, read_inputs};

    #[test]
    fn a_directory_is_walked_in_order_and_by_extension() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.md", "a.txt.gz", "sub/c.txt", "sub/d", ".hidden", ".git/e.txt"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "12345").unwrap();
        }
        let mut selection =
            Selection { paths: vec![dir.path().to_owned()], ..Selection::default() };
        let root = format!("{}/", dir.path().display());
        let names = |selection: &Selection| -> Vec<String> {
            selection.inputs().map(|i| i.unwrap().name.replace(&root, "")).collect()
        };
        assert_eq!(names(&selection), ["a.txt.gz", "b.md", "sub/c.txt", "sub/d"]);
        assert_eq!(selection.bytes(|| true), Some(20));
        selection.extensions = vec![".txt".into()];
        assert_eq!(names(&selection), ["a.txt.gz", "sub/c.txt"]);
        selection.paths = vec![dir.path().join(".hidden"), dir.path().join(".git")];
        assert_eq!(names(&selection), [".hidden", ".git/e.txt"], "they are named");
    }

    #[test]
    fn compressed_inputs_are_unpacked_once() {
        let dir = tempfile::tempdir().unwrap();
        let line = |n: usize| format!("{{\"id\": \"{n}\", \"text\": \"{}\"}}\n", "word ".repeat(n));
        let packed = |n| zstd::encode_all(line(n).as_bytes(), 1).unwrap();
        let names = ["a.zst", "b.jsonl", "c.zst", "d.zst"];
        let paths = names.map(|name| dir.path().join(name));
        let broken = packed(40_000);
        for (path, bytes) in paths.iter().zip([
            packed(3),
            line(5).into_bytes(),
            broken[..broken.len() - 9].to_vec(),
            packed(20_000),
        ]) {
            std::fs::write(path, bytes).unwrap();
        }
        let mut selection = Selection { paths: paths.to_vec(), ..Selection::default() };
        selection.keep_copies(InputCopies::new(tempfile::tempfile().unwrap(), 1 << 20, true));
        let read = || {
            let (mut lines, mut failed) = (Vec::new(), 0);
            let read = read_inputs(&selection, &AtomicU64::new(0), &mut |event| {
                match event {
                    Event::Item(item) => lines.push(item.line().to_vec()),
                    Event::Failed { .. } => failed += 1,
                    _ => {}
                }
                Ok(())
            });
            assert!(read.is_ok());
            (lines, failed)
        };
        let first = read();
        assert_eq!((first.0.len(), first.1), (3, 1));
        assert!(read() == first);
        // Only the copies have these documents now, and a copy that did not end is not read.
        for at in [0, 3] {
            std::fs::write(&paths[at], b"").unwrap();
        }
        assert!(read() == first);
        std::fs::write(&paths[2], packed(7)).unwrap();
        assert_eq!(read().0[2], line(7).trim_end().as_bytes());
    }

    #[test]
    fn a_pipe_that_is_named_twice_is_copied_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let mut selection =
            Selection { paths: vec![path.clone(), path.clone()], ..Selection::default() };
        let writer = std::thread::spawn(move || std::fs::write(path, "12345"));
        selection.copy_pipes(&std::env::temp_dir()).unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(selection.bytes(|| true), Some(10), "it is read twice");
    }

    #[test]
    fn a_missing_path_is_named() {
        let selection = Selection { paths: vec!["/nowhere/at-all".into()], ..Selection::default() };
        let unreadable = selection.inputs().next().unwrap().unwrap_err();
        assert_eq!(unreadable.name, "/nowhere/at-all");
        assert!(unreadable.reason.contains("No such file"), "{}", unreadable.reason);
        assert!(selection.check_exists().is_err());
    }
}
