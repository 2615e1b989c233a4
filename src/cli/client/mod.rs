//! Speaks HTTP to a server.

mod problem;
mod transport;

pub use problem::Problem;

use std::io::Read;
use std::time::Duration;

use clap::Args;
use ureq::http::{Request, Response};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, BodyReader};

use self::transport::DuplexConnector;
use super::failure::Failure;
use crate::engine::CollectionName;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Of one read or write: a server that stands still for so long is given up.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The same of a server that is known to have much to do.
const PATIENCE: Duration = Duration::from_secs(3600);
/// An answer that is read as a whole.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// Where the server is, for every command that asks one.
#[derive(Args, Clone)]
pub struct Server {
    /// The server's address
    #[arg(long, value_name = "URL", env = "AKIN_URL", default_value = "http://127.0.0.1:7700")]
    pub url: String,
}

/// Which collection of a server, for every command that asks one.
#[derive(Args, Clone)]
pub struct InCollection {
    /// The collection
    #[arg(long, value_name = "NAME", default_value = "default")]
    collection: CollectionName,
}

impl InCollection {
    /// The path as it is below this collection.
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

/// One server.
pub struct Client {
    agent: Agent,
    url: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("there is no akin at {url}")]
    Nobody { url: String },
    #[error("the connection to {url} failed: {source}")]
    Lost { url: String, source: Box<ureq::Error> },
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match &error {
            CallError::Nobody { .. } => Self::with_hint(
                error.to_string(),
                "start one with `akin serve`, or name another by --url",
            ),
            CallError::Lost { .. } => Self::new(error.to_string()),
        }
    }
}

impl Client {
    /// # Errors
    /// The URL is not one of plain HTTP.
    pub fn new(url: &str) -> Result<Self, Failure> {
        let host = url.strip_prefix("http://").unwrap_or_default();
        if host.trim_matches('/').is_empty() {
            return Err(Failure::with_hint(
                format!("'{url}' is not the URL of an akin"),
                "it looks like http://127.0.0.1:7700; for https put a proxy in between",
            ));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(IDLE_TIMEOUT))
            .timeout_per_write(Some(IDLE_TIMEOUT))
            .user_agent(concat!("akin/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = Agent::with_parts(config, DuplexConnector, DefaultResolver::default());
        Ok(Self { agent, url: url.trim_end_matches('/').to_owned() })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn get(&self, path: &str) -> Result<Response<Body>, CallError> {
        let request = Request::get(self.to(path)).body(()).map_err(ureq::Error::from);
        request.and_then(|request| self.agent.run(request)).map_err(|error| self.failed(error))
    }

    /// Of an answer that may take its time to begin.
    pub fn get_patiently(&self, path: &str) -> Result<Response<Body>, CallError> {
        let request = self.agent.get(self.to(path)).config();
        let request = request.timeout_per_read(Some(PATIENCE)).build();
        request.call().map_err(|error| self.failed(error))
    }

    pub fn post(
        &self,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<Response<Body>, CallError> {
        self.agent
            .post(self.to(path))
            .content_type(content_type)
            .send(body)
            .map_err(|error| self.failed(error))
    }

    pub fn put_json(&self, path: &str, body: &[u8]) -> Result<Response<Body>, CallError> {
        self.agent
            .put(self.to(path))
            .content_type("application/json")
            .send(body)
            .map_err(|error| self.failed(error))
    }

    /// The body of a good answer of any length, as it comes.
    ///
    /// # Errors
    /// The answer is a problem.
    pub fn stream(response: Response<Body>) -> Result<BodyReader<'static>, Failure> {
        if !response.status().is_success() {
            return Err(Failure::new(Problem::read(response).to_string()));
        }
        Ok(response.into_body().into_with_config().limit(u64::MAX).reader())
    }

    /// The whole body of a good answer.
    ///
    /// # Errors
    /// The answer is a problem, or broke off.
    pub fn body(mut response: Response<Body>) -> Result<Vec<u8>, Failure> {
        if !response.status().is_success() {
            return Err(Failure::new(Problem::read(response).to_string()));
        }
        let mut body = Vec::new();
        let mut reader = response.body_mut().as_reader().take(ANSWER_BYTES_MAX);
        match reader.read_to_end(&mut body) {
            Ok(_) => Ok(body),
            Err(error) => Err(Failure::new(format!("the answer broke off: {error}"))),
        }
    }

    fn to(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn failed(&self, error: ureq::Error) -> CallError {
        let url = self.url.clone();
        match error {
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => CallError::Nobody { url },
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                CallError::Nobody { url }
            }
            error => CallError::Lost { url, source: Box::new(error) },
        }
    }
}

/// Percent-encodes a value for a query.
pub fn query_value(value: &str) -> String {
    use std::fmt::Write;
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(byte as char);
            }
            _ => write!(encoded, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_encoded() {
        assert_eq!(query_value("a/b c&d=é%"), "a/b%20c%26d%3D%C3%A9%25");
    }

    #[test]
    fn urls_that_cannot_be_used_are_refused() {
        for url in ["https://localhost", "localhost:7700", "http://", ""] {
            assert!(Client::new(url).is_err(), "{url}");
        }
        assert_eq!(Client::new("http://localhost:7700/").unwrap().url(), "http://localhost:7700");
    }
}
