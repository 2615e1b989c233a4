//! Adding a document, once it is announced: made live in place of the version before it.

use std::sync::Arc;

use bytes::Bytes;

use super::announcing::Announced;
use super::command::{Command, number};
use super::failure::unavailable;
use super::layout::{Leftover, Part, be_bytes, member};
use super::versions::{Pending, VersionRecord};
use super::{Shared, scripts};
use crate::backend::{BackendError, PreparedDocument, Registered, Stored, Version};
use crate::document::Ordinal;

impl Shared {
    pub(super) async fn store_one(
        self: Arc<Self>,
        registered: Registered,
    ) -> Result<Stored, BackendError> {
        let Registered { document: prepared, mut arrival, tentative, announced, .. } = registered;
        arrival.wait_for_predecessor().await;
        let (id, now_ms) = (&prepared.document.id, self.now_ms());
        let old = self.live(id).await?.filter(|old| old.is_alive(now_ms));
        let is_over = |over| old.as_ref().is_some_and(|old| old.ordinal == over);
        if !prepared.only_over.is_none_or(is_over) {
            return Err(BackendError::Changed);
        }
        if let Some(old) = &old {
            let new = self.version_of(&prepared, Ordinal::MIN);
            let is_same =
                old.content_hash == new.content_hash && old.expires_at_ms == new.expires_at_ms;
            if is_same {
                self.file_again(&prepared, old).await?;
                arrival.stored();
                return Ok(Stored::Unchanged);
            }
        }
        let announced = announced.and_then(|it| it.downcast::<Announced>().ok());
        let announced = match announced {
            Some(announced) => *announced,
            None => self.begin(&prepared, Pending::NONE, tentative).await?,
        };
        let replaced = self.make_live(announced, prepared.only_over, old).await?;
        arrival.stored();
        Ok(match replaced.is_some_and(|old| old.is_alive(now_ms)) {
            true => Stored::Replaced,
            false => Stored::Created,
        })
    }

    /// Writes all keys of a live version again. A failover may have lost some of them, and a client
    /// that posts the document again gets the answer that it is stored.
    async fn file_again(
        self: &Arc<Self>,
        prepared: &PreparedDocument,
        live: &VersionRecord,
    ) -> Result<(), BackendError> {
        let version = Version { id: prepared.document.id.clone(), ordinal: live.ordinal };
        let pending = Pending {
            ticket: Pending::NONE,
            since_ms: self.now_ms(),
            tentative: false,
            stored: live.clone(),
        };
        // If it fails, the repair decides about the version, which may be replaced in the meantime.
        let (shared, since) = (Arc::clone(self), self.connection.generation());
        let mut again =
            Announced { shared, version, pending, since, is_filed: false, is_done: false };
        let queue = self.layout.queue(Part::of_id(&again.version.id));
        let noted = [number(again.pending.since_ms), again.leftover().encode()];
        self.connection.call_one(Command::new("ZADD", queue, noted)).await?;
        self.keep_and_file(prepared, &again).await?;
        let is_live = self.live(&again.version.id).await?;
        if is_live.is_some_and(|now| now.ordinal == again.version.ordinal) {
            again.is_done = true;
            self.settle(&again.version, live.fingerprint).await?;
        }
        self.connection.wait_for_replicas(since).await
    }

    /// Returns the version that was replaced. `before`: the version that was live before the call.
    ///
    /// The replaced version was acknowledged, and a failover must not leave half of it or half of
    /// the new version. So replicas have all of the new version before it becomes live, and have
    /// that it is live before the replaced version is cleared.
    async fn make_live(
        &self,
        mut announced: Announced,
        over: Option<Ordinal>,
        before: Option<VersionRecord>,
    ) -> Result<Option<VersionRecord>, BackendError> {
        if before.is_some() {
            self.connection.wait_for_replicas(announced.since).await?;
        }
        let (version, stored) = (&announced.version, &announced.pending.stored);
        let (id, part) = (&version.id, Part::of_id(&version.id));
        let over = over.map_or(Bytes::new(), |over| Bytes::copy_from_slice(&be_bytes(over)));
        let flip = scripts::MAKE_LIVE.call(
            vec![
                self.layout.document(id),
                self.layout.pending(version),
                self.layout.ids(part),
                self.layout.expiries(part),
                self.layout.queue(part),
            ],
            vec![
                Bytes::copy_from_slice(id.as_str().as_bytes()),
                stored.expires_at_ms.map_or(Bytes::new(), number),
                number(self.now_ms()),
                over,
                announced.leftover().encode(),
                number(u8::from(announced.is_waited_for())),
            ],
        );
        let mut reply = self.connection.call_one(flip).await?.array().into_iter();
        let outcome = reply.next().and_then(|outcome| outcome.integer());
        let old = reply.next().and_then(super::client::Reply::bytes);
        let mut old = old.and_then(|old| VersionRecord::decode(&old));
        match outcome {
            // A command with a lost reply may have made it live.
            Some(0) => {
                if self.live(id).await?.is_none_or(|live| live.ordinal != version.ordinal) {
                    return Err(unavailable("the document was withdrawn: it took too long"));
                }
                old = before;
            }
            Some(1) => return Err(BackendError::Changed),
            Some(2) => {}
            _ => return Err(BackendError::Unexpected { what: "the outcome of a storing" }),
        }
        announced.is_done = true;
        self.connection.wait_for_replicas(announced.since).await?;
        self.tidy(&announced, old.as_ref()).await;
        Ok(old)
    }

    /// The work that remains once a version is live. If it fails, the repair does it.
    async fn tidy(&self, announced: &Announced, old: Option<&VersionRecord>) {
        let (version, fingerprint) = (&announced.version, announced.pending.stored.fingerprint);
        let done = async {
            if announced.is_waited_for() {
                self.has_arrived(version, fingerprint).await?;
            }
            if let Some(old) = old {
                let replaced = Version { id: version.id.clone(), ordinal: old.ordinal };
                self.clear(&replaced, old.fingerprint).await?;
            }
            Ok::<_, BackendError>(())
        };
        if let Err(error) = done.await {
            tracing::warn!(%error, "cleanup failed; the repair task will retry");
        }
    }

    /// Takes the notes of a live version away: nobody has to wait for it any more.
    pub(super) async fn has_arrived(
        &self,
        version: &Version,
        fingerprint: u64,
    ) -> Result<(), BackendError> {
        let arriving = self.layout.arriving(fingerprint);
        self.connection.call_one(Command::new("ZREM", arriving, [member(version)])).await?;
        self.settle(version, fingerprint).await
    }

    /// Takes out the item of its adding. If the version is replaced at the same time, that has an
    /// item of its own.
    async fn settle(&self, version: &Version, fingerprint: u64) -> Result<(), BackendError> {
        let leftover = Leftover::Added { version: version.clone(), fingerprint };
        let queue = self.layout.queue(Part::of_id(&version.id));
        let settle = Command::new("ZREM", queue, [leftover.encode()]);
        self.connection.call_one(settle).await.map(|_| ())
    }
}
