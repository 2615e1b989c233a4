//! Adding a document: announced as pending, filed under all its keys, made live.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};

use super::command::{Command, number};
use super::failure::unavailable;
use super::layout::{Leftover, Part, be_bytes, member, posting};
use super::replicas::Generation;
use super::versions::{Entry, Pending, VersionRecord, flags, set_bytes};
use super::{Shared, scripts};
use crate::backend::{BackendError, PreparedDocument, Registered, Stored, Version, content_hash};
use crate::document::{Content, Ordinal};

/// Ordinals that a process takes at a time. Those that it does not use are never used.
const ORDINALS_AT_ONCE: u64 = 256;

/// So that 2⁴⁸ of them last for 34 years, after which the counter goes on by itself.
const ORDINALS_PER_SECOND: u64 = 1_000 * ORDINALS_AT_ONCE;

/// 2026-01-01, in seconds since the epoch.
const ORDINALS_BEGIN: u64 = 1_767_225_600;

/// The first pause before a set is filed again whose entry is being removed.
const PAUSE: Duration = Duration::from_millis(2);

/// A version in the cluster that is not live. Dropping it withdraws it.
pub(crate) struct Announced {
    shared: Arc<Shared>,
    pub(super) version: Version,
    pub(super) pending: Pending,
    since: Generation,
    is_done: bool,
}

impl Announced {
    fn leftover(&self) -> Leftover {
        let fingerprint = self.pending.stored.fingerprint;
        Leftover::Version { version: self.version.clone(), fingerprint }
    }

    /// Others wait for the outcome.
    fn is_waited_for(&self) -> bool {
        self.pending.ticket != Pending::NONE
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let (shared, version) = (Arc::clone(&self.shared), self.version.clone());
        let fingerprint = self.pending.stored.fingerprint;
        self.shared.connection.spawn(async move {
            if let Err(error) = shared.withdraw(&version, fingerprint).await {
                tracing::warn!(%error, "a version stays pending until the repair");
            }
        });
    }
}

impl Shared {
    /// Takes the next ordinal.
    async fn next_ordinal(&self) -> Result<Ordinal, BackendError> {
        let mut ordinals = self.ordinals.lock().await;
        if ordinals.is_empty() {
            let arguments = [ORDINALS_AT_ONCE, ORDINALS_PER_SECOND, ORDINALS_BEGIN].map(number);
            let take = scripts::TAKE.call(vec![self.layout.ordinals()], arguments.into());
            let end = self.connection.call_one(take).await?.integer();
            let end = end.and_then(|end| u64::try_from(end).ok());
            let end = end.ok_or(BackendError::Unexpected { what: "the next ordinal" })?;
            *ordinals = end.saturating_sub(ORDINALS_AT_ONCE)..end;
        }
        let next = ordinals.next().ok_or(BackendError::OrdinalsExhausted)?;
        Ordinal::try_from(next).map_err(|_| BackendError::OrdinalsExhausted)
    }

    fn version_of(&self, prepared: &PreparedDocument, ordinal: Ordinal) -> VersionRecord {
        let document = &prepared.document;
        let stored_at_ms = self.now_ms();
        let by_ttl = self.ttl_ms.map(|ttl_ms| stored_at_ms.saturating_add(ttl_ms));
        let set_if = |flag, condition: bool| if condition { flag } else { 0 };
        let kept = |is_form: bool| self.contents.is_some() && is_form;
        VersionRecord {
            ordinal,
            fingerprint: prepared.fingerprint,
            shingles: prepared.set.count() as u32,
            stored_at_ms,
            expires_at_ms: document.expires_at_ms.or(by_ttl),
            content_hash: content_hash(document),
            flags: set_if(flags::WHOLE_DOCUMENT, prepared.whole_document)
                | set_if(flags::SAMPLED_TO_ONE, prepared.sampled_to_one)
                | set_if(flags::CONTENT, self.contents.is_some())
                | set_if(flags::TOKENS, kept(matches!(document.content, Content::Tokens(_))))
                | set_if(flags::FIELDS, kept(matches!(document.content, Content::Fields(_))))
                | set_if(flags::METADATA, document.metadata.is_some()),
            metadata: document.metadata.clone(),
        }
    }

    /// Notes the document as pending, then files it under all its keys.
    pub(super) async fn begin(
        self: &Arc<Self>,
        prepared: &PreparedDocument,
        ticket: u64,
        tentative: bool,
    ) -> Result<Announced, BackendError> {
        let since = self.connection.generation();
        let ordinal = self.next_ordinal().await?;
        let version = Version { id: prepared.document.id.clone(), ordinal };
        let stored = self.version_of(prepared, ordinal);
        let pending = Pending { ticket, since_ms: stored.stored_at_ms, tentative, stored };
        let shared = Arc::clone(self);
        let announced = Announced { shared, version, pending, since, is_done: false };
        let (id, now) = (&announced.version.id, number(announced.pending.since_ms));
        let queue = self.layout.queue(Part::of_id(id));
        let field = Bytes::copy_from_slice(&be_bytes(ordinal));
        // The queue first, so that a crash in between leaves something that the repair finds.
        let commands = vec![
            Command::new("ZADD", queue, [now, announced.leftover().encode()]),
            Command::new("HSET", self.layout.pending(id), [field, announced.pending.encode()]),
        ];
        self.connection.call(commands).await?;
        self.keep_and_file(prepared, &announced).await?;
        Ok(announced)
    }

    async fn keep_and_file(
        &self,
        prepared: &PreparedDocument,
        announced: &Announced,
    ) -> Result<(), BackendError> {
        let content = async {
            match &self.contents {
                Some(contents) => {
                    contents.put(announced.version.ordinal, &prepared.document.content).await
                }
                None => Ok(()),
            }
        };
        futures_util::future::try_join(content, self.file(prepared, announced)).await.map(|_| ())
    }

    /// Files the set, then its postings. A set whose entry is being removed waits for the end of
    /// that.
    async fn file(
        &self,
        prepared: &PreparedDocument,
        announced: &Announced,
    ) -> Result<(), BackendError> {
        let fingerprint = prepared.fingerprint;
        let file = scripts::FILE.call(
            vec![
                self.layout.sketch(fingerprint),
                self.layout.set(fingerprint),
                self.layout.members(fingerprint),
                self.layout.counters(Part::of_set(fingerprint)),
                self.layout.arriving(fingerprint),
            ],
            vec![
                Entry::encode(prepared.set.count() as u32, &prepared.sketch),
                set_bytes(&prepared.set),
                member(&announced.version),
                number(prepared.keys.len()),
                number(u8::from(announced.is_waited_for())),
            ],
        );
        let (end, mut pause) = (Instant::now() + self.deadline, PAUSE);
        loop {
            match self.connection.call_one(file.clone()).await?.integer() {
                Some(0) => break,
                Some(1) if Instant::now() < end => sleep(pause).await,
                Some(1) => return Err(unavailable("an equal set is being removed: try again")),
                Some(2) => return Err(BackendError::FingerprintTaken),
                _ => return Err(BackendError::Unexpected { what: "the outcome of a filing" }),
            }
            pause = (pause * 2).min(Duration::from_millis(100));
        }
        let zero = Bytes::from_static(b"0");
        let post = |&key| {
            let arguments = [zero.clone(), posting(key, fingerprint)];
            Command::new("ZADD", self.layout.block(key), arguments)
        };
        self.connection.call(prepared.keys.iter().map(post).collect()).await.map(|_| ())
    }

    /// Notes the ticket of a pending version.
    pub(super) async fn set_ticket(
        &self,
        announced: &mut Announced,
        ticket: u64,
    ) -> Result<(), BackendError> {
        announced.pending.ticket = ticket;
        let Version { id, ordinal } = &announced.version;
        let keys = vec![self.layout.pending(id)];
        let field = Bytes::copy_from_slice(&be_bytes(*ordinal));
        let set = scripts::SET_TICKET.call(keys, vec![field, announced.pending.encode()]);
        match self.connection.call_one(set).await?.integer() {
            Some(1) => Ok(()),
            _ => Err(unavailable("the document was withdrawn as its adding took too long")),
        }
    }

    pub(super) async fn store_one(
        self: Arc<Self>,
        registered: Registered,
    ) -> Result<Stored, BackendError> {
        let Registered { document: prepared, mut ticket, tentative, announced, .. } = registered;
        ticket.wait_for_predecessor().await;
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
                ticket.stored();
                return Ok(Stored::Unchanged);
            }
        }
        let announced = match announced {
            Some(announced) => announced,
            None => self.begin(&prepared, Pending::NONE, tentative).await?,
        };
        let since = announced.since;
        let replaced = self.make_live(announced, prepared.only_over).await?;
        self.connection.wait_for_replicas(since).await?;
        ticket.stored();
        Ok(match replaced.is_some_and(|old| old.is_alive(now_ms)) {
            true => Stored::Replaced,
            false => Stored::Created,
        })
    }

    /// Files a live version once more. A failover may have lost a part of what was filed, and
    /// whoever posts the document again is told that it is stored.
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
        // Dropping it withdraws it only if it is no longer the live version.
        let (shared, since) = (Arc::clone(self), self.connection.generation());
        let mut again = Announced { shared, version, pending, since, is_done: false };
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

    /// Returns the version that was replaced.
    async fn make_live(
        &self,
        mut announced: Announced,
        over: Option<Ordinal>,
    ) -> Result<Option<VersionRecord>, BackendError> {
        let (version, stored) = (&announced.version, &announced.pending.stored);
        let (id, part) = (&version.id, Part::of_id(&version.id));
        let over = over.map_or(Bytes::new(), |over| Bytes::copy_from_slice(&be_bytes(over)));
        let flip = scripts::MAKE_LIVE.call(
            vec![
                self.layout.document(id),
                self.layout.pending(id),
                self.layout.ids(part),
                self.layout.expiries(part),
                self.layout.queue(part),
            ],
            vec![
                Bytes::copy_from_slice(&be_bytes(version.ordinal)),
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
        let old = reply.next().and_then(super::reply::Reply::bytes);
        match outcome {
            // It may have been made live by a command whose reply was lost.
            Some(0) => {
                if self.live(id).await?.is_none_or(|live| live.ordinal != version.ordinal) {
                    return Err(unavailable("the document was withdrawn: it took too long"));
                }
            }
            Some(1) => return Err(BackendError::Changed),
            Some(2) => {}
            _ => return Err(BackendError::Unexpected { what: "the outcome of a storing" }),
        }
        announced.is_done = true;
        let old = old.and_then(|old| VersionRecord::decode(&old));
        self.tidy(&announced, old.as_ref()).await;
        Ok(old)
    }

    /// What is left to do once a version is live. If it fails, the repair does it.
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
            tracing::warn!(%error, "something is left to the repair");
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

    async fn settle(&self, version: &Version, fingerprint: u64) -> Result<(), BackendError> {
        let leftover = Leftover::Version { version: version.clone(), fingerprint };
        let queue = self.layout.queue(Part::of_id(&version.id));
        let ordinal = Bytes::copy_from_slice(&be_bytes(version.ordinal));
        let keys = vec![self.layout.document(&version.id), queue];
        let settle = scripts::SETTLE.call(keys, vec![ordinal, leftover.encode()]);
        self.connection.call_one(settle).await.map(|_| ())
    }
}
