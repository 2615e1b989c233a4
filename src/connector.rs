//! Connections to other servers, over HTTP or HTTPS, and which certificates are trusted.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// Each call takes a connection of a pool.
pub type HttpClient = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Whose certificates are trusted.
pub enum Trust {
    /// No one's: for servers that are reached without TLS.
    Nobody,
    /// The authorities of this machine.
    Platform,
    /// The authorities of a PEM file, and no others.
    Authorities(PathBuf),
    /// The first certificate of a PEM file, whatever names it has and whoever has signed it.
    Certificate(PathBuf),
}

/// Why no one can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: pem::Error },
    #[error("{} has no certificate in PEM", .path.display())]
    Empty { path: PathBuf },
    #[error("{} has an unusable certificate: {source}", .path.display())]
    Unusable { path: PathBuf, source: rustls::Error },
    #[error("this machine has no certificates of authorities{reason}")]
    NoPlatform { reason: String },
}

/// # Errors
/// The certificates to trust cannot be read.
pub fn http_client(trust: &Trust, connect_timeout: Duration) -> Result<HttpClient, TrustError> {
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(connect_timeout));
    http.set_nodelay(true);
    http.enforce_http(false);
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls(trust)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Ok(legacy::Client::builder(TokioExecutor::new()).build(https))
}

fn tls(trust: &Trust) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has ciphers for the versions of TLS");
    let roots = match trust {
        Trust::Nobody => RootCertStore::empty(),
        Trust::Platform => platform()?,
        Trust::Authorities(path) => authorities(path)?,
        Trust::Certificate(path) => {
            let certificate = certificates(path)?.swap_remove(0);
            let only = Arc::new(OnlyOne { certificate, provider });
            return Ok(builder
                .dangerous()
                .with_custom_certificate_verifier(only)
                .with_no_client_auth());
        }
    };
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn platform() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let reason = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(TrustError::NoPlatform { reason });
    }
    Ok(roots)
}

fn authorities(path: &Path) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        let unusable = |source| TrustError::Unusable { path: path.to_owned(), source };
        roots.add(certificate).map_err(unusable)?;
    }
    Ok(roots)
}

/// At least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let read: Vec<_> = read.map_err(|source| TrustError::Read { path: path.to_owned(), source })?;
    match read.is_empty() {
        true => Err(TrustError::Empty { path: path.to_owned() }),
        false => Ok(read),
    }
}

/// Trusts one certificate, whose key the server must have.
#[derive(Debug)]
struct OnlyOne {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OnlyOne {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match *end_entity == self.certificate {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The error of TLS among the causes of an error.
pub fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    // An error of I/O has the cause of the error that it wraps, not that error.
    let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => tls_error(wrapped),
        None => error.source().and_then(tls_error),
    }
}
