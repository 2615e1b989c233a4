//! The grant of a request, which may end while the request is answered: its key is revoked,
//! expires, or is created again with fewer rights.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use jiff::Timestamp;
use tokio::sync::watch;
use tower_http::request_id::RequestId;

use crate::http::access::key::ApiKey;
use crate::http::access::key_ring::{Keys, check_expiry, find, unknown};
use crate::http::access::permits;
use crate::http::access::routes::Needs;
use crate::http::bulk::ndjson;
use crate::http::problem::Problem;
use crate::http::request_id;

/// Clocks are set: the time until a key expires is computed again after this time at the latest.
const EXPIRY_CHECKED_EVERY: Duration = Duration::from_secs(60);

/// The key of a request, and the action that needed it.
#[derive(Clone)]
pub struct Grant {
    key: Arc<ApiKey>,
    needs: Needs,
    /// The collection that the path names.
    collection: Option<Arc<str>>,
    keys: watch::Receiver<Keys>,
}

impl Grant {
    pub fn new(
        key: Arc<ApiKey>,
        needs: Needs,
        collection: Option<&str>,
        keys: watch::Receiver<Keys>,
    ) -> Self {
        Self { key, needs, collection: collection.map(Arc::from), keys }
    }

    /// # Errors
    /// `invalid_key`, `not_permitted`: it has ended.
    pub fn check(&mut self) -> Result<(), Problem> {
        // Once the ring is gone, its keys no longer change.
        if self.keys.has_changed().unwrap_or(false) {
            self.renew()?;
        }
        check_expiry(&self.key)
    }

    /// Looks the key up among the keys that are in force now.
    fn renew(&mut self) -> Result<(), Problem> {
        let keys = self.keys.borrow_and_update().clone();
        let keys = keys.ok_or_else(unknown)?;
        self.key = Arc::clone(find(&keys, &self.key.sha256).ok_or_else(unknown)?);
        permits(&self.key, self.needs, self.collection.as_deref())
    }

    /// Waits until it has ended; says how.
    pub async fn ended(mut self) -> Problem {
        loop {
            if let Err(problem) = self.renew().and_then(|()| check_expiry(&self.key)) {
                return problem;
            }
            let left = self.key.expires_at.map(|at| at.duration_since(Timestamp::now()));
            let left = left.and_then(|left| Duration::try_from(left).ok());
            let looked_at_after = left.unwrap_or(EXPIRY_CHECKED_EVERY).min(EXPIRY_CHECKED_EVERY);
            tokio::select! {
                changed = self.keys.changed() => if changed.is_err() {
                    return std::future::pending().await;
                },
                () = tokio::time::sleep(looked_at_after) => {}
            }
        }
    }
}

/// Waits until the grant of a request ends; for ever if it needed no key.
pub async fn ended(grant: Option<Grant>) -> Problem {
    match grant {
        Some(grant) => grant.ended().await,
        None => std::future::pending().await,
    }
}

/// An extension of answers with a stream that checks its grant itself.
#[derive(Clone, Copy)]
pub struct EndsByItself;

/// Breaks off an answer that is streamed once its grant has ended; a stream of NDJSON with the
/// problem as its last line. Inside the layer that compresses answers.
pub fn revocable(grant: Grant, id: RequestId, response: Response) -> Response {
    if response.body().size_hint().exact().is_some()
        || response.extensions().get::<EndsByItself>().is_some()
    {
        return response;
    }
    let media = response.headers().get(header::CONTENT_TYPE);
    let is_ndjson = media.is_some_and(|media| media == ndjson::MEDIA);
    response.map(|body| {
        let ended = Box::pin(grant.ended());
        Body::new(RevocableBody { body: Some(body), ended, is_ndjson, id })
    })
}

struct RevocableBody {
    /// `None` once it is broken off.
    body: Option<Body>,
    ended: Pin<Box<dyn Future<Output = Problem> + Send>>,
    is_ndjson: bool,
    id: RequestId,
}

impl RevocableBody {
    /// The last line of an answer that is broken off, if it is an answer of lines.
    fn break_off(&mut self, problem: &Problem) -> Option<Bytes> {
        self.body = None;
        let request_id = request_id::text(&self.id);
        let (code, detail) = (problem.code.facts().0, &problem.detail);
        tracing::info!(request_id, code, detail, "response aborted: the key is no longer valid");
        let line = serde_json::json!({ "problem": problem.reply(request_id) });
        self.is_ndjson.then(|| ndjson::line(&line))
    }
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.body.is_some()
            && let Poll::Ready(problem) = self.ended.as_mut().poll(context)
            && let Some(line) = self.break_off(&problem)
        {
            return Poll::Ready(Some(Ok(Frame::data(line))));
        }
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => {
                let error = io::Error::other("the key of the request is no longer valid");
                Poll::Ready(Some(Err(axum::Error::new(error))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_some_and(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
