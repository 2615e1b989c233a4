//! The database that a URL names, and connections to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use akin_engine::backend::BackendError;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::error::failed;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A host that is silent for this long is asked whether it is there, again and again.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);

/// Questions without an answer after which the connection is given up.
const KEEPALIVES_UNANSWERED: u32 = 3;

/// Where the documents are. Its `Debug` has no password.
pub(crate) struct Database {
    config: Config,
    /// `None`: without TLS.
    tls: Option<ClientConfig>,
}

/// A connection that is closed when it is dropped. A write that it waits for may still happen.
pub(crate) struct DatabaseConnection {
    pub client: Client,
    driver: JoinHandle<()>,
}

/// The parameters of a URL that are not tokio-postgres's.
#[derive(Default)]
struct TlsParameters {
    mode: Option<String>,
    root_certificate: Option<String>,
}

impl Database {
    /// A `postgres://` URL as of libpq, with several hosts if there are standbys: the connection
    /// goes to the server that accepts writes. Certificates are verified in every `sslmode` but
    /// `disable`, and this is the default only for sockets and loopback. A URL without a password
    /// takes the password of the environment variable `PGPASSWORD`, as with libpq.
    ///
    /// # Errors
    /// What is wrong with the URL, without the URL: it has a password.
    pub fn parse(url: &str) -> Result<Self, String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err("must begin with postgres://".to_owned());
        }
        let (url, parameters) = TlsParameters::taken_from(url);
        let mut config: Config = url.parse().map_err(|error| reason(&error))?;
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os("PGPASSWORD")
        {
            config.password(password.as_encoded_bytes());
        }
        let is_near = config.get_hosts().iter().all(is_near);
        let uses_tls = match parameters.mode.as_deref() {
            Some("disable") => false,
            None => !is_near,
            Some("prefer" | "require" | "verify-ca" | "verify-full") => true,
            Some(other) => return Err(format!("sslmode must be disable or require, not {other}")),
        };
        config.ssl_mode(if uses_tls { SslMode::Require } else { SslMode::Disable });
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.application_name(config.get_application_name().unwrap_or("akin").to_owned());
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(config.get_keepalives_idle().min(KEEPALIVE_IDLE));
        config.keepalives_interval(config.get_keepalives_interval().unwrap_or(KEEPALIVE_IDLE));
        config.keepalives_retries(config.get_keepalives_retries().unwrap_or(KEEPALIVES_UNANSWERED));
        let tls = uses_tls.then(|| tls(parameters.root_certificate.as_deref())).transpose()?;
        Ok(Self { config, tls })
    }

    /// # Errors
    /// `OutOfService`: no host accepts a connection, and writes.
    pub async fn connect(&self) -> Result<DatabaseConnection, BackendError> {
        match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(failed)?;
                Ok(DatabaseConnection { client, driver: tokio::spawn(driven(connection)) })
            }
            Some(tls) => {
                let connect = self.config.connect(MakeRustlsConnect::new(tls.clone()));
                let (client, connection) = connect.await.map_err(failed)?;
                Ok(DatabaseConnection { client, driver: tokio::spawn(driven(connection)) })
            }
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("hosts", &self.config.get_hosts()).finish_non_exhaustive()
    }
}

impl Drop for DatabaseConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A failed connection fails the queries that wait for it, which report the failure.
async fn driven(connection: impl Future<Output = Result<(), tokio_postgres::Error>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to the database ended");
    }
}

fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        Host::Unix(_) => true,
    }
}

impl TlsParameters {
    fn taken_from(url: &str) -> (String, Self) {
        let mut taken = Self::default();
        let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), taken) };
        let is_left = |parameter: &&str| match parameter.split_once('=') {
            Some(("sslmode", mode)) => {
                taken.mode = Some(mode.to_owned());
                false
            }
            Some(("sslrootcert", path)) => {
                taken.root_certificate = Some(path.replace("%2F", "/").replace("%2f", "/"));
                false
            }
            _ => true,
        };
        let left: Vec<&str> = query.split('&').filter(is_left).collect();
        let mark = if left.is_empty() { "" } else { "?" };
        (format!("{base}{mark}{}", left.join("&")), taken)
    }
}

/// Trusts the authorities of a file (PEM), or of the operating system.
fn tls(root_certificate: Option<&str>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match root_certificate {
        Some(path) => {
            let unreadable = |error| format!("sslrootcert: {path}: {error}");
            for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                let certificate = certificate.map_err(unreadable)?;
                roots.add(certificate).map_err(|error| format!("sslrootcert: {path}: {error}"))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        let from = root_certificate.unwrap_or("the operating system");
        return Err(format!("{from} has no certificate of an authority (sslrootcert)"));
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The causes of an error, as tokio-postgres leaves them out.
pub(crate) fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_the_default_for_every_host_but_the_own() {
        for (url, uses_tls) in [
            ("postgres://u@127.0.0.1/akin", false),
            ("postgres://u@%2Frun%2Fpostgresql/akin", false),
            ("postgres://u@127.0.0.1,db/akin?sslmode=disable", false),
            ("postgres://u@127.0.0.1/akin?sslmode=require&connect_timeout=3", true),
        ] {
            match Database::parse(url) {
                Ok(database) => assert_eq!(database.tls.is_some(), uses_tls, "{url}"),
                // A machine without authorities cannot verify anything.
                Err(error) => assert!(uses_tls && error.contains("no certificate"), "{error}"),
            }
        }
    }

    #[test]
    fn faults_of_a_url_do_not_show_its_password() {
        for url in [
            "mysql://u:secret@db/akin",
            "postgres://u:secret@db/akin?sslmode=none",
            "postgres://u:secret@db:port/akin?sslmode=disable",
            "postgres://u:secret@db/akin?sslrootcert=/none.pem",
        ] {
            let error = Database::parse(url).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
        let database = Database::parse("postgres://u:secret@127.0.0.1/akin").unwrap();
        assert!(!format!("{database:?}").contains("secret"));
    }
}
