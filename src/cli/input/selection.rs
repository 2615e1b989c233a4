//! Which files there are to read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::WalkDir;

use super::detect::extension;
use super::options::Reading;
use crate::cli::failure::Failure;

/// Something to read documents from.
#[derive(Clone, Debug)]
pub struct Input {
    /// `None`: stdin.
    pub path: Option<PathBuf>,
    /// Its name in messages and ids: the path as given, joined with the path below it.
    pub name: Arc<str>,
    /// It was not found in a directory.
    pub is_named: bool,
}

/// The inputs of a command.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub paths: Vec<PathBuf>,
    pub reading: Reading,
    /// If not empty: of the files in directories, only those with one of these extensions (before
    /// `.gz` and `.zst`).
    pub extensions: Vec<String>,
}

/// A path that cannot be read or named.
#[derive(Debug)]
pub struct Unreadable {
    pub name: String,
    pub reason: String,
}

impl Selection {
    /// Every input, in the order of the paths given and of the names within. Symbolic links in
    /// directories are skipped, so that nothing is read twice.
    pub fn inputs(&self) -> impl Iterator<Item = Result<Input, Unreadable>> + '_ {
        self.paths.iter().flat_map(|path| self.inputs_of(path))
    }

    /// The size of all inputs on disk; `None` for stdin, or once `go_on` says no.
    pub fn bytes(&self, go_on: impl Fn() -> bool) -> Option<u64> {
        let mut bytes = 0;
        for input in self.inputs() {
            if !go_on() {
                return None;
            }
            let Ok(input) = input else { continue };
            bytes += input.path?.metadata().map_or(0, |metadata| metadata.len());
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

    fn inputs_of<'a>(
        &'a self,
        path: &'a Path,
    ) -> Box<dyn Iterator<Item = Result<Input, Unreadable>> + 'a> {
        if path == Path::new("-") {
            let stdin = Input { path: None, name: "stdin".into(), is_named: true };
            return Box::new(std::iter::once(Ok(stdin)));
        }
        let entries = WalkDir::new(path).sort_by_file_name().into_iter();
        Box::new(entries.filter_map(move |entry| match entry {
            Ok(entry) if entry.depth() == 0 && !entry.path().is_dir() => {
                Some(input(entry.path(), true))
            }
            Ok(entry) if !entry.file_type().is_file() || !self.wants(entry.path()) => None,
            Ok(entry) => Some(input(entry.path(), false)),
            Err(error) => {
                let name = error.path().unwrap_or(path).display().to_string();
                let reason = error
                    .io_error()
                    .map_or_else(|| "it is a loop of links".into(), ToString::to_string);
                Some(Err(Unreadable { name, reason }))
            }
        }))
    }

    fn wants(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return true };
        self.extensions.is_empty()
            || self
                .extensions
                .iter()
                .any(|wanted| extension(name) == wanted.trim_start_matches('.'))
    }
}

fn input(path: &Path, is_named: bool) -> Result<Input, Unreadable> {
    let Some(name) = path.to_str() else {
        let reason = "its name is not UTF-8, so it cannot be an id".into();
        return Err(Unreadable { name: path.display().to_string(), reason });
    };
    let name = name.strip_prefix("./").unwrap_or(name);
    Ok(Input { path: Some(path.to_owned()), name: name.into(), is_named })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_walked_in_order_and_by_extension() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.md", "a.txt.gz", "sub/c.txt", "sub/d"] {
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
