//! The collections in Valkey: their names, numbers and settings, in a single slot.
//!
//! | key | type | content |
//! |---|---|---|
//! | `{P}:collections` | hash | name → number, a space, JSON of [`CollectionEntry`] |
//! | `{P}:changes` | number | changes of the hash, by which processes notice them |
//! | `{P}:numbers` | number | the last number given |
//! | `{P}:dropped` | sorted set | numbers of collections that were dropped, by the time |
//! | `{P}:replacing` | hash | collections that are being replaced, see [`super::replacing`] |

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::command::{Command, number};
use super::connection::Connection;
use super::contents::{self, Contents};
use super::{Valkey, check, scripts};
use crate::backend::shared::{
    CollectionEntry, ListedCollection, Replacing, SharedCollections, SharedOptions,
};
use crate::backend::{Backend, BackendError, Clock, ValkeySettings};
use crate::storage::StorageError;

/// Keys removed at a time.
const KEYS_AT_ONCE: usize = 1_000;

/// Valkey, from which collections are opened. Cheap to clone.
#[derive(Clone)]
pub struct ValkeyRegistry {
    pub(super) connection: Connection,
    pub(super) settings: ValkeySettings,
    pub(super) contents: Option<Contents>,
}

impl ValkeyRegistry {
    /// Connects, and warns of settings of the nodes that may lose documents. Blocks, on any thread.
    ///
    /// # Errors
    /// [`BackendError::Unreachable`]
    pub fn open(settings: &ValkeySettings) -> Result<Self, BackendError> {
        let connection = Connection::open(settings)?;
        let checked = connection.clone();
        connection.wait_for(async move { check::warn_of_settings(&checked).await });
        let (settings, within) = (settings.clone(), settings.deadline());
        let contents = match settings.contents.clone() {
            Some(url) => {
                let open = async move { Contents::open(&url, within).await };
                Some(connection.wait_for(open)?)
            }
            None => None,
        };
        Ok(Self { connection, settings, contents })
    }

    pub(super) fn key(&self, name: &str) -> Bytes {
        format!("{{{}}}:{name}", self.settings.prefix).into_bytes().into()
    }

    /// Where a collection keeps its texts; `None` if it keeps none.
    pub(super) fn contents_of(
        &self,
        listed: &ListedCollection,
        keep: bool,
    ) -> Result<Option<Contents>, BackendError> {
        match &self.contents {
            _ if !keep => Ok(None),
            Some(all) => {
                Ok(Some(all.of(&contents::directory(&self.settings.prefix, listed.number))))
            }
            None => Err(BackendError::Unreachable {
                reason: "valkey.contents must say where the texts are kept, or store.text be false"
                    .to_owned(),
            }),
        }
    }

    async fn listed(&self) -> Result<Vec<ListedCollection>, BackendError> {
        let all = Command::new("HGETALL", self.key("collections"), []);
        let mut all = self.connection.call_one(all).await?.strings();
        let mut listed = Vec::new();
        while let (Some(name), Some(raw)) = (all.next(), all.next()) {
            listed.push(read(&name, raw)?);
        }
        Ok(listed)
    }

    /// Whether there was nothing left of the collection with this number.
    async fn remove_collection(&self, number: &[u8]) -> Result<bool, BackendError> {
        let number = String::from_utf8_lossy(number);
        let pattern = format!("{}:{number}:*", self.settings.prefix);
        let mut removed = self.connection.remove_keys(&pattern, KEYS_AT_ONCE).await?;
        if let Some(all) = &self.contents {
            let contents = all.of(&contents::directory(&self.settings.prefix, number));
            loop {
                match contents.delete_some(KEYS_AT_ONCE).await? {
                    0 => break,
                    some => removed += some,
                }
            }
        }
        Ok(removed == 0)
    }
}

#[async_trait]
impl SharedCollections for ValkeyRegistry {
    fn list(&self) -> Result<Vec<ListedCollection>, BackendError> {
        let home = self.clone();
        self.connection.wait_for(async move { home.listed().await })
    }

    fn create(
        &self,
        name: &str,
        settings: String,
        identity: String,
    ) -> Result<(ListedCollection, bool), BackendError> {
        let entry = CollectionEntry { settings, identity, block_bits: self.settings.block_bits() };
        let entry = serde_json::to_string(&entry).expect("strings and numbers are JSON");
        let name = Bytes::copy_from_slice(name.as_bytes());
        let keys = vec![self.key("collections"), self.key("changes"), self.key("numbers")];
        let create = scripts::CREATE.call(keys, vec![name.clone(), entry.into_bytes().into()]);
        let connection = self.connection.clone();
        let reply = self.connection.wait_for(async move { connection.call_one(create).await })?;
        let mut reply = reply.array().into_iter();
        let is_new = reply.next().and_then(|is_new| is_new.integer()) == Some(1);
        let raw = reply.next().and_then(super::client::Reply::bytes).unwrap_or_default();
        Ok((read(&name, raw)?, is_new))
    }

    fn open(
        &self,
        listed: &ListedCollection,
        options: SharedOptions,
    ) -> Result<Arc<dyn Backend>, BackendError> {
        if listed.entry.identity != options.identity {
            let path = format!("the collection '{}' in Valkey", listed.name).into();
            let (stored, given) = (listed.entry.identity.clone(), options.identity);
            return Err(StorageError::OtherSettings { path, stored, given }.into());
        }
        Ok(Arc::new(Valkey::open(self, listed, options)?))
    }

    async fn begin_replacing(
        &self,
        old: &ListedCollection,
        settings: String,
        identity: String,
    ) -> Result<Option<Replacing>, BackendError> {
        self.begin(old, settings, identity).await
    }

    async fn note_replacing(
        &self,
        replacing: &mut Replacing,
        closes: bool,
    ) -> Result<(), BackendError> {
        self.note(replacing, closes).await
    }

    async fn give_name(&self, replacing: &Replacing) -> Result<(), BackendError> {
        self.name_successor(replacing).await
    }

    async fn give_up_replacing(&self, replacing: &Replacing) -> Result<(), BackendError> {
        let name = Bytes::copy_from_slice(replacing.old.name.as_bytes());
        self.give_up(name, replacing.note.clone(), replacing.new.number).await
    }

    fn drop_collection(&self, listed: &ListedCollection) -> Result<(), BackendError> {
        let keys = vec![self.key("collections"), self.key("changes"), self.key("dropped")];
        let name = Bytes::copy_from_slice(listed.name.as_bytes());
        let now = number(Clock::system().now_ms());
        let drop = scripts::DROP.call(keys, vec![name, listed.raw.clone(), now]);
        let connection = self.connection.clone();
        self.connection.wait_for(async move { connection.call_one(drop).await }).map(|_| ())
    }

    async fn changes(&self) -> Result<i64, BackendError> {
        let get = Command::new("GET", self.key("changes"), []);
        let notes = Command::new("HGETALL", self.key("replacing"), []);
        let mut replies = self.connection.call(vec![get, notes]).await?.into_iter();
        let changes = replies.next().and_then(|changes| changes.integer()).unwrap_or(0);
        if let Some(notes) = replies.next() {
            self.give_up_dead(notes).await?;
        }
        Ok(changes)
    }

    /// Processes that have not noticed a drop may still read and write keys. So the keys are
    /// removed after the lease, until a check has found nothing.
    async fn remove_dropped(&self) -> Result<(), BackendError> {
        let since = Clock::system().now_ms().saturating_sub_unsigned(self.settings.lease_ms);
        let range = ["0", "-1", "WITHSCORES"].map(|text| Bytes::from_static(text.as_bytes()));
        let dropped = Command::new("ZRANGE", self.key("dropped"), range);
        let mut dropped = self.connection.call_one(dropped).await?.strings();
        while let (Some(number), Some(at)) = (dropped.next(), dropped.next()) {
            let at = str::from_utf8(&at).ok().and_then(|at| at.parse::<f64>().ok());
            let is_due = at.is_some_and(|at| at < since as f64);
            if is_due && self.remove_collection(&number).await? {
                let forget = Command::new("ZREM", self.key("dropped"), [number]);
                self.connection.call_one(forget).await?;
            }
        }
        Ok(())
    }
}

fn read(name: &[u8], raw: Bytes) -> Result<ListedCollection, BackendError> {
    let broken = || BackendError::Unexpected { what: "the settings of a collection" };
    let text = str::from_utf8(&raw).map_err(|_| broken())?;
    let (number, entry) = text.split_once(' ').ok_or_else(broken)?;
    let number = number.parse().map_err(|_| broken())?;
    let entry = serde_json::from_str(entry).map_err(|_| broken())?;
    let name = str::from_utf8(name).map_err(|_| broken())?.to_owned();
    Ok(ListedCollection { name, number, entry, raw })
}
