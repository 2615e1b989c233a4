//! SIGINT and SIGTERM: removes unfinished files, and reports the finished work.

use std::io;
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::telemetry;

/// The exit codes that a shell reports for processes ended by SIGINT and SIGTERM.
const EXIT_INTERRUPTED: i32 = 130;
const EXIT_TERMINATED: i32 = 143;

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
            akin_files::interrupt::end(code, telemetry::say_last);
        }
    });
    Ok(())
}

/// Leaves the signals to handlers that the command has installed.
pub fn leave_to_command() {
    LEFT.notify_one();
}
