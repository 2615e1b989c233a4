//! Webhooks: changes of documents, posted to the receivers of the settings, in the order of each
//! collection's log and at least once.
//!
//! Each receiver has a position in every collection, in a file of the data directory
//! ([`positions`]). It is written only after the receiver has accepted a message, so a message that
//! a stop or a crash interrupts is sent again. A failing receiver is retried after pauses that
//! double; a single message is kept in memory for it. If a collection no longer keeps the changes
//! after its position (`storage.changes_kept`, or the collection was reindexed, restored or
//! recreated), the next message says `changes_gone` and begins with the oldest kept change.
//!
//! A receiver that is new in the settings begins with the changes from then on; of collections that
//! are created later it gets everything.

mod message;
mod positions;
mod receiver;

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::spawn_blocking;

use crate::config::WebhookSettings;
use crate::connector::{Pem, Trust, TrustError};
use crate::engine::{Collections, EngineError};
use message::Secret;
use positions::{Positions, PositionsError};
use receiver::Receiver;

/// How often receivers look for changes.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why webhooks cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("webhooks.secret_file: {0}")]
    Secret(String),
    #[error("webhooks.ca_file: {0}")]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Positions(#[from] PositionsError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// All receivers of a server.
pub(super) struct Webhooks(Vec<Receiver>);

impl Webhooks {
    /// Reads the secret and the positions. Called before the collections are served, so that a new
    /// receiver misses nothing.
    ///
    /// # Errors
    /// The secret, the certificates or the positions cannot be read, or these not be written.
    pub async fn open(
        settings: &WebhookSettings,
        data_dir: PathBuf,
        collections: &Collections,
    ) -> Result<Self, WebhookError> {
        let mut receivers = Vec::with_capacity(settings.urls.len());
        if settings.urls.is_empty() {
            return Ok(Self(receivers));
        }
        let secret = match settings.secret_file.clone() {
            None => None,
            Some(path) => {
                let read = spawn_blocking(move || Secret::read(&path)).await;
                Some(read.expect("it does not panic").map_err(WebhookError::Secret)?)
            }
        };
        let authorities = match settings.ca_file.clone() {
            None => None,
            Some(path) => {
                let read = spawn_blocking(move || Pem::read_trusted(path)).await;
                Some(read.expect("it does not panic")?)
            }
        };
        for (at, url) in settings.urls.iter().enumerate() {
            let positions = Positions::open(data_dir.clone(), url.clone(), collections).await?;
            let trust = match (&authorities, url.starts_with("https:")) {
                (_, false) => Trust::Nobody,
                (None, true) => Trust::Platform,
                (Some(pem), true) => Trust::Authorities(pem.clone()),
            };
            let secret = secret.clone();
            receivers.push(Receiver::new(at + 1, url, &trust, secret, positions, settings)?);
        }
        Ok(Self(receivers))
    }

    /// Never ends.
    pub async fn deliver(self, collections: &Collections) -> Infallible {
        join_all(self.0.into_iter().map(|receiver| receiver.deliver(collections))).await;
        std::future::pending().await
    }
}
