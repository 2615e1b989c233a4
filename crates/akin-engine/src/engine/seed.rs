//! The seed of a collection's hashes.

use serde_json::Value;

use super::{CollectionSettings, EngineError};

/// The settings with the seed of the store that has this identity if they have none of their own; a
/// new store gets a secret seed.
///
/// # Errors
/// [`EngineError::Store`]
pub(super) fn seeded(
    settings: &CollectionSettings,
    stored: Option<&str>,
) -> Result<CollectionSettings, EngineError> {
    let mut settings = settings.clone();
    if settings.sketch.seed.is_none() {
        settings.sketch.seed = Some(match stored {
            Some(identity) => seed_in(identity)?,
            None => secret_seed()?,
        });
    }
    Ok(settings)
}

fn secret_seed() -> Result<u64, EngineError> {
    getrandom::u64().map_err(|error| EngineError::Store {
        reason: format!("cannot get a random seed from the operating system: {error}"),
    })
}

/// The seed in a store's identity.
fn seed_in(identity: &str) -> Result<u64, EngineError> {
    let identity: Value = serde_json::from_str(identity).unwrap_or_default();
    identity["sketch"]["seed"].as_u64().ok_or_else(|| EngineError::Store {
        reason: "the identity of the store has no seed".to_owned(),
    })
}
