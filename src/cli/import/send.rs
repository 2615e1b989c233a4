//! Sends documents until each has been answered, through refusals and lost connections.

use std::io::{self, BufRead, BufReader};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde::Deserialize;

use crate::cli::client::{CallError, Client, Response, ServerProblem};
use akin_files::input::Origin;
use akin_model::answer::Added;

const WAIT_FIRST: Duration = Duration::from_millis(250);
const WAIT_MAX: Duration = Duration::from_secs(10);

/// A document as the API takes it.
pub struct PostedBatch {
    pub json: Vec<u8>,
    pub origin: Origin,
}

/// The server's answer to one document.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum DocumentAnswer {
    Failed { problem: ServerProblem },
    Added(Added),
}

/// The reasons for sending to end early.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Call(#[from] CallError),
    /// Another try would also be refused.
    #[error("the server refuses the import: {0}")]
    Refused(ServerProblem),
    #[error("gave up after {waited_s} s without progress: {reason}")]
    GaveUp { waited_s: u64, reason: String },
}

/// Where and how documents are sent.
pub struct Sender<'a> {
    pub client: &'a Client,
    /// `/documents` with its query.
    pub path: &'a str,
    /// The time to retry without progress.
    pub patience: Duration,
    /// Called with the reason before each retry.
    pub on_wait: &'a (dyn Fn(&str) + Sync),
}

/// The outcome of one request.
struct Attempt {
    unanswered: Vec<PostedBatch>,
    /// `None` only if all were answered.
    why: Option<Setback>,
}

struct Setback {
    reason: String,
    retry_after: Option<Duration>,
}

impl Sender<'_> {
    /// Sends the documents; `on_answer` is called with each exactly once.
    ///
    /// Documents without an answer are sent again, which changes nothing for documents with an id.
    pub fn send(
        &self,
        items: Vec<PostedBatch>,
        on_answer: &mut dyn FnMut(&PostedBatch, DocumentAnswer),
    ) -> Result<(), SendError> {
        let mut left = items;
        let mut moved = Instant::now();
        let mut wait = WAIT_FIRST;
        loop {
            let before = left.len();
            let attempt = self.attempt(left, on_answer)?;
            left = attempt.unanswered;
            if left.is_empty() {
                return Ok(());
            }
            if left.len() < before {
                (moved, wait) = (Instant::now(), WAIT_FIRST);
            }
            let why = attempt.why.expect("unanswered documents have a reason");
            let left = self.patience.saturating_sub(moved.elapsed());
            let Some(pause) = pause(why.retry_after, wait, left, random_share()) else {
                let waited_s = moved.elapsed().as_secs();
                return Err(SendError::GaveUp { waited_s, reason: why.reason });
            };
            (self.on_wait)(&why.reason);
            std::thread::sleep(pause);
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    fn attempt(
        &self,
        items: Vec<PostedBatch>,
        on_answer: &mut dyn FnMut(&PostedBatch, DocumentAnswer),
    ) -> Result<Attempt, SendError> {
        let mut body = Vec::with_capacity(items.iter().map(|item| item.json.len() + 1).sum());
        for item in &items {
            body.extend_from_slice(&item.json);
            body.push(b'\n');
        }
        let response = match self.client.post(self.path, "application/x-ndjson", body) {
            Ok(response) => response,
            Err(error) => {
                let why = Some(Setback { reason: error.to_string(), retry_after: None });
                return Ok(Attempt { unanswered: items, why });
            }
        };
        if response.status() == StatusCode::OK {
            return Ok(take_answers(response, items, on_answer));
        }
        let problem = ServerProblem::read(response);
        if !problem.is_temporary() {
            return Err(SendError::Refused(problem));
        }
        Ok(Attempt { unanswered: items, why: Some(Setback::of(&problem)) })
    }
}

/// How long to wait for the next try; `None` if that is longer than `left`. Clients that were
/// refused at the same time must not all come back at the same time, so a random share is added.
fn pause(named: Option<Duration>, wait: Duration, left: Duration, share: f64) -> Option<Duration> {
    let least = named.unwrap_or(wait / 2);
    let spread = named.unwrap_or_default().max(wait) / 2;
    (least <= left).then(|| (least + spread.mul_f64(share)).min(left))
}

/// A number from 0 to 1.
fn random_share() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

impl Setback {
    fn of(problem: &ServerProblem) -> Self {
        Self { reason: problem.to_string(), retry_after: problem.retry_after }
    }
}

/// Answers come in the order of the documents, a line each.
fn take_answers(
    response: Response,
    items: Vec<PostedBatch>,
    on_answer: &mut dyn FnMut(&PostedBatch, DocumentAnswer),
) -> Attempt {
    let mut lines = BufReader::new(response.into_body()).split(b'\n');
    let mut unanswered = Vec::new();
    let mut why = None;
    let mut items = items.into_iter();
    for item in items.by_ref() {
        match next_answer(&mut lines) {
            Ok(DocumentAnswer::Failed { problem }) if problem.is_temporary() => {
                why = Some(Setback::of(&problem));
                unanswered.push(item);
            }
            Ok(answer) => on_answer(&item, answer),
            Err(reason) => {
                why = Some(Setback { reason, retry_after: None });
                unanswered.push(item);
                break;
            }
        }
    }
    unanswered.extend(items);
    Attempt { unanswered, why }
}

fn next_answer(
    lines: &mut impl Iterator<Item = io::Result<Vec<u8>>>,
) -> Result<DocumentAnswer, String> {
    let line = lines.next().ok_or("the server answered only a part")?;
    let line = line.map_err(|error| format!("the answer broke off: {error}"))?;
    serde_json::from_slice(&line).map_err(|error| format!("an answer is invalid: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_were_refused_together_come_back_apart() {
        let s = Duration::from_secs;
        let pause = |named, left, share| pause(named, s(2), left, share);
        assert_eq!(pause(Some(s(4)), s(60), 0.0), Some(s(4)), "not before the named time");
        assert_eq!(pause(Some(s(4)), s(60), 1.0), Some(s(6)));
        assert_eq!(pause(Some(s(0)), s(60), 1.0), Some(s(1)));
        assert_eq!(pause(None, s(60), 0.0), Some(s(1)));
        assert_eq!(pause(None, s(60), 1.0), Some(s(2)));
        assert_eq!(pause(Some(s(4)), s(5), 1.0), Some(s(5)), "within the patience");
        assert_eq!(pause(Some(s(4)), s(3), 0.0), None);
        let shares: Vec<_> = (0..8).map(|_| random_share()).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        assert!(shares.iter().any(|share| *share != shares[0]), "{shares:?}");
    }
}
