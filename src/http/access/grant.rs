//! The grant of a request, which may end while the request is answered: its key is revoked,
//! expires, or is created again with fewer rights.

use std::future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header;
use axum::response::Response;
use futures_util::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use tokio::sync::watch;
use tower_http::request_id::RequestId;

use crate::http::access::key_ring::{Keys, check_expiry, find, unknown};
use crate::http::access::{ApiKey, Needs, permits};
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
                    return future::pending().await;
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
        None => future::pending().await,
    }
}

/// An extension of answers with a stream that checks its grant itself.
#[derive(Clone, Copy)]
pub struct EndsByItself;

/// Breaks off an answer that is streamed once its grant has ended. Inside the layer that compresses
/// answers.
pub fn revocable(grant: Grant, id: RequestId, response: Response) -> Response {
    if response.body().size_hint().exact().is_some()
        || response.extensions().get::<EndsByItself>().is_some()
    {
        return response;
    }
    let media = response.headers().get(header::CONTENT_TYPE);
    let is_ndjson = media.is_some_and(|media| media == ndjson::MEDIA);
    let ended = grant.ended().boxed().shared();
    let last = {
        let ended = ended.clone();
        // `None`: the answer was sent to its end.
        let last = async move { Some(broken_off(ended.peek()?, is_ndjson, &id)) };
        last.into_stream().filter_map(future::ready).flat_map(stream::iter)
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended).chain(last)))
}

/// The end of the answer: the problem, if the answer is NDJSON, and then the end of the connection.
fn broken_off(
    problem: &Problem,
    is_ndjson: bool,
    id: &RequestId,
) -> impl Iterator<Item = Result<Bytes, axum::Error>> + use<> {
    let request_id = request_id::text(id);
    let (code, detail) = (problem.code.facts().0, &problem.detail);
    tracing::info!(request_id, code, detail, "response aborted: the key is no longer valid");
    let line = ndjson::line(&serde_json::json!({ "problem": problem.reply(request_id) }));
    let error = io::Error::other("the key of the request is no longer valid");
    let line = is_ndjson.then_some(Ok(line));
    line.into_iter().chain([Err(axum::Error::new(error))])
}
