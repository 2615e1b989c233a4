//! A receiver: reads changes, posts them, and tries again until they are accepted.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Request, Uri};
use jiff::Timestamp;
use tokio::time::{sleep, timeout};

use super::LOOK_EVERY;
use super::message::{Message, Secret};
use super::positions::Positions;
use crate::config::WebhookSettings;
use crate::connector::{HttpClient, Trust, TrustError, http_client};
use crate::engine::{Collection, CollectionName, Collections, EngineError, Position};

/// An answer is read to its end, so that its connection can be used again, unless it is longer.
const ANSWER_BYTES_MAX: usize = 64 << 10;

pub(super) struct Receiver {
    /// The receiver's number in the settings, from 1, as the label of its metrics.
    label: String,
    /// The host of the URL; its path may have a secret.
    host: String,
    uri: Uri,
    client: HttpClient,
    secret: Option<Secret>,
    positions: Positions,
    settings: WebhookSettings,
    /// The collections with positions that were already compared with their changes.
    compared: BTreeMap<CollectionName, Weak<Collection>>,
    is_failing: bool,
}

impl Receiver {
    pub fn new(
        number: usize,
        url: &str,
        trust: &Trust,
        secret: Option<Secret>,
        positions: Positions,
        settings: &WebhookSettings,
    ) -> Result<Self, TrustError> {
        let uri: Uri = url.parse().expect("the settings were checked");
        let label = number.to_string();
        for counter in [
            "akin_webhook_changes_delivered_total",
            "akin_webhook_failures_total",
            "akin_webhook_changes_gone_total",
        ] {
            metrics::counter!(counter, "receiver" => label.clone()).absolute(0);
        }
        Ok(Self {
            host: uri.authority().map(|of| of.host().to_owned()).unwrap_or_default(),
            client: http_client(trust, Duration::from_millis(settings.timeout_ms))?,
            label,
            uri,
            secret,
            positions,
            settings: settings.clone(),
            compared: BTreeMap::new(),
            is_failing: false,
        })
    }

    pub async fn deliver(mut self, collections: &Collections) -> Infallible {
        loop {
            let all = collections.list();
            self.report_lag(collections);
            let mut has_sent = false;
            for collection in &all {
                match self.deliver_next(collection, collections).await {
                    Ok(sent) => has_sent |= sent,
                    // The collection was removed or replaced, or the server is stopping.
                    Err(EngineError::Closed) => {}
                    Err(error) => {
                        let name = collection.name();
                        tracing::error!(collection = %name, %error, "cannot read changes");
                        sleep(Duration::from_millis(self.settings.retry_max_ms)).await;
                    }
                }
            }
            if !has_sent {
                self.compared.retain(|_, collection| collection.strong_count() > 0);
                self.positions.retain(|name| all.iter().any(|of| of.name().as_str() == name));
                sleep(LOOK_EVERY).await;
            }
        }
    }

    /// Sends the next changes of a collection until they are accepted; `false` if there are none.
    async fn deliver_next(
        &mut self,
        collection: &Arc<Collection>,
        collections: &Collections,
    ) -> Result<bool, EngineError> {
        let name = collection.name();
        let position = self.positions.get(name);
        let is_compared =
            self.compared.get(name).is_some_and(|of| of.as_ptr() == Arc::as_ptr(collection));
        if is_compared && position.is_some_and(|at| collection.changes_behind(at) == 0) {
            return Ok(false);
        }
        let message = self.next_message(collection, position).await?;
        if message.changes > 0 || message.gone {
            self.send_until_accepted(&message, collections).await;
        }
        self.compared.insert(name.clone(), Arc::downgrade(collection));
        if position == Some(message.next) {
            return Ok(false);
        }
        self.positions.set(name, message.next);
        if let Err(error) = self.positions.write().await {
            tracing::error!(%error, "cannot store a webhook's position: a restart repeats changes");
        }
        let delivered = "akin_webhook_changes_delivered_total";
        metrics::counter!(delivered, "receiver" => self.label.clone()).increment(message.changes);
        Ok(true)
    }

    /// The changes after the position; if they are no longer kept, the oldest.
    async fn next_message(
        &self,
        collection: &Collection,
        position: Option<Position>,
    ) -> Result<Message, EngineError> {
        let (max, name) = (self.settings.batch_changes_max, collection.name());
        let bytes_max = self.settings.batch_bytes_max;
        if let Some(after) = position {
            match collection.changes(Some(after), max).await {
                Ok((changes, next)) => {
                    return Ok(Message::new(name, (after, changes, next), false, bytes_max));
                }
                Err(EngineError::ChangesGone) => {
                    let (collection, receiver) = (name.to_string(), &self.label);
                    tracing::warn!(collection, receiver, host = self.host, "changes are lost");
                    let gone = "akin_webhook_changes_gone_total";
                    metrics::counter!(gone, "receiver" => self.label.clone()).increment(1);
                }
                Err(error) => return Err(error),
            }
        }
        let after = collection.oldest_change().await?;
        let (changes, next) = collection.changes(Some(after), max).await?;
        Ok(Message::new(name, (after, changes, next), position.is_some(), bytes_max))
    }

    async fn send_until_accepted(&mut self, message: &Message, collections: &Collections) {
        let mut pause_ms = self.settings.retry_min_ms;
        loop {
            let sent = self.send(message).await;
            let was_failing = std::mem::replace(&mut self.is_failing, sent.is_err());
            let (receiver, host) = (&self.label, &self.host);
            let Err(reason) = sent else {
                if was_failing {
                    tracing::info!(receiver, host, "webhook delivery recovered");
                }
                return;
            };
            if !was_failing {
                tracing::warn!(receiver, host, reason, "webhook delivery failed; retrying");
            }
            let failures = "akin_webhook_failures_total";
            metrics::counter!(failures, "receiver" => self.label.clone()).increment(1);
            self.report_lag(collections);
            sleep(Duration::from_millis(pause_ms)).await;
            pause_ms = pause_ms.saturating_mul(2).min(self.settings.retry_max_ms);
        }
    }

    async fn send(&self, message: &Message) -> Result<(), String> {
        let now_s = Timestamp::now().as_second();
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("akin/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", now_s);
        if let Some(secret) = &self.secret {
            let signature = secret.signature(&message.id, now_s, &message.body);
            request = request.header("webhook-signature", signature);
        }
        let request = request.body(Full::<Bytes>::new(message.body.clone()));
        let request = request.map_err(|error| error.to_string())?;
        let answer = async {
            let response = self.client.request(request).await.map_err(|error| {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                source.unwrap_or_else(|| error.to_string())
            })?;
            let status = response.status();
            let _ = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            if status.is_success() { Ok(()) } else { Err(format!("it answered {status}")) }
        };
        let patience = Duration::from_millis(self.settings.timeout_ms);
        timeout(patience, answer).await.unwrap_or_else(|_| Err("it did not answer".to_owned()))
    }

    /// The changes of all collections that were not delivered yet.
    fn report_lag(&self, collections: &Collections) {
        let behind = |collection: Arc<Collection>| {
            let position = self.positions.get(collection.name());
            position.map_or(0, |position| collection.changes_behind(position))
        };
        let lag: u64 = collections.list().into_iter().map(behind).sum();
        metrics::gauge!("akin_webhook_lag_changes", "receiver" => self.label.clone())
            .set(lag as f64);
    }
}
