//! What the settings say of how nodes are reached: passwords and certificates.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::TlsConnector;

use super::client::Access;
use super::failure::unreachable_because;
use crate::backend::BackendError;
use crate::backend::settings::ValkeySettings;
use crate::connector::{Identity, Pem, Trust, client_config};
use crate::trusted_file;

/// The least time in which a node must have answered a connection.
const CONNECT_MIN: Duration = Duration::from_secs(1);

/// Of the file with the password.
const PASSWORD_BYTES_MAX: u64 = 64 << 10;

/// # Errors
/// [`BackendError::Unreachable`] if a file cannot be used.
pub fn access(settings: &ValkeySettings) -> Result<Access, BackendError> {
    let tls = match settings.tls {
        true => Some(TlsConnector::from(Arc::new(tls(settings)?))),
        false => None,
    };
    Ok(Access {
        username: settings.username.clone(),
        password: password(settings)?,
        tls,
        // It may take several nodes until one of them tells the current slots.
        within: (settings.deadline() / 4).max(CONNECT_MIN),
    })
}

fn tls(settings: &ValkeySettings) -> Result<tokio_rustls::rustls::ClientConfig, BackendError> {
    let read = |path: &Path| Pem::read_trusted(path.to_owned());
    let identity = match (&settings.client_certificate, &settings.client_key) {
        (Some(certificate), Some(key)) => {
            let identity = read(certificate).and_then(|it| Identity::new(&it, &read(key)?));
            Some(identity.map_err(|error| unreachable_because(&error))?)
        }
        _ => None,
    };
    client_config(&Trust::Platform, identity).map_err(|error| unreachable_because(&error))
}

fn password(settings: &ValkeySettings) -> Result<Option<String>, BackendError> {
    let Some(file) = &settings.password_file else {
        return Ok(settings.password.as_ref().map(|password| password.0.clone()));
    };
    let unusable = |reason: &dyn std::fmt::Display| BackendError::Unreachable {
        reason: format!("valkey.password_file: {}: {reason}", file.display()),
    };
    let content = trusted_file::read(file, PASSWORD_BYTES_MAX).map_err(|error| unusable(&error))?;
    let text = String::from_utf8(content.bytes).map_err(|_| unusable(&"it is no text"))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}
