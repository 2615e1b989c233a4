//! Lists of files, as `find` and `git ls-files` write them.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::open_file;
use crate::failure::Failure;

/// The files that a list names, in its order. Each ends with a NUL or else with a line break; the
/// list is a file (also gzip or zstd), or stdin for `-`.
///
/// # Errors
/// It cannot be read.
pub fn read_list(list: &Path, nul: bool) -> Result<Vec<PathBuf>, Failure> {
    let read = || {
        let mut names = Vec::new();
        open_file(list)?.read_to_end(&mut names)?;
        Ok(names)
    };
    let names = read().map_err(|error: io::Error| Failure::unreadable(list, error))?;
    let end = if nul { b'\0' } else { b'\n' };
    Ok(names.split(|byte| *byte == end).filter(|name| !name.is_empty()).map(file).collect())
}

/// In a list `-` is a file, too.
fn file(name: &[u8]) -> PathBuf {
    if name == b"-" { "./-".into() } else { OsString::from_vec(name.to_vec()).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_line_breaks_or_with_nul() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        let read = |list: &[u8], nul| {
            std::fs::write(&path, list).unwrap();
            read_list(&path, nul).unwrap()
        };
        let named = |names: [&str; 3]| names.map(PathBuf::from).to_vec();
        assert_eq!(read(b"a b\n\nsub/c\n-", false), named(["a b", "sub/c", "./-"]));
        assert_eq!(read(b"a\nb\0sub/c\0-\0", true), named(["a\nb", "sub/c", "./-"]));
        let other: [PathBuf; 1] = [OsString::from_vec(b"caf\xe9".to_vec()).into()];
        assert_eq!(read(b"caf\xe9\n", false), other, "names need not be UTF-8");
    }

    #[test]
    fn a_list_that_is_missing_is_named() {
        let Err(Failure::Reported { what, .. }) = read_list(Path::new("/nowhere/list"), false)
        else {
            panic!("it is read");
        };
        assert!(what.contains("/nowhere/list"), "{what}");
    }
}
