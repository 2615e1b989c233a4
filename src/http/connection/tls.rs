//! Certificates, and reading them again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::http::ServerSettings;
use crate::trusted_file::{self, FileError};

/// Of each file. A chain has a few certificates of some kilobytes.
const BYTES_MAX: u64 = 1 << 20;

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
    Read { path: PathBuf, source: FileError },
    #[error("{} is not the PEM that it should be: {source}", .path.display())]
    Pem { path: PathBuf, source: pem::Error },
    #[error("{} and {} cannot be used together: {source}", .cert.display(), .key.display())]
    Pair { cert: PathBuf, key: PathBuf, source: rustls::Error },
}

impl Tls {
    /// `None` without certificate and key. Blocks.
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

    /// Reads the files again, for new connections. Blocks.
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
    let read = |path: &Path| {
        let read = trusted_file::read(path, BYTES_MAX);
        read.map_err(|source| TlsError::Read { path: path.to_owned(), source })
    };
    let no_pem = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Pem { path, source }
    };
    let (chain, private) = (read(cert)?.bytes, read(key)?.bytes);
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
    let chain = chain.map_err(no_pem(cert))?;
    let private = PrivateKeyDer::from_pem_slice(&private).map_err(no_pem(key))?;
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
