//! A client of one server that takes every status as an answer.

use std::time::Duration;

use ureq::Agent;
use ureq::http::Request;

pub struct Answer {
    pub status: u16,
    pub body: String,
    pub says_when_to_retry: bool,
}

#[derive(Clone)]
pub struct Caller {
    pub agent: Agent,
    pub url: String,
    /// With which it calls.
    pub key: Option<String>,
}

impl Caller {
    pub fn new(url: &str) -> Self {
        // The server may close a connection after its answer, and a call that is sent on it would
        // fail although the server is there.
        Self::keeping(url, 0)
    }

    /// Keeps so many connections alive after their answers.
    pub fn keeping(url: &str, connections: usize) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(180)))
            .max_idle_connections(connections)
            .max_idle_connections_per_host(connections)
            .build();
        Self { agent: config.into(), url: url.to_owned(), key: None }
    }

    /// # Errors
    /// The server is gone, so whether it did anything is unknown.
    pub fn call(
        &self,
        method: &str,
        path: &str,
        (media, body): (&str, String),
    ) -> Result<Answer, ureq::Error> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        let mut request = request.header("content-type", media);
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let request = request.body(body).unwrap();
        let mut answer = self.agent.run(request)?;
        Ok(Answer {
            status: answer.status().as_u16(),
            body: answer.body_mut().with_config().limit(u64::MAX).read_to_string()?,
            says_when_to_retry: answer.headers().contains_key("retry-after"),
        })
    }

    /// # Errors
    /// As [`Self::call`].
    pub fn get(&self, path: &str) -> Result<(u16, Vec<u8>), ureq::Error> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut answer = request.call()?;
        let status = answer.status().as_u16();
        Ok((status, answer.body_mut().with_config().limit(u64::MAX).read_to_vec()?))
    }
}
