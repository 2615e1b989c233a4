//! The keys and certificates of a server: loads them, requires keys, and follows changes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use crate::app::AppError;
use crate::config::Settings;
use crate::http::{AppState, KeyRing, Tls};
use crate::trusted_file;

/// How often the file of keys is checked.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// After a failed read the pause doubles from `RETRY_MIN` to `RETRY_MAX`.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(10);

/// How long the server waits for a read. A longer read, on a disk that hangs, goes on.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The keys in force, and the certificate.
///
/// # Errors
/// `Unprotected`: other machines can reach the address and there is no key, though keys are not
/// switched off; `Keys`, `Tls`: a file cannot be used.
pub(super) async fn open(
    settings: &Settings,
    address: SocketAddr,
) -> Result<(KeyRing, Option<Tls>), AppError> {
    let settings = settings.clone();
    let opening = spawn_blocking(move || {
        let keys = keys(&settings, address)?;
        let tls = Tls::open(&settings.server)?;
        for path in [&settings.server.tls_cert, &settings.server.tls_key].into_iter().flatten() {
            warn_of_directory(path);
        }
        Ok((keys, tls))
    });
    opening.await.expect("it does not panic")
}

fn keys(settings: &Settings, address: SocketAddr) -> Result<KeyRing, AppError> {
    let is_public = !address.ip().to_canonical().is_loopback();
    if settings.server.no_keys {
        if is_public {
            tracing::warn!(%address, "authentication is disabled (server.no_keys)");
        }
        return Ok(KeyRing::switched_off());
    }
    let keys_file: PathBuf = settings.keys_file();
    let keys = KeyRing::open(keys_file.clone())?;
    if is_public && keys.count().unwrap_or(0) == 0 {
        return Err(AppError::Unprotected { address, keys_file });
    }
    match keys.count() {
        Some(count) => {
            tracing::info!(count, file = %keys_file.display(), "authentication is enabled");
            warn_of_directory(&keys_file);
        }
        None => {
            tracing::info!(file = %keys_file.display(), "authentication is disabled: no file");
        }
    }
    Ok(keys)
}

fn warn_of_directory(path: &Path) {
    if let Some(directory) = trusted_file::replaceable_in(path) {
        let (file, directory) = (path.display(), directory.display());
        tracing::warn!(%file, %directory, "every user of this machine may replace the file");
    }
}

/// Reads the keys again when their file changes, and keys and certificates with each signal.
pub(super) async fn follow(
    state: &AppState,
    tls: Option<Arc<Tls>>,
    mut reload: Option<Signal>,
) -> Infallible {
    let mut keys = Followed::new("keys");
    let mut certificate = tls.is_some().then(|| Followed::new("certificate"));
    let mut ticks = tokio::time::interval(FOLLOW_EVERY);
    loop {
        let is_forced = tokio::select! {
            _ = ticks.tick() => false,
            () = next(&mut reload) => {
                tracing::info!("SIGHUP: reloading keys and certificates");
                true
            }
        };
        if is_forced || keys.is_due() {
            let state = state.clone();
            let read = move || state.keys.follow(is_forced).map_err(|error| error.to_string());
            keys.read(read).await;
        }
        // Without a signal only the files whose last read failed are read again.
        if let (Some(tls), Some(certificate)) = (&tls, &mut certificate)
            && (is_forced || certificate.is_stale() && certificate.is_due())
        {
            let tls = Arc::clone(tls);
            let read = move || tls.reload().map(|()| true).map_err(|error| error.to_string());
            certificate.read(read).await;
        }
    }
}

async fn next(reload: &mut Option<Signal>) {
    let Some(signal) = reload else { return std::future::pending().await };
    if signal.recv().await.is_none() {
        *reload = None;
    }
}

/// Whether a new version is loaded, or the reason of the failure.
type Outcome = Result<bool, String>;

/// A file that is reloaded while the server runs, and the state of the last load.
struct Followed {
    what: &'static str,
    /// The failure of the last load: the previous content stays in use.
    fault: Option<String>,
    pause: Duration,
    retry_at: Instant,
    /// A read that takes too long.
    unfinished: Option<JoinHandle<Outcome>>,
}

impl Followed {
    fn new(what: &'static str) -> Self {
        metrics::gauge!("akin_reload_stale", "what" => what).set(0);
        metrics::counter!("akin_reload_failures_total", "what" => what).absolute(0);
        let (fault, unfinished) = (None, None);
        Self { what, fault, pause: RETRY_MIN, retry_at: Instant::now(), unfinished }
    }

    fn is_stale(&self) -> bool {
        self.fault.is_some()
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.retry_at
    }

    /// Reads on a blocking thread, unless an earlier read is unfinished.
    async fn read(&mut self, read: impl FnOnce() -> Outcome + Send + 'static) {
        let waits = if self.unfinished.is_some() { Duration::ZERO } else { READ_TIMEOUT };
        let mut reading = self.unfinished.take().unwrap_or_else(|| spawn_blocking(read));
        match timeout(waits, &mut reading).await {
            Ok(Ok(outcome)) => self.ended(outcome),
            Ok(Err(error)) => self.ended(Err(error.to_string())),
            Err(_) => {
                self.unfinished = Some(reading);
                self.ended(Err("the disk does not answer".to_owned()));
            }
        }
    }

    /// Logs each change of state once, and counts every failure.
    fn ended(&mut self, outcome: Outcome) {
        let what = self.what;
        match outcome {
            Ok(is_new) => {
                if self.fault.take().is_some() {
                    metrics::gauge!("akin_reload_stale", "what" => what).set(0);
                    tracing::info!(what, "reloaded");
                }
                (self.pause, self.retry_at) = (RETRY_MIN, Instant::now());
                if is_new {
                    tracing::info!(what, "reloaded a changed file of keys or certificates");
                }
            }
            Err(error) => {
                metrics::counter!("akin_reload_failures_total", "what" => what).increment(1);
                metrics::gauge!("akin_reload_stale", "what" => what).set(1);
                if self.fault.as_ref() != Some(&error) {
                    tracing::error!(
                        what,
                        error,
                        "reloading failed: the previous version stays in use"
                    );
                }
                self.fault = Some(error);
                self.retry_at = Instant::now() + self.pause;
                self.pause = (2 * self.pause).min(RETRY_MAX);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_read_is_tried_again_later_and_later() {
        let mut keys = Followed::new("keys");
        assert!(keys.is_due() && !keys.is_stale());
        for pause_s in [1, 2, 4, 8, 10, 10] {
            keys.ended(Err("no descriptors".to_owned()));
            assert!(keys.is_stale() && !keys.is_due());
            tokio::time::advance(Duration::from_secs(pause_s)).await;
            assert!(keys.is_due(), "{pause_s}");
        }
        keys.ended(Ok(true));
        assert!(keys.is_due() && !keys.is_stale());
        keys.ended(Err("no descriptors".to_owned()));
        tokio::time::advance(RETRY_MIN).await;
        assert!(keys.is_due(), "the pauses begin anew");
    }

    #[tokio::test]
    async fn a_read_that_hangs_holds_nothing_up() {
        let mut keys = Followed::new("keys");
        let (answer, hangs) = std::sync::mpsc::channel::<Outcome>();
        keys.unfinished = Some(spawn_blocking(move || hangs.recv().unwrap()));
        keys.read(|| panic!("the first still goes on")).await;
        assert!(keys.is_stale() && keys.unfinished.is_some());
        answer.send(Ok(true)).unwrap();
        while keys.is_stale() {
            keys.read(|| panic!("its outcome is taken")).await;
            std::thread::yield_now();
        }
    }
}
