use std::io;
use std::process::exit;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code that a shell reports for a process that SIGINT ended.
const EXIT_INTERRUPTED: i32 = 130;

/// Completes with the first SIGTERM or SIGINT. A second signal ends the process at once.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        either(&mut terminate, &mut interrupt).await;
        tokio::spawn(async move {
            either(&mut terminate, &mut interrupt).await;
            exit(EXIT_INTERRUPTED);
        });
    })
}

/// SIGHUP, which no longer ends the process: keys and certificates are read again.
///
/// # Errors
/// The signal handler cannot be installed.
pub fn reload_signal() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
