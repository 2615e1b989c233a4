//! Certificates, and reading them again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::http::ServerSettings;

/// The certificate that new connections use.
pub struct Tls {
    cert: PathBuf,
    key: PathBuf,
    current: RwLock<TlsAcceptor>,
}

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: pem::Error },
    #[error("{} and {} cannot be used together: {source}", .cert.display(), .key.display())]
    Pair { cert: PathBuf, key: PathBuf, source: rustls::Error },
}

impl Tls {
    /// `None` without certificate and key.
    ///
    /// # Errors
    /// They cannot be read, or do not belong together.
    pub fn open(settings: &ServerSettings) -> Result<Option<Self>, TlsError> {
        let (Some(cert), Some(key)) = (&settings.tls_cert, &settings.tls_key) else {
            return Ok(None);
        };
        let current = RwLock::new(acceptor(cert, key)?);
        Ok(Some(Self { cert: cert.clone(), key: key.clone(), current }))
    }

    /// Reads the files again, for new connections.
    ///
    /// # Errors
    /// As `open`; the former certificate stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let new = acceptor(&self.cert, &self.key)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Read { path, source }
    };
    let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(unreadable(cert))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private));
    let mut config = config.map_err(|source| TlsError::Pair {
        cert: cert.to_owned(),
        key: key.to_owned(),
        source,
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
