//! SIGINT and SIGTERM: removes unfinished files, and reports the finished work.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::{Mutex, MutexGuard};
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::telemetry;

/// The exit codes that a shell reports for processes ended by SIGINT and SIGTERM.
const EXIT_INTERRUPTED: i32 = 130;
const EXIT_TERMINATED: i32 = 143;

type Line = Box<dyn Fn() -> String + Send>;

/// The temporary paths of unfinished files.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Reports the progress.
static PROGRESS: Mutex<Option<Line>> = Mutex::new(None);
/// Notified when the command handles the signals itself.
static LEFT: Notify = Notify::const_new();

/// Installs handlers of SIGINT and SIGTERM that end the process in order. The kernel drops a signal
/// without a handler if the process has the number 1, as in a container, so this comes first.
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
                biased;
                () = LEFT.notified() => None,
                _ = interrupt.recv() => Some(EXIT_INTERRUPTED),
                _ = terminate.recv() => Some(EXIT_TERMINATED),
            }
        });
        if let Some(code) = code {
            end(code);
        }
    });
    Ok(())
}

/// Leaves the signals to handlers that the command has installed.
pub fn leave_to_command() {
    LEFT.notify_one();
}

fn end(code: i32) {
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
    telemetry::say_last(words);
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
