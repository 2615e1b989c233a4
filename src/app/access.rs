//! The keys and certificates of a server: whether it may do without keys, and following changes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;

use crate::app::AppError;
use crate::config::Settings;
use crate::http::{AppState, KeyRing, Tls};

/// How often the file of keys is looked at.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// The keys in force.
///
/// # Errors
/// `Unprotected`: other machines can reach the address and there is no key, though keys are not
/// switched off; `Keys`: their file cannot be read.
pub(super) fn keys(settings: &Settings, address: SocketAddr) -> Result<KeyRing, AppError> {
    let is_public = !address.ip().to_canonical().is_loopback();
    if settings.server.no_keys {
        if is_public {
            tracing::warn!(%address, "serving whoever can connect, without keys (server.no_keys)");
        }
        return Ok(KeyRing::switched_off());
    }
    let keys_file = settings.keys_file();
    let keys = KeyRing::open(keys_file.clone())?;
    if is_public && keys.count().unwrap_or(0) == 0 {
        return Err(AppError::Unprotected { address, keys_file });
    }
    match keys.count() {
        Some(count) => tracing::info!(count, file = %keys_file.display(), "keys are needed"),
        None => tracing::info!(file = %keys_file.display(), "no keys are needed: there is no file"),
    }
    Ok(keys)
}

/// Reads the keys again when their file changes, and keys and certificates with each signal.
pub(super) async fn follow(
    state: &AppState,
    tls: Option<Arc<Tls>>,
    mut reload: Option<Signal>,
) -> Infallible {
    let mut ticks = tokio::time::interval(FOLLOW_EVERY);
    loop {
        let changed_tls = tokio::select! {
            _ = ticks.tick() => None,
            () = next(&mut reload) => {
                tracing::info!("SIGHUP: reading keys and certificates again");
                tls.clone()
            }
        };
        let state = state.clone();
        let followed = tokio::task::spawn_blocking(move || {
            follow_keys(&state.keys);
            changed_tls.as_deref().map(follow_certificates);
        });
        if let Err(error) = followed.await {
            tracing::error!(%error, "reading keys and certificates again failed");
        }
    }
}

async fn next(reload: &mut Option<Signal>) {
    let Some(signal) = reload else { return std::future::pending().await };
    if signal.recv().await.is_none() {
        *reload = None;
    }
}

fn follow_keys(keys: &KeyRing) {
    match keys.follow() {
        Ok(false) => {}
        Ok(true) => tracing::info!(count = keys.count(), "the keys have changed"),
        Err(error) => tracing::error!(%error, "the former keys stay in force"),
    }
}

fn follow_certificates(tls: &Tls) {
    match tls.reload() {
        Ok(()) => tracing::info!("new connections use the certificate as it is now"),
        Err(error) => tracing::error!(%error, "the former certificate stays in use"),
    }
}
