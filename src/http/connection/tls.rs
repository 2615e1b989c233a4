//! Certificates, and reading them again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, CertificateError, RootCertStore, ServerConfig};

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
    #[error("{} is damaged PEM: {source}", .path.display())]
    Pem { path: PathBuf, source: pem::Error },
    #[error("{} has no certificate in PEM", .path.display())]
    NoCertificate { path: PathBuf },
    #[error("{} has no private key in PEM, or an encrypted one", .path.display())]
    NoKey { path: PathBuf },
    #[error("{} has an unusable certificate: {reason}", .path.display())]
    Certificate { path: PathBuf, reason: String },
    #[error("{} has an unusable private key: {reason}", .path.display())]
    Key { path: PathBuf, reason: String },
    #[error(
        "the private key in {} is not that of the first certificate in {}: the server's own \
         certificate comes first", .key.display(), .cert.display()
    )]
    Pair { cert: PathBuf, key: PathBuf },
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
        *self.current.write() = new;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.current.read().clone()
    }
}

fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let read = |path: &Path| {
        let read = trusted_file::read(path, BYTES_MAX);
        read.map_err(|source| TlsError::Read { path: path.to_owned(), source })
    };
    let (chain, private) = (read(cert)?.bytes, read(key)?.bytes);
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
    let chain = chain.map_err(|source| TlsError::Pem { path: cert.to_owned(), source })?;
    let private = PrivateKeyDer::from_pem_slice(&private).map_err(|source| match source {
        pem::Error::NoItemsFound => TlsError::NoKey { path: key.to_owned() },
        source => TlsError::Pem { path: key.to_owned(), source },
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has ciphers for the versions of TLS")
        .with_no_client_auth()
        .with_single_cert(chain.clone(), private)
        .map_err(|error| unusable(cert, key, &error))?;
    if let Some(fault) = fault_of_dates(&chain) {
        let file = cert.display();
        tracing::warn!(%file, %fault, "clients refuse the certificate because of its dates");
    }
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unusable(cert: &Path, key: &Path, error: &rustls::Error) -> TlsError {
    let (cert, key) = (cert.to_owned(), key.to_owned());
    match error {
        rustls::Error::NoCertificatesPresented => TlsError::NoCertificate { path: cert },
        // rustls would call it the peer's.
        rustls::Error::InvalidCertificate(CertificateError::BadEncoding) => {
            TlsError::Certificate { path: cert, reason: "it is no X.509 certificate".to_owned() }
        }
        rustls::Error::InvalidCertificate(fault) => {
            TlsError::Certificate { path: cert, reason: fault.to_string() }
        }
        rustls::Error::InconsistentKeys(_) => TlsError::Pair { cert, key },
        _ => TlsError::Key { path: key, reason: error.to_string() },
    }
}

/// Whether the server's own certificate has expired or is not valid yet. webpki checks the dates
/// before names and issuers.
fn fault_of_dates(chain: &[CertificateDer<'static>]) -> Option<CertificateError> {
    let mut roots = RootCertStore::empty();
    roots.add(chain.first()?.clone()).ok()?;
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let (verifier, name) = (verifier.build().ok()?, ServerName::try_from("localhost").ok()?);
    match verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], UnixTime::now()) {
        Err(rustls::Error::InvalidCertificate(
            fault @ (CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }),
        )) => Some(fault),
        _ => None,
    }
}
