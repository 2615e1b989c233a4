//! Unfinished files and the progress of the work, for when the process is interrupted.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::{Mutex, MutexGuard};

type Line = Box<dyn Fn() -> String + Send>;

/// The temporary paths of unfinished files.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Reports the progress.
static PROGRESS: Mutex<Option<Line>> = Mutex::new(None);

/// Removes the unfinished files, reports the finished work by `say`, and ends the process.
pub fn end(code: i32, say: impl FnOnce(String)) -> ! {
    // Held to the end, so that no file gets its name or is begun in the meantime.
    let unfinished = unfinished();
    let mut words = match locked(&PROGRESS).as_ref() {
        Some(line) => format!("interrupted: {}\n", line()),
        None => "interrupted\n".to_owned(),
    };
    for path in unfinished.iter().filter(|path| path.exists()) {
        match fs::remove_file(path) {
            Ok(()) => words.push_str("the partial output is removed\n"),
            Err(error) => drop(writeln!(words, "{} is left: {error}", path.display())),
        }
    }
    say(words);
    exit(code);
}

/// The unfinished files. A file is begun, or gets its name, while this is held.
pub fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    locked(&UNFINISHED)
}

/// Removes a file that has its final name from the list.
pub fn finished(unfinished: &mut Vec<PathBuf>, path: &Path) {
    unfinished.retain(|other| other != path);
}

/// Sets the function that reports the progress; `None` once the work is done.
pub fn show(progress: Option<Line>) {
    *locked(&PROGRESS) = progress;
}

fn locked<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().expect("nothing panics under the lock")
}
