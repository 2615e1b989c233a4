//! Speaks HTTP to a server, from blocking code.
//!
//! hyper sends a body and receives the answer at the same time. A bulk import needs that: it is
//! answered line by line while its body arrives, and a server stops reading from a client that does
//! not read.

mod body;
mod connector;
mod problem;

pub use body::{AnswerBody, read_json, read_whole};
pub use connector::Trust;
pub use problem::ServerProblem;

use std::error::Error as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::client::legacy;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use self::connector::{HttpClient, TrustError, http_client, tls_error, tls_reason};
use super::failure::Failure;
use crate::engine::CollectionName;
use akin_files::output::Inputs;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time to wait for the head of an answer, and for each part of its body.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The time to wait for the head of an answer that takes much work.
pub const PATIENT_TIMEOUT: Duration = Duration::from_secs(3600);
const USER_AGENT_VALUE: &str = concat!("akin/", env!("CARGO_PKG_VERSION"));

/// The server a command talks to.
#[derive(Args, Clone)]
pub struct Server {
    /// The server's address
    #[arg(long, value_name = "URL", env = "AKIN_URL", default_value = "http://127.0.0.1:2546")]
    url: String,
    #[command(flatten)]
    credentials: Credentials,
}

/// TLS roots and API key.
#[derive(Args, Clone)]
pub struct Credentials {
    /// Certificates (PEM) of the authorities to trust for https, instead of the machine's
    #[arg(long, value_name = "FILE", env = "AKIN_CA")]
    ca: Option<PathBuf>,
    /// File with the key to send; AKIN_API_KEY may have the key itself
    #[arg(long, value_name = "FILE", env = "AKIN_API_KEY_FILE")]
    key_file: Option<PathBuf>,
}

/// The API key, unless a file is named. There is no option for the key itself: all users of a
/// machine see the arguments of a process.
const KEY_VARIABLE: &str = "AKIN_API_KEY";

impl Server {
    /// # Errors
    /// The URL or the key is invalid, or the file of the key or of the authorities is unusable.
    pub fn client(&self) -> Result<Client, Failure> {
        self.credentials.client(&self.url, None)
    }

    /// The files that a call reads.
    pub fn inputs(&self) -> Inputs {
        self.credentials.files().collect()
    }
}

impl Credentials {
    /// The files of `--ca` and `--key-file`.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        [&self.ca, &self.key_file].into_iter().flatten().cloned()
    }

    /// Over https the client trusts the authorities of `--ca`, else `certificate`, else the
    /// machine's authorities.
    ///
    /// # Errors
    /// As [`Server::client`].
    pub fn client(&self, url: &str, certificate: Option<PathBuf>) -> Result<Client, Failure> {
        let trust = match (&self.ca, certificate) {
            (Some(ca), _) => Trust::Authorities(ca.clone()),
            (None, Some(certificate)) => Trust::Certificate(certificate),
            (None, None) => Trust::Platform,
        };
        let client = Client::new(url, &trust)?;
        let key = match &self.key_file {
            None => std::env::var(KEY_VARIABLE).unwrap_or_default(),
            Some(path) => fs::read_to_string(path).map_err(|error| {
                Failure::new(format!("cannot read the key in {}: {error}", path.display()))
            })?,
        };
        match key.trim() {
            "" => Ok(client),
            key => client.with_key(key),
        }
    }
}

/// The collection a command works on.
#[derive(Args, Clone)]
pub struct InCollection {
    /// The collection
    #[arg(long, value_name = "NAME", default_value = "default")]
    collection: CollectionName,
}

impl InCollection {
    pub fn named(collection: CollectionName) -> Self {
        Self { collection }
    }

    /// `path` below this collection.
    pub fn path(&self, path: &str) -> String {
        if self.collection.is_default() {
            return path.to_owned();
        }
        format!("/collections/{}{path}", self.collection)
    }

    /// The path of the collection itself.
    pub fn own_path(&self) -> String {
        format!("/collections/{}", self.collection)
    }
}

/// A path with the query parameters that have a value, percent-encoded.
pub fn with_query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let query: Vec<_> =
        given.map(|(name, value)| format!("{name}={}", query_value(value))).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// A client of a server. Several threads may use it; each call takes a connection of its own.
pub struct Client {
    runtime: Runtime,
    http: HttpClient,
    url: String,
    /// The header with the key.
    authorization: Option<HeaderValue>,
}

pub type Response = hyper::Response<AnswerBody>;

/// The reasons for a missing answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("no akin server answers at {url}")]
    Unreachable { url: String },
    #[error("the connection to {url} failed: {reason}")]
    Lost { url: String, reason: String },
    #[error("{url} does not speak HTTP: {reason}")]
    NotHttp { url: String, reason: String },
    #[error("{url} cannot be trusted: {reason}")]
    Untrusted { url: String, reason: String },
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match &error {
            CallError::Unreachable { .. } => Self::with_hint(
                error.to_string(),
                "start a server with `akin serve`, or name its address by --url",
            ),
            CallError::NotHttp { .. } => {
                Self::with_hint(error.to_string(), "if it speaks TLS, its URL begins with https://")
            }
            CallError::Untrusted { .. } => Self::with_hint(
                error.to_string(),
                "name the certificate of its authority, or its own if it is self-signed, by --ca, \
                 and the server by a name that its certificate has; without TLS the URL begins \
                 with http://",
            ),
            CallError::Lost { .. } => Self::new(error.to_string()),
        }
    }
}

impl Client {
    /// `trust` counts only for https.
    ///
    /// # Errors
    /// The URL is invalid, or the certificates to trust cannot be read.
    pub fn new(url: &str, trust: &Trust) -> Result<Self, Failure> {
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        if host.unwrap_or_default().trim_matches('/').is_empty() {
            return Err(Failure::with_hint(
                format!("'{url}' is not the URL of an akin"),
                "it looks like http://127.0.0.1:2546 or https://akin.example",
            ));
        }
        // Without TLS there is no certificate to check, and the files may be absent.
        let trust = url.starts_with("https://").then_some(trust);
        let http = http_client(trust, CONNECT_TIMEOUT)?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        Ok(Self { runtime, http, url: url.trim_end_matches('/').to_owned(), authorization: None })
    }

    fn with_key(mut self, key: &str) -> Result<Self, Failure> {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| Failure::new("a key is a single line of letters and digits"))?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn get(&self, path: &str) -> Result<Response, CallError> {
        self.call(Method::GET, path, None, Bytes::new(), IDLE_TIMEOUT)
    }

    /// Like `get`, with a long time to wait for the head of the answer.
    pub fn get_patiently(&self, path: &str) -> Result<Response, CallError> {
        self.call(Method::GET, path, None, Bytes::new(), PATIENT_TIMEOUT)
    }

    pub fn post(
        &self,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Response, CallError> {
        self.call(Method::POST, path, Some(content_type), body.into(), IDLE_TIMEOUT)
    }

    pub fn put_json(&self, path: &str, body: Vec<u8>) -> Result<Response, CallError> {
        self.call(Method::PUT, path, Some("application/json"), body.into(), IDLE_TIMEOUT)
    }

    pub fn delete(&self, path: &str) -> Result<Response, CallError> {
        self.call(Method::DELETE, path, None, Bytes::new(), IDLE_TIMEOUT)
    }

    fn call(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&'static str>,
        body: Bytes,
        head_timeout: Duration,
    ) -> Result<Response, CallError> {
        let lost = |reason: String| CallError::Lost { url: self.url.clone(), reason };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header(USER_AGENT, USER_AGENT_VALUE);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let request = request.body(Full::new(body)).map_err(|error| lost(error.to_string()))?;
        let answered = self
            .runtime
            .block_on(async { timeout(head_timeout, self.http.request(request)).await })
            .map_err(|_| lost(format!("no answer in {} s", head_timeout.as_secs())))?;
        match answered {
            Ok(response) => Ok(response.map(|body| AnswerBody::new(body, self.runtime.handle()))),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &legacy::Error) -> CallError {
        let url = self.url.clone();
        if let Some(cause) = tls_error(error) {
            return CallError::Untrusted { url, reason: tls_reason(cause) };
        }
        if error.is_connect() {
            return CallError::Unreachable { url };
        }
        let cause = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
        match cause.is_some_and(hyper::Error::is_parse) {
            true => CallError::NotHttp { url, reason: reason(error) },
            false => CallError::Lost { url, reason: reason(error) },
        }
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        Self::with_hint(
            error.to_string(),
            "--ca names a PEM file with the certificates of the authorities to trust",
        )
    }
}

/// An error with its causes.
fn reason(error: &legacy::Error) -> String {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        reason.push_str(": ");
        reason.push_str(&cause.to_string());
        source = cause.source();
    }
    reason
}

/// Letters, digits and these characters need no escape in a query.
const QUERY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Percent-encodes a value for a query.
pub fn query_value(value: &str) -> String {
    utf8_percent_encode(value, QUERY).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_encoded() {
        assert_eq!(query_value("a/b c&d=é%"), "a/b%20c%26d%3D%C3%A9%25");
        let parameters = [("a", None), ("b", Some("x y".to_owned())), ("c", Some("1".to_owned()))];
        assert_eq!(with_query("/similar", &parameters), "/similar?b=x%20y&c=1");
        assert_eq!(with_query("/similar", &parameters[..1]), "/similar");
    }

    #[test]
    fn urls_that_cannot_be_used_are_refused() {
        let client = |url| Client::new(url, &Trust::Platform);
        for url in ["ftp://localhost", "localhost:2546", "http://", "https:///", ""] {
            assert!(client(url).is_err(), "{url}");
        }
        assert_eq!(client("http://localhost:2546/").unwrap().url(), "http://localhost:2546");
    }
}
