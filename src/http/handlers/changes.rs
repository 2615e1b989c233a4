//! The feed of changes.

use std::time::Duration;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::{IntoParams, ToSchema};

use crate::document::DocumentId;
use crate::engine::{Change, Position};
use crate::http::bulk::ndjson;
use crate::http::problem::Problem;
use crate::http::problem::of_calls::Following;
use crate::http::request::extract::Ready;
use crate::http::request::query::Query;
use crate::http::time::Time;

/// Changes of an answer, if the call does not limit them.
const LIMIT_DEFAULT: u32 = 1_000;

const LIMIT_MAX: u32 = 10_000;

const WAIT_S_MAX: u32 = 60;

/// Which changes are returned.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChangesParameters {
    /// The `position` of an earlier answer. Without it the answer has the position of now alone.
    #[param(value_type = Option<String>, example = "1763856000000-42")]
    since: Option<Since>,
    /// The most operations that are read for an answer.
    #[serde(default = "limit_default", deserialize_with = "limit")]
    #[param(minimum = 1, maximum = 10_000, default = 1_000)]
    limit: u32,
    /// How many seconds the answer waits for something to happen, if nothing has.
    #[serde(default, deserialize_with = "wait_s")]
    #[param(minimum = 0, maximum = 60, default = 0)]
    wait_s: u32,
}

fn limit_default() -> u32 {
    LIMIT_DEFAULT
}

fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within(u32::deserialize(deserializer)?, 1, LIMIT_MAX)
}

fn wait_s<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within(u32::deserialize(deserializer)?, 0, WAIT_S_MAX)
}

fn within<E: de::Error>(value: u32, min: u32, max: u32) -> Result<u32, E> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(E::custom(format!("must be {min}..={max}")))
}

/// A position as clients keep it.
struct Since(Position);

impl<'de> Deserialize<'de> for Since {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_position(&text)
            .map(Self)
            .ok_or_else(|| de::Error::custom("must be the `position` of an answer"))
    }
}

/// A position as clients keep it.
pub fn position_text(position: Position) -> String {
    format!("{}-{}", position.store, position.sequence)
}

/// The position of a text; `None` if it is none.
pub fn parse_position(text: &str) -> Option<Position> {
    let (store, sequence) = text.split_once('-')?;
    Some(Position { store: store.parse().ok()?, sequence: sequence.parse().ok()? })
}

/// A change as JSON, as in the feed.
pub fn change_json(change: &Change) -> Vec<u8> {
    serde_json::to_vec(&ChangesLine::from(change.clone())).expect("a change is plain JSON")
}

/// A line of the feed: a change, or last of all where the next call goes on.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ChangesLine)]
pub enum ChangesLine {
    Stored {
        /// `stored`.
        change: &'static str,
        id: DocumentId,
        stored_at: Time,
    },
    Removed {
        /// `removed`, also if it expired.
        change: &'static str,
        id: DocumentId,
    },
    End {
        /// The `since` of the next call.
        #[schema(example = "1763856000000-42")]
        position: String,
    },
}

impl From<Change> for ChangesLine {
    fn from(change: Change) -> Self {
        let id = change.id;
        match change.stored_at_ms {
            Some(at) => Self::Stored { change: "stored", id, stored_at: Time(at) },
            None => Self::Removed { change: "removed", id },
        }
    }
}

/// What is posted to the receivers in `webhooks.urls`.
#[derive(ToSchema)]
#[schema(as = WebhookMessage)]
#[expect(dead_code, reason = "it documents what app::webhooks writes piece by piece")]
pub struct WebhookMessage {
    #[schema(example = "default")]
    collection: String,
    /// As `GET /changes` has them, but for its last line.
    #[schema(min_items = 1)]
    changes: Vec<ChangesLine>,
    /// The `since` that follows them.
    #[schema(example = "1763856000000-42")]
    position: String,
    /// Changes before these are no longer kept, so all documents must be read again.
    changes_gone: Option<bool>,
}

/// Changes of a collection
///
/// Posted to each of the `urls` in the settings of `[webhooks]`, in order and at least once: until
/// it is answered with 2xx, the same message is sent again, with the same `webhook-id`.
#[utoipa::path(
    post, path = "changes", operation_id = "webhook_changes", tag = "Documents",
    request_body = WebhookMessage,
    params(
        ("webhook-id" = String, Header, description = "The same whenever the message is sent."),
        ("webhook-timestamp" = i64, Header, description = "When it was sent, in Unix seconds."),
        ("webhook-signature" = Option<String>, Header, description = "With a secret: `v1,` and the \
            base64 of HMAC-SHA256 over the id, the timestamp and the body, with full stops \
            between (Standard Webhooks).")
    ),
    responses((status = "2XX", description = "The changes are taken.")))]
#[expect(dead_code, reason = "it documents what receivers are sent")]
fn webhook_changes() {}

#[derive(utoipa::OpenApi)]
#[openapi(paths(webhook_changes), components(schemas(WebhookMessage)))]
pub struct Webhooks;

/// Follow changes
///
/// Returns what happened since a position, in order, a line of NDJSON for each document that was
/// stored or removed, and last of all a line with the `position` for the next call. To keep a
/// copy elsewhere: take the position of now (a call without `since`), read all documents
/// (`GET /export`), then follow the changes from that position. Of a document that was stored
/// several times only the last is reported for certain, and what is reported is on disk. A position
/// that is too old, or of before a reindex, is answered 410 `changes_gone`: begin anew.
#[utoipa::path(
    get, path = "/changes", operation_id = "changes", tag = "Documents",
    params(ChangesParameters),
    responses((status = 200, description = "A change for each line, and the next position.",
        body = ChangesLine, content_type = "application/x-ndjson"), Following),
)]
pub async fn changes(
    Query(parameters): Query<ChangesParameters>,
    Ready(engine): Ready,
) -> Result<Response, Problem> {
    let ChangesParameters { since, limit, wait_s } = parameters;
    let (since, wait) = (since.map(|since| since.0), Duration::from_secs(wait_s.into()));
    let (changes, next) = engine.changes(since, limit as usize, wait).await?;
    let mut lines = Vec::new();
    for change in changes {
        ndjson::write_line(&mut lines, &ChangesLine::from(change));
    }
    ndjson::write_line(&mut lines, &ChangesLine::End { position: position_text(next) });
    Ok(([(header::CONTENT_TYPE, ndjson::MEDIA)], lines).into_response())
}
