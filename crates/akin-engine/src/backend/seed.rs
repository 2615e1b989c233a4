//! The seed of a collection's hashes.

use serde_json::Value;

use super::BackendError;
use akin_model::settings::CollectionSettings;

/// The settings with the seed of the store that has this identity if they have none of their own; a
/// new store gets a secret seed.
///
/// # Errors
/// [`BackendError::Store`]
pub fn seeded(
    settings: &CollectionSettings,
    stored: Option<&str>,
) -> Result<CollectionSettings, BackendError> {
    let mut settings = settings.clone();
    if settings.sketch.seed.is_none() {
        settings.sketch.seed = Some(match stored {
            Some(identity) => seed_in(identity)?,
            None => secret_seed()?,
        });
    }
    Ok(settings)
}

fn secret_seed() -> Result<u64, BackendError> {
    getrandom::u64().map_err(|error| BackendError::Store {
        reason: format!("cannot get a random seed from the operating system: {error}"),
    })
}

/// The seed in a store's identity.
fn seed_in(identity: &str) -> Result<u64, BackendError> {
    let identity: Value = serde_json::from_str(identity).unwrap_or_default();
    identity["sketch"]["seed"].as_u64().ok_or_else(|| BackendError::Store {
        reason: "the identity of the store has no seed".to_owned(),
    })
}
