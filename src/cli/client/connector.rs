//! Connections to servers, over HTTP or HTTPS, and which certificates are trusted.

use std::error::Error;
use std::fs::File;
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
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::trusted_file::{self, FileError};

/// A client with a pool of connections.
pub type HttpClient = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The certificates that a client trusts.
pub enum Trust {
    /// The authorities of this machine.
    Platform,
    /// Only the authorities of a PEM file, and servers that present a certificate of the file as
    /// their own.
    Authorities(PathBuf),
    /// Only the first certificate of a PEM file, with any names and any issuer.
    Certificate(PathBuf),
}

/// The authorities of a common machine have a quarter of this size.
const PEM_BYTES_MAX: u64 = 1 << 20;

/// Why the trusted certificates cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: FileError },
    #[error("{} is not valid PEM: {source}", .path.display())]
    Damaged { path: PathBuf, source: pem::Error },
    #[error("{} has no certificate in PEM", .path.display())]
    Empty { path: PathBuf },
    #[error("{} has an unusable certificate: {}", .path.display(), tls_reason(.source))]
    Unusable { path: PathBuf, source: rustls::Error },
    #[error("this machine has no certificates of authorities{reason}")]
    NoPlatform { reason: String },
}

/// `trust`: `None` for a server without TLS. Blocks.
///
/// # Errors
/// The certificates to trust cannot be read.
pub fn http_client(
    trust: Option<&Trust>,
    connect_timeout: Duration,
) -> Result<HttpClient, TrustError> {
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(connect_timeout));
    http.set_nodelay(true);
    http.enforce_http(false);
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(client_config(trust)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Ok(legacy::Client::builder(TokioExecutor::new()).build(https))
}

/// TLS for a client.
fn client_config(trust: Option<&Trust>) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring has ciphers for the versions of TLS");
    let builder = match trust {
        None => builder.with_root_certificates(RootCertStore::empty()),
        Some(Trust::Platform) => builder.with_root_certificates(platform()?),
        Some(Trust::Authorities(pem) | Trust::Certificate(pem)) => {
            let is_any_issuer = matches!(trust, Some(Trust::Certificate(_)));
            let verifier = Arc::new(PemVerifier::new(pem, is_any_issuer, provider)?);
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
    };
    Ok(builder.with_no_client_auth())
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

/// The certificates of a PEM file, at least one. It may be any readable file, also a pipe.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let pem = File::open(path).map_err(FileError::Io);
    let pem = pem.and_then(|file| trusted_file::bounded(file, PEM_BYTES_MAX));
    let pem = pem.map_err(|source| TrustError::Read { path: path.to_owned(), source })?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let read = read.map_err(|source| TrustError::Damaged { path: path.to_owned(), source })?;
    match read.is_empty() {
        true => Err(TrustError::Empty { path: path.to_owned() }),
        false => Ok(read),
    }
}

/// Trusts the certificates of a file.
#[derive(Debug)]
struct PemVerifier {
    certificates: Vec<CertificateDer<'static>>,
    /// Of servers with certificates that the file's authorities issued; `None` if only the first
    /// certificate of the file is trusted, whose private key the server must have.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The error of webpki for an authority's certificate. webpki checks the dates first.
const AUTHORITY_AS_SERVER: &str = "CaUsedAsEndEntity";

impl PemVerifier {
    fn new(
        pem: &Path,
        is_any_issuer: bool,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TrustError> {
        let (certificates, algorithms) =
            (certificates(pem)?, provider.signature_verification_algorithms);
        if is_any_issuer {
            return Ok(Self { certificates, verifier: None, algorithms });
        }
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            let unusable = |source| TrustError::Unusable { path: pem.to_owned(), source };
            roots.add(certificate.clone()).map_err(unusable)?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().expect("there are roots, and no lists of revocations");
        Ok(Self { certificates, verifier: Some(verifier), algorithms })
    }

    /// Verifies a certificate of the file that webpki refused as a server's: `openssl req -x509`
    /// marks a self-signed certificate as an authority's, which webpki does not accept as a
    /// server's. Its dates are checked all the same, and its names, if it has names: by default
    /// openssl writes the host into the subject alone, where no client looks for it. The holder of
    /// the key of a certificate without names could sign a certificate with any name.
    fn verify_own(
        end_entity: &CertificateDer<'_>,
        server_name: &ServerName<'_>,
        refused: rustls::Error,
    ) -> Result<(), rustls::Error> {
        let refused = match is_authority_as_server(&refused) {
            false => Err(refused),
            true => verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name),
        };
        refused.or_else(|error| if has_no_names(&error) { Ok(()) } else { Err(error) })
    }
}

fn is_authority_as_server(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertificate(CertificateError::Other(error))
            if error.to_string() == AUTHORITY_AS_SERVER
    )
}

fn has_no_names(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented, ..
        }) if presented.is_empty()
    )
}

impl ServerCertVerifier for PemVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(verifier) = &self.verifier else {
            return match *end_entity == self.certificates[0] {
                true => Ok(ServerCertVerified::assertion()),
                false => Err(CertificateError::ApplicationVerificationFailure.into()),
            };
        };
        let (names, issuers) = (server_name, intermediates);
        match verifier.verify_server_cert(end_entity, issuers, names, ocsp_response, now) {
            Err(refused) if self.certificates.contains(end_entity) => {
                Self::verify_own(end_entity, server_name, refused)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The message of an error of TLS for users.
pub fn tls_reason(error: &rustls::Error) -> String {
    match error {
        _ if is_authority_as_server(error) => {
            "its certificate is self-signed, or an authority's".to_owned()
        }
        // rustls calls every certificate the peer's, also one in a file.
        rustls::Error::InvalidCertificate(CertificateError::BadEncoding) => {
            "it is no X.509 certificate".to_owned()
        }
        rustls::Error::InvalidCertificate(fault) => fault.to_string(),
        error => error.to_string(),
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
