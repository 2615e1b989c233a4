//! Removing documents, versions and sets.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::announcing::added;
use super::client::Reply;
use super::command::{Command, number};
use super::entries::{Entry, place_of_member};
use super::failure::unavailable;
use super::layout::{DOCUMENT_PARTS, Leftover, Part, be_bytes, member};
use super::versions::VersionRecord;
use super::{Shared, scripts};
use crate::backend::{BackendError, Version};
use crate::document::{DocumentId, Ordinal};
use akin_core::scheme::{Key, Scheme};
use akin_core::sketch::Sketch;

/// Removals under way at once.
const REMOVALS_AT_ONCE: usize = 64;

/// Which version a removal is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    /// The live version, unless it has expired.
    Alive,
    /// This version, unless it was replaced.
    Only(Ordinal),
    /// The live version, if it has expired.
    Expired,
}

impl Shared {
    /// Removes a document; `false` if it does not exist.
    pub(super) async fn remove(&self, id: &DocumentId, which: Which) -> Result<bool, BackendError> {
        // A document that has expired is absent anyway.
        if !matches!(which, Which::Expired) {
            self.check_stands().await?;
        }
        let since = self.connection.generation();
        let part = Part::of_id(id);
        let (ordinal, state) = match which {
            Which::Alive => (Bytes::new(), "alive"),
            Which::Only(ordinal) => (Bytes::copy_from_slice(&be_bytes(ordinal)), ""),
            Which::Expired => (Bytes::new(), "expired"),
        };
        let remove = scripts::REMOVE.call(
            vec![
                self.layout.document(id),
                self.layout.ids(part),
                self.layout.expiries(part),
                self.layout.queue(part),
                self.layout.removed(id, token()?),
            ],
            vec![
                Bytes::copy_from_slice(id.as_str().as_bytes()),
                ordinal,
                number(self.now_ms()),
                Bytes::from_static(state.as_bytes()),
                number(2 * self.deadline.as_millis()),
            ],
        );
        let Some(old) = self.connection.call_one(remove).await?.bytes() else { return Ok(false) };
        // Before it is cleared: a failover that undoes the removal must find the document whole.
        self.connection.wait_for_replicas(since).await?;
        if let Some(old) = VersionRecord::decode(&old)
            && let Err(error) = self.clear_replaced(id, &old).await
        {
            tracing::warn!(%error, "cleanup failed; the repair task will retry");
        }
        Ok(true)
    }

    pub(super) async fn remove_versions(
        &self,
        versions: Vec<Version>,
    ) -> Result<u64, BackendError> {
        let remove = |version: Version| async move {
            self.remove(&version.id, Which::Only(version.ordinal)).await
        };
        let removals = stream::iter(versions.into_iter().map(remove));
        let removed = removals.buffer_unordered(REMOVALS_AT_ONCE);
        removed.try_fold(0, async |sum, removed| Ok(sum + u64::from(removed))).await
    }

    /// Removes at most `max` expired documents.
    pub(super) async fn remove_expired(&self, max: usize) -> Result<u64, BackendError> {
        let per_part = number(max.div_ceil(DOCUMENT_PARTS as usize).max(1));
        let due = |part| {
            let range = ["-inf".to_owned(), self.now_ms().to_string(), "LIMIT".to_owned()];
            let range = range.into_iter().map(|text| Bytes::from(text.into_bytes()));
            let range = range.chain([number(0), per_part.clone()]);
            Command::new("ZRANGEBYSCORE", self.layout.expiries(part), range)
        };
        let due = self.connection.call(Part::all_of_documents().map(due).collect()).await?;
        let ids = due.into_iter().flat_map(Reply::strings).filter_map(|id| id_of(&id));
        let remove = |id: DocumentId| async move { self.remove(&id, Which::Expired).await };
        let removals = stream::iter(ids.take(max).map(remove));
        let removed = removals.buffer_unordered(REMOVALS_AT_ONCE);
        removed.try_fold(0, async |sum, removed| Ok(sum + u64::from(removed))).await
    }

    /// Withdraws a version if it is pending; a live version stays.
    pub(super) async fn withdraw(
        &self,
        version: &Version,
        fingerprint: u64,
    ) -> Result<(), BackendError> {
        match self.end_pending(version).await? {
            true => Ok(()),
            false => self.clear(version, fingerprint, &added(version, fingerprint)).await,
        }
    }

    /// Makes a version no longer pending; whether it is live.
    pub(super) async fn end_pending(&self, version: &Version) -> Result<bool, BackendError> {
        let commands = vec![
            Command::new("DEL", self.layout.pending(version), []),
            Command::new("GET", self.layout.document(&version.id), []),
        ];
        let live = self.connection.call(commands).await?.pop().and_then(Reply::bytes);
        let live = live.and_then(|live| VersionRecord::decode(&live));
        Ok(live.is_some_and(|live| live.ordinal == version.ordinal))
    }

    /// Clears a version that was replaced or removed.
    pub(super) async fn clear_replaced(
        &self,
        id: &DocumentId,
        old: &VersionRecord,
    ) -> Result<(), BackendError> {
        let (version, fingerprint) =
            (Version { id: id.clone(), ordinal: old.ordinal }, old.fingerprint);
        let note = Leftover::Replaced { version: version.clone(), fingerprint };
        self.clear(&version, fingerprint, &note).await
    }

    /// Removes all remains of a version that is neither pending nor live, then its note. May be
    /// repeated. Another note of the version stays: its process may not have listed the id yet.
    pub(super) async fn clear(
        &self,
        version: &Version,
        fingerprint: u64,
        note: &Leftover,
    ) -> Result<(), BackendError> {
        let unfile = scripts::UNFILE.call(
            vec![
                self.layout.entry(fingerprint),
                self.layout.members(fingerprint),
                self.layout.arriving(fingerprint),
                self.layout.counters(Part::of_set(fingerprint)),
                self.layout.queue(Part::of_set(fingerprint)),
            ],
            vec![
                member(version),
                number(place_of_member(self.sketch_bytes)),
                number(self.now_ms()),
                Bytes::copy_from_slice(&fingerprint.to_be_bytes()),
                Bytes::copy_from_slice(&token()?.to_be_bytes()),
            ],
        );
        let entry = self.connection.call_one(unfile).await?.bytes();
        if let Some(entry) = entry.and_then(|entry| Entry::decode(&entry, self.sketch_bytes)) {
            self.end_entry(fingerprint, &entry.sketch).await?;
        }
        if let Some(contents) = &self.contents {
            contents.delete(version.ordinal).await?;
        }
        let queue = self.layout.queue(Part::of_id(&version.id));
        self.connection.call_one(Command::new("ZREM", queue, [note.encode()])).await.map(|_| ())
    }

    /// Removes the postings of an entry without members, then the entry.
    pub(super) async fn end_entry(
        &self,
        fingerprint: u64,
        sketch: &Sketch,
    ) -> Result<(), BackendError> {
        let keys = self.keys_of(fingerprint, sketch).await?;
        let take = |&key: &Key| {
            Command::new("ZREM", self.layout.block(key), [self.layout.posting(key, fingerprint)])
        };
        self.connection.call(keys.iter().map(take).collect()).await?;
        self.end(fingerprint, Some(keys.len())).await
    }

    /// Removes an entry after its postings, of which there were `keys`, if that is known.
    pub(super) async fn end(
        &self,
        fingerprint: u64,
        keys: Option<usize>,
    ) -> Result<(), BackendError> {
        let counted = keys.filter(|_| self.counts_keys()).map(number);
        let end = scripts::END.call(
            vec![
                self.layout.entry(fingerprint),
                self.layout.counters(Part::of_set(fingerprint)),
                self.layout.queue(Part::of_set(fingerprint)),
            ],
            vec![Bytes::copy_from_slice(&fingerprint.to_be_bytes()), counted.unwrap_or_default()],
        );
        self.connection.call_one(end).await.map(|_| ())
    }

    /// The keys under which a set is indexed.
    async fn keys_of(&self, fingerprint: u64, sketch: &Sketch) -> Result<Vec<Key>, BackendError> {
        if !matches!(self.scheme, Scheme::Prefix(_)) {
            return Ok(self.scheme.all_keys(sketch.as_bytes()).collect());
        }
        let sets = self.read_sets(&[fingerprint]).await?;
        let set = sets.into_iter().flatten().next();
        Ok(set.map_or_else(Vec::new, |set| self.scheme.arrival_keys(&set, sketch)))
    }
}

/// A number that no other call has.
pub(super) fn token() -> Result<u64, BackendError> {
    getrandom::u64().map_err(|error| unavailable(error.to_string()))
}

/// Ids were checked when they were written.
pub(super) fn id_of(bytes: &[u8]) -> Option<DocumentId> {
    DocumentId::new(Arc::from(str::from_utf8(bytes).ok()?)).ok()
}
