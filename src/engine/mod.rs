//! The product on a page: add, similar, compare, get, remove, list, export, snapshot.

mod analysis;
mod error;
mod settings;
mod types;

pub use analysis::{Analyser, Analysis};
pub use error::EngineError;
pub use settings::{CollectionSettings, LimitSettings, StoreSettings};
pub use types::*;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::document::{Content, Document, DocumentId};
use crate::storage::StorageSettings;

/// One collection, ready to serve.
pub struct Engine {}

impl Engine {
    /// Opens or creates the collection in `dir` and brings its index back. Blocks: call it off the runtime.
    pub fn open(
        _dir: &Path,
        _settings: CollectionSettings,
        _storage: &StorageSettings,
        _progress: &Progress,
    ) -> Result<Self, EngineError> {
        todo!()
    }

    pub fn settings(&self) -> &CollectionSettings {
        todo!()
    }

    /// Makes set and sketch. Pure computation: about 5 µs a kilobyte of text.
    pub fn prepare(&self, _document: Document) -> Result<Prepared, EngineError> {
        todo!()
    }

    /// Fixes the document's place in the order of arrival: of two near-duplicates, and of two documents with
    /// one id, the one admitted first counts as first. Quick.
    pub async fn admit(
        &self,
        _prepared: Prepared,
        _options: AddOptions,
    ) -> Result<Admitted, EngineError> {
        todo!()
    }

    /// Looks for near-duplicates, stores, and returns once the document is durable. Dropping the future
    /// before the document went to the store leaves nothing behind.
    pub async fn complete(&self, _admitted: Admitted) -> Result<Added, EngineError> {
        todo!()
    }

    /// `prepare` (off the runtime when the content is large), `admit` and `complete` in one.
    pub async fn add(
        &self,
        _document: Document,
        _options: AddOptions,
    ) -> Result<Added, EngineError> {
        todo!()
    }

    pub async fn similar(&self, _probe: Probe, _lookup: Lookup) -> Result<Answer, EngineError> {
        todo!()
    }

    pub async fn compare(
        &self,
        _a: Probe,
        _b: Probe,
        _explain: bool,
    ) -> Result<Comparison, EngineError> {
        todo!()
    }

    pub async fn get(&self, _id: &DocumentId) -> Result<StoredDocument, EngineError> {
        todo!()
    }

    pub async fn remove(&self, _id: &DocumentId) -> Result<(), EngineError> {
        todo!()
    }

    /// Ids in byte order, those after `after`.
    pub async fn list(
        &self,
        _after: Option<DocumentId>,
        _limit: usize,
    ) -> Result<Vec<DocumentId>, EngineError> {
        todo!()
    }

    /// Every document, from one consistent view. Stops when the receiver is dropped.
    pub fn export(&self) -> mpsc::Receiver<Result<StoredDocument, EngineError>> {
        todo!()
    }

    pub async fn stats(&self) -> Result<Stats, EngineError> {
        todo!()
    }

    /// Asks for a snapshot; at most one is written at a time, a request meanwhile joins it.
    pub async fn snapshot(self: &Arc<Self>) -> Result<SnapshotInfo, EngineError> {
        todo!()
    }

    pub async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, EngineError> {
        todo!()
    }

    /// Holds the reason once the store refuses to go on; the process should then stop.
    pub fn poisoned(&self) -> watch::Receiver<Option<String>> {
        todo!()
    }

    /// Takes a last snapshot, and closes the store.
    pub async fn close(&self) -> Result<(), EngineError> {
        todo!()
    }
}

/// A content to look up, or a stored document's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    Stored(DocumentId),
    Content(Content),
}
