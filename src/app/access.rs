//! The keys of a server: whether it may do without, and following changes of their file.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::signal::unix::Signal;

use crate::app::AppError;
use crate::config::Settings;
use crate::http::{AppState, KeyRing};

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
    if is_public && keys.len().unwrap_or(0) == 0 {
        return Err(AppError::Unprotected { address, keys_file });
    }
    match keys.len() {
        Some(count) => tracing::info!(count, file = %keys_file.display(), "keys are needed"),
        None => tracing::info!(file = %keys_file.display(), "no keys are needed: there is no file"),
    }
    Ok(keys)
}

/// Reads the keys again when their file changes, and with each signal.
pub(super) async fn follow(state: &AppState, mut reload: Option<Signal>) -> Infallible {
    let mut ticks = tokio::time::interval(FOLLOW_EVERY);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = next(&mut reload) => tracing::info!("SIGHUP: reading the keys again"),
        }
        let state = state.clone();
        let followed = tokio::task::spawn_blocking(move || log(&state.keys)).await;
        if let Err(error) = followed {
            tracing::error!(%error, "reading the keys again failed");
        }
    }
}

async fn next(reload: &mut Option<Signal>) {
    let Some(signal) = reload else { return std::future::pending().await };
    if signal.recv().await.is_none() {
        *reload = None;
    }
}

fn log(keys: &KeyRing) {
    match keys.follow() {
        Ok(false) => {}
        Ok(true) => tracing::info!(count = keys.len(), "the keys have changed"),
        Err(error) => tracing::error!(%error, "the former keys stay in force"),
    }
}
