//! The body of an answer, read as it arrives.

use std::io::{self, Read};

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::{Client, IDLE_TIMEOUT, Response, ServerProblem};
use crate::cli::failure::Failure;

/// The size of an answer that is read as a whole.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// The body of a response. Reading blocks until bytes arrive.
pub struct AnswerBody {
    incoming: Incoming,
    runtime: Handle,
    /// Bytes that have arrived and are not read yet.
    rest: Bytes,
}

impl AnswerBody {
    pub(super) fn new(incoming: Incoming, runtime: &Handle) -> Self {
        Self { incoming, runtime: runtime.clone(), rest: Bytes::new() }
    }
}

impl Read for AnswerBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            let next = async { timeout(IDLE_TIMEOUT, self.incoming.frame()).await };
            match self.runtime.block_on(next) {
                Ok(Some(Ok(frame))) => self.rest = frame.into_data().unwrap_or_default(),
                Ok(Some(Err(error))) => return Err(io::Error::other(error)),
                Ok(None) => return Ok(0),
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        let read = buffer.len().min(self.rest.len());
        buffer[..read].copy_from_slice(&self.rest.split_to(read));
        Ok(read)
    }
}

impl Client {
    /// # Errors
    /// The server is not akin.
    pub fn parse<T: DeserializeOwned>(&self, answer: &[u8]) -> Result<T, Failure> {
        serde_json::from_slice(answer).map_err(|error| {
            Failure::with_hint(
                format!("the answer of {} is not from akin: {error}", self.url()),
                "--url or AKIN_URL must name an akin of this version",
            )
        })
    }

    /// The body of a successful answer.
    ///
    /// # Errors
    /// The answer is a problem.
    pub fn body(response: Response) -> Result<AnswerBody, Failure> {
        if !response.status().is_success() {
            return Err(ServerProblem::read(response).into());
        }
        Ok(response.into_body())
    }
}

/// The whole body of a successful answer.
///
/// # Errors
/// The answer is a problem, or broke off.
pub fn read_whole(response: Response) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    match Client::body(response)?.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::new(format!("the answer broke off: {error}"))),
    }
}

/// A successful answer, parsed.
///
/// # Errors
/// As [`read_whole`]; or another server than akin answered.
pub fn read_json<T: DeserializeOwned>(client: &Client, response: Response) -> Result<T, Failure> {
    client.parse(&read_whole(response)?)
}
