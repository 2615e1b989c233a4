//! Adding a document, once it is announced: made live in place of the version before it.
//!
//! # Why a first version needs no script
//!
//! `RENAMENX p d` is the step that makes a version live, if it is pending and its id has no live
//! version. The value of `p` is that of `d`, so nothing else must be read or written at that
//! moment. Its reply says which of the two was not so, and then [`scripts::MAKE_LIVE`] follows, or
//! the version was withdrawn. If the reply is lost and the command is repeated, `p` is missing, and
//! `d` has the version's ordinal, unless it was replaced or removed since: then the caller is told
//! to try again.
//!
//! `ZADD i` lists the id, right after it. In between, and if the process dies there, a document is
//! live but not listed; its note in `q`, which only its own process or the repair takes out, and
//! later, leads the repair to list it. If
//! the version is not made live, or is removed in between, `ZADD i` may list an id without a
//! document. `GET d`, which follows, finds this, since a removal takes the id out of `i` in one
//! step with `d`: a removal after `ZADD i` has taken it out, and a removal before `ZADD i` is seen
//! by `GET d`. Then [`scripts::LIST_AGAIN`] decides by `d`, in one step. If it fails, the note
//! stays, and the repair does the same.
//!
//! A version with a time of expiry needs the script: with the time of a version that does not
//! become live, a version that does not expire could be removed as expired.

use std::sync::Arc;

use bytes::Bytes;

use super::announcing::{Announced, added};
use super::client::Reply;
use super::command::{Command, number};
use super::failure::unavailable;
use super::layout::{Part, be_bytes, member};
use super::versions::{Pending, VersionRecord};
use super::{Shared, scripts};
use crate::backend::{BackendError, PreparedDocument, Registered, Stored, Version};
use crate::document::{DocumentId, Ordinal};

impl Shared {
    pub(super) async fn store_one(
        self: Arc<Self>,
        registered: Registered,
    ) -> Result<Stored, BackendError> {
        let Registered { document: prepared, mut arrival, tentative, announced, .. } = registered;
        arrival.wait_for_predecessor().await;
        let announced = announced.and_then(|it| it.downcast::<Announced>().ok());
        let stored = match announced.map(|announced| *announced) {
            // Most documents are new, so the live version is read only if there is one.
            Some(announced) if is_plain(&announced, prepared.only_over) => {
                match self.make_first(announced).await? {
                    None => Stored::Created,
                    announced => self.store_over(&prepared, tentative, announced).await?,
                }
            }
            announced => self.store_over(&prepared, tentative, announced).await?,
        };
        arrival.stored();
        Ok(stored)
    }

    /// Stores a document in place of the live version, if there is one.
    async fn store_over(
        self: &Arc<Self>,
        prepared: &PreparedDocument,
        tentative: bool,
        announced: Option<Announced>,
    ) -> Result<Stored, BackendError> {
        let now_ms = self.now_ms();
        let old = self.live(&prepared.document.id).await?.filter(|old| old.is_alive(now_ms));
        let is_over = |over| old.as_ref().is_some_and(|old| old.ordinal == over);
        if !prepared.only_over.is_none_or(is_over) {
            return Err(BackendError::Changed);
        }
        if let Some(old) = &old {
            let new = self.version_of(prepared, Ordinal::MIN);
            let is_same =
                old.content_hash == new.content_hash && old.expires_at_ms == new.expires_at_ms;
            if is_same {
                return self.file_again(prepared, old).await.map(|()| Stored::Unchanged);
            }
        }
        let mut announced = match announced {
            Some(announced) => Some(announced),
            None => Some(self.begin(prepared, Pending::NONE, tentative).await?),
        };
        if let Some(first) =
            announced.take_if(|announced| old.is_none() && is_plain(announced, prepared.only_over))
        {
            announced = self.make_first(first).await?;
        }
        let replaced = match announced {
            Some(announced) => self.make_live(announced, prepared.only_over, old).await?,
            None => None,
        };
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
        let pending = Pending { ticket: Pending::NONE, tentative: false, stored: live.clone() };
        // If it fails, the repair decides about the version, which may be replaced in the meantime.
        let since = self.connection.generation();
        let mut again = self.noted(version, pending, since);
        self.connection.call_one(again.note()).await?;
        self.keep_and_file(prepared, &mut again).await?;
        let is_live = self.live(&again.version.id).await?;
        if is_live.is_some_and(|now| now.ordinal == again.version.ordinal) {
            again.is_done = true;
            self.settle(&again.version, live.fingerprint).await?;
        }
        self.connection.wait_for_replicas(since).await
    }

    /// Makes a version live if its id has no live version. Returns the version if its id has one.
    async fn make_first(
        &self,
        mut announced: Announced,
    ) -> Result<Option<Announced>, BackendError> {
        self.check_stands().await?;
        // If it fails, its note must stay: the id may be listed.
        announced.is_filed = false;
        let version = &announced.version;
        let (id, document) = (&version.id, self.layout.document(&version.id));
        let listed = [number(0), Bytes::copy_from_slice(id.as_str().as_bytes())];
        let commands = vec![
            Command::new("RENAMENX", self.layout.pending(version), [document.clone()]),
            Command::new("ZADD", self.layout.ids(Part::of_id(id)), listed),
            Command::new("GET", document, []),
        ];
        let mut replies = self.connection.call(commands).await?;
        let live = replies.pop().and_then(Reply::bytes);
        let live = live.and_then(|live| VersionRecord::decode(&live));
        if live.is_none() {
            self.list_again(id).await?;
        }
        announced.is_filed = true;
        let renamed = replies.first().and_then(Reply::integer);
        if renamed == Some(1) || live.is_some_and(|live| live.ordinal == version.ordinal) {
            announced.is_done = true;
            self.connection.wait_for_replicas(announced.since).await?;
            self.tidy(&announced, None).await;
            return Ok(None);
        }
        match renamed {
            Some(_) => Ok(Some(announced)),
            None => Err(unavailable(WITHDRAWN)),
        }
    }

    /// Lists an id if it has a live version, and else no longer; whether that was not so.
    pub(super) async fn list_again(&self, id: &DocumentId) -> Result<bool, BackendError> {
        let keys = vec![self.layout.document(id), self.layout.ids(Part::of_id(id))];
        let again =
            scripts::LIST_AGAIN.call(keys, vec![Bytes::copy_from_slice(id.as_str().as_bytes())]);
        Ok(self.connection.call_one(again).await?.integer() == Some(1))
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
        self.check_stands().await?;
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
            ],
        );
        let mut reply = self.connection.call_one(flip).await?.array().into_iter();
        let outcome = reply.next().and_then(|outcome| outcome.integer());
        let old = reply.next().and_then(Reply::bytes);
        let mut old = old.and_then(|old| VersionRecord::decode(&old));
        match outcome {
            // A command with a lost reply may have made it live.
            Some(0) => {
                if self.live(id).await?.is_none_or(|live| live.ordinal != version.ordinal) {
                    return Err(unavailable(WITHDRAWN));
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
            match announced.is_arriving {
                true => self.has_arrived(version, fingerprint).await?,
                false => self.settle(version, fingerprint).await?,
            }
            if let Some(old) = old {
                self.clear_replaced(&version.id, old).await?;
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
        let queue = self.layout.queue(Part::of_id(&version.id));
        let settle = Command::new("ZREM", queue, [added(version, fingerprint).encode()]);
        self.connection.call_one(settle).await.map(|_| ())
    }
}

const WITHDRAWN: &str = "the document was withdrawn: it took too long";

/// Whether a version may become live without a script.
fn is_plain(announced: &Announced, over: Option<Ordinal>) -> bool {
    over.is_none() && announced.pending.stored.expires_at_ms.is_none()
}
