//! Symbolic links in the directories that are read.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::selection::{Input, Selection, Unreadable, input};

/// Follows the links in the directories of a selection so that each file is read once.
pub struct Links<'s> {
    selection: &'s Selection,
    /// The paths of the selection without links, once a link was found.
    named: Option<HashSet<PathBuf>>,
    /// The files that links led to.
    read: HashSet<PathBuf>,
}

impl<'s> Links<'s> {
    pub fn new(selection: &'s Selection) -> Self {
        Self { selection, named: None, read: HashSet::new() }
    }

    /// The file that the link leads to; `None` if the file is read without the link, too, or is not
    /// wanted. A directory is not followed, since it may have the link in it.
    pub fn follow(&mut self, link: &Path) -> Option<Result<Input, Unreadable>> {
        let unreadable =
            |reason| Some(Err(Unreadable { name: link.display().to_string(), reason }));
        let is_wanted = self.selection.wants(link);
        let target = match link.canonicalize() {
            Ok(target) => target,
            Err(error) if is_wanted => return unreadable(error.to_string()),
            Err(_) => return None,
        };
        if target.is_dir() {
            return match self.is_walked(&target) {
                true => None,
                false => unreadable(self.advice(&target)),
            };
        }
        let is_new = target.is_file()
            && is_wanted
            && !(self.is_walked(&target) && self.selection.wants(&target))
            && !self.named().contains(&target)
            && self.read.insert(target);
        is_new.then(|| input(link, false))
    }

    /// How to read the directory that a link leads to, and no file twice.
    fn advice(&mut self, target: &Path) -> String {
        let has_inputs = self.named().iter().any(|path| path.starts_with(target));
        let advice = match has_inputs {
            true => "in place of the inputs in it",
            false => "too",
        };
        let target = target.display();
        format!("it is a link to the directory {target}: name that directory, {advice}, to read it")
    }

    /// Whether the path is found in one of the selection's directories without any link.
    fn is_walked(&mut self, target: &Path) -> bool {
        let named = self.named();
        for path in target.ancestors() {
            if named.contains(path) {
                return true;
            }
            if path.file_name().is_some_and(is_hidden) {
                return false;
            }
        }
        false
    }

    fn named(&mut self) -> &HashSet<PathBuf> {
        let paths = &self.selection.paths;
        self.named.get_or_insert_with(|| {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        })
    }
}

pub fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    const DIRECTORIES: [&str; 4] = ["read/sub", "read/.store", "blobs/more", "other"];
    const FILES: [&str; 7] = [
        "blobs/1",
        "blobs/2",
        "blobs/more/3.txt",
        "read/sub/own.txt",
        "read/.store/4",
        "other/5.txt",
        "named.txt",
    ];
    const LINKS: [(&str, &str); 17] = [
        // As in the cache of Hugging Face, where the files of a dataset are links.
        ("../blobs/1", "read/a.txt"),
        ("../blobs/1", "read/b.txt"),
        ("../blobs/2", "read/b.md"),
        // As git-annex has them.
        (".store/4", "read/c.txt"),
        ("sub/own.txt", "read/d.txt"),
        ("../other/5.txt", "read/e.txt"),
        ("../named.txt", "read/f.txt"),
        ("nowhere", "read/g.txt"),
        ("nowhere", "read/g.md"),
        // As Emacs locks a file.
        ("user@host.123:456", "read/.#a.txt"),
        ("sub", "read/h"),
        (".", "read/i"),
        ("../../read", "read/sub/j"),
        ("..", "read/k"),
        (".store", "read/l"),
        ("../blobs/more", "read/m"),
        ("/dev/null", "read/n.txt"),
    ];

    fn files() -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in DIRECTORIES {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        for name in FILES {
            fs::write(dir.path().join(name), "12345").unwrap();
        }
        for (target, link) in LINKS {
            symlink(target, dir.path().join(link)).unwrap();
        }
        dir
    }

    #[test]
    fn files_behind_links_are_read_once_and_what_is_not_read_is_named() {
        let dir = files();
        let found = |extensions: &[&str], paths: &[&str]| -> [Vec<String>; 2] {
            let selection = Selection {
                paths: paths.iter().map(|path| dir.path().join(path)).collect(),
                extensions: extensions.iter().map(ToString::to_string).collect(),
                ..Selection::default()
            };
            let (read, lost): (Vec<_>, Vec<_>) = selection.inputs().partition(Result::is_ok);
            let below = |name: &str| {
                name.strip_prefix(dir.path().to_str().unwrap()).unwrap()[1..].to_owned()
            };
            let read = read.into_iter().map(|input| below(&input.unwrap().name));
            let lost = lost.into_iter().map(|input| below(&input.unwrap_err().name));
            [read.collect(), lost.collect()]
        };
        let directories = ["read/k", "read/l", "read/m"];
        let [read, lost] = found(&["txt"], &["read", "named.txt", "other"]);
        let expected = ["read/a.txt", "read/c.txt", "read/sub/own.txt", "named.txt", "other/5.txt"];
        assert_eq!(read, expected);
        assert_eq!(lost, [&["read/g.txt"][..], &directories].concat());
        let selection = Selection { paths: vec![dir.path().join("read")], ..Selection::default() };
        let advice = |link: &str| {
            let mut links = Links::new(&selection);
            links.follow(&dir.path().join(link)).unwrap().unwrap_err().reason
        };
        for (link, target, how) in [
            ("read/k", "", "in place of the inputs in it"),
            ("read/l", "read/.store", "too"),
            ("read/m", "blobs/more", "too"),
        ] {
            let target = dir.path().join(target).canonicalize().unwrap();
            let target = target.display();
            let expected = format!("directory {target}: name that directory, {how}, to read it");
            assert!(advice(link).ends_with(&expected), "{}", advice(link));
        }
        let [read, lost] = found(&[], &["read", "blobs"]);
        let expected = [
            "read/c.txt",
            "read/e.txt",
            "read/f.txt",
            "read/sub/own.txt",
            "blobs/1",
            "blobs/2",
            "blobs/more/3.txt",
        ];
        assert_eq!(read, expected);
        assert_eq!(lost, ["read/g.md", "read/g.txt", "read/k", "read/l"]);
        let [read, _] = found(&["txt"], &["read", "blobs"]);
        assert!(read.contains(&"read/a.txt".into()), "blobs/1 has no extension: {read:?}");
    }
}
