//! Ctrl-C: unfinished files are removed, and what was done is said.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::{Mutex, MutexGuard};
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::telemetry;

/// What a shell reports for processes that SIGINT and SIGTERM ended.
const EXIT_INTERRUPTED: i32 = 130;
const EXIT_TERMINATED: i32 = 143;

type Line = Box<dyn Fn() -> String + Send>;

/// Files that have no name of their own yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Says how far the work is.
static PROGRESS: Mutex<Option<Line>> = Mutex::new(None);

/// From now on SIGINT and SIGTERM end the process in order.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn watch() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    drop(entered);
    thread::spawn(move || {
        let code = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => EXIT_INTERRUPTED,
                _ = terminate.recv() => EXIT_TERMINATED,
            }
        });
        end(code);
    });
    Ok(())
}

fn end(code: i32) {
    // Held to the end, so that no file gets its name or is begun meanwhile.
    let unfinished = unfinished();
    let mut words = match locked(&PROGRESS).as_ref() {
        Some(line) => format!("interrupted: {}\n", line()),
        None => "interrupted\n".to_owned(),
    };
    for path in unfinished.iter().filter(|path| path.exists()) {
        match fs::remove_file(path) {
            Ok(()) => words.push_str("what was written so far is removed\n"),
            Err(error) => drop(writeln!(words, "{} is left: {error}", path.display())),
        }
    }
    telemetry::say_last(words);
    exit(code);
}

/// The unfinished files. One is begun, or gets its name, while this is held.
pub fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    locked(&UNFINISHED)
}

/// It has its name.
pub fn finished(unfinished: &mut Vec<PathBuf>, path: &Path) {
    unfinished.retain(|other| other != path);
}

/// Sets what says how far the work is; `None` once it is done.
pub fn show(progress: Option<Line>) {
    *locked(&PROGRESS) = progress;
}

fn locked<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().expect("nothing panics under the lock")
}
