//! Keeps a command from overwriting its inputs.

use std::fs::{File, Metadata};
use std::io::{stdin, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::{is_special, is_stdout, parent};
use crate::failure::Failure;

/// The inputs of a command: files, directories, and `-` for stdin.
#[derive(Default)]
pub struct Inputs(Vec<PathBuf>);

/// The device and the inode of a file, which all its names and links share.
type FileKey = (u64, u64);

impl FromIterator<PathBuf> for Inputs {
    fn from_iter<I: IntoIterator<Item = PathBuf>>(paths: I) -> Self {
        Self(paths.into_iter().collect())
    }
}

impl Inputs {
    #[must_use]
    pub fn with(mut self, path: PathBuf) -> Self {
        self.0.push(path);
        self
    }

    /// # Errors
    /// An output is an input, by any name or link, or would be a new file in a directory that is an
    /// input; or two outputs are the same file.
    pub fn protect<'o>(&self, outputs: impl Iterator<Item = &'o Path>) -> Result<(), Failure> {
        let mut targets = Vec::new();
        let mut existing = Vec::new();
        for output in outputs {
            if is_stdout(output) {
                existing.extend(regular(stdout()).map(|key| (key, output)));
            } else if !is_special(output) {
                targets.push((self.target(output)?, output));
                existing.extend(key_of(output).map(|key| (key, output)));
            }
        }
        existing.sort_unstable();
        targets.sort_unstable();
        let twice = targets.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1);
        let linked = existing.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1);
        if let Some(output) = twice.or(linked) {
            return Err(Failure::with_hint(
                format!("{} would be written twice", output.display()),
                "two outputs, or two inputs of the same name, would be the same file",
            ));
        }
        if existing.is_empty() {
            return Ok(());
        }
        match self.files().find_map(|(key, input)| Some((find(&existing, key)?, input))) {
            None => Ok(()),
            Some((output, input)) => Err(Failure::with_hint(
                format!("the output {} is an input, too: {}", name(output), input.display()),
                "write to another file; --force does not overwrite inputs",
            )),
        }
    }

    /// The path that an output will have, outside of all directories that are read.
    fn target(&self, output: &Path) -> Result<PathBuf, Failure> {
        let target = resolved(output);
        // A directory may be made only later.
        let contains = |input: &&PathBuf| {
            let input = resolved(input);
            (input.is_dir() || !input.exists()) && target.starts_with(input)
        };
        match self.0.iter().find(contains) {
            None => Ok(target),
            Some(input) => Err(Failure::with_hint(
                format!("the output {} is an input, too", output.display()),
                format!("write it to a file that is not in {}", input.display()),
            )),
        }
    }

    /// Every existing file of the inputs.
    fn files(&self) -> impl Iterator<Item = (FileKey, PathBuf)> {
        self.0.iter().flat_map(|path| -> Box<dyn Iterator<Item = (FileKey, PathBuf)>> {
            if path == Path::new("-") {
                return Box::new(regular(stdin()).map(|key| (key, "stdin".into())).into_iter());
            }
            let entries = WalkDir::new(path).into_iter().flatten();
            Box::new(entries.filter_map(|entry| Some((key_of(entry.path())?, entry.into_path()))))
        })
    }
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.file_name()) {
        (Ok(path), _) => path,
        (Err(_), Some(name)) => resolved(parent(path)).join(name),
        (Err(_), None) => path.to_owned(),
    }
}

fn find<'o>(existing: &[(FileKey, &'o Path)], key: FileKey) -> Option<&'o Path> {
    existing.binary_search_by_key(&key, |(known, _)| *known).ok().map(|at| existing[at].1)
}

fn name(output: &Path) -> String {
    if is_stdout(output) { "stdout".into() } else { output.display().to_string() }
}

fn key_of(path: &Path) -> Option<FileKey> {
    path.metadata().ok().filter(Metadata::is_file).map(|metadata| key(&metadata))
}

/// The file that stdin or stdout is redirected to.
fn regular(stream: impl AsFd) -> Option<FileKey> {
    let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().filter(Metadata::is_file).map(|metadata| key(&metadata))
}

fn key(metadata: &Metadata) -> FileKey {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_output_that_is_an_input_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("docs")).unwrap();
        fs::create_dir(at("far")).unwrap();
        for name in ["one.txt", "docs/two.txt", "other", "far/three", "far/four"] {
            fs::write(at(name), "text").unwrap();
        }
        fs::hard_link(at("docs/two.txt"), at("hard")).unwrap();
        symlink(at("one.txt"), at("soft")).unwrap();
        symlink(at("docs"), at("linked")).unwrap();
        symlink(at("far/three"), at("docs/link")).unwrap();
        symlink(at("far"), at("docs/directory")).unwrap();
        let inputs = Inputs::from_iter([at("docs"), at("one.txt")]);
        let later = at("later/out.txt");
        let of_later = Inputs::from_iter([at("later")]);
        assert!(of_later.protect(std::iter::once(later.as_path())).is_err(), "it is made later");
        let check = |outputs: &[&str]| {
            let outputs: Vec<_> = outputs.iter().map(|name| at(name)).collect();
            inputs.protect(outputs.iter().map(PathBuf::as_path)).is_ok()
        };
        assert!(check(&["out.txt", "other", "far/four"]), "links to directories are not followed");
        for refused in [
            "docs/out.txt",
            "docs/../one.txt",
            "one.txt",
            "hard",
            "soft",
            "linked/out.txt",
            "linked/two.txt",
            "far/three",
        ] {
            assert!(!check(&[refused]), "{refused}");
            assert!(!check(&["out.txt", refused]), "{refused}");
        }
        assert!(!check(&["out.txt", "docs/../out.txt"]), "one file is written twice");
    }
}
