//! The first half of adding a version: it is announced as pending, indexed under all its keys, and
//! given a ticket.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join;
use tokio::time::{Instant, sleep};

use super::command::{Command, number};
use super::entries::{Entry, place_of_member};
use super::failure::unavailable;
use super::layout::{Leftover, Part, member};
use super::leases::Lease;
use super::replicas::Generation;
use super::versions::{Pending, VersionRecord, flags};
use super::{Shared, scripts};
use crate::backend::{BackendError, PreparedDocument, Times, Version, content_hash};
use crate::document::{Content, Ordinal};

/// Ordinals that a process reserves at a time. Reserved ordinals that it does not use are lost.
const ORDINALS_AT_ONCE: u64 = 256;

/// How fast the counter follows the clock: 2⁴⁸ ordinals last for 139 years, and additions are
/// seldom faster.
const ORDINALS_PER_SECOND: u64 = 64_000;

/// 2026-01-01, in seconds since the epoch.
const ORDINALS_BEGIN: u64 = 1_767_225_600;

/// The first pause before a set is indexed again while its former entry is being removed.
const PAUSE: Duration = Duration::from_millis(2);

/// A version in Valkey that is not live. Dropping it withdraws it.
pub(crate) struct Announced {
    pub(super) shared: Arc<Shared>,
    pub(super) version: Version,
    pub(super) pending: Pending,
    pub(super) since: Generation,
    _lease: Lease,
    /// It is among the members that others may have to wait for, and not the first of its entry.
    pub(super) is_arriving: bool,
    /// All that was sent to file it has been answered.
    pub(super) is_filed: bool,
    pub(super) is_done: bool,
}

impl Announced {
    /// Notes in the queue that the version is being added.
    pub(super) fn note(&self) -> Command {
        let queue = self.shared.layout.queue(Part::of_id(&self.version.id));
        let added = added(&self.version, self.pending.stored.fingerprint);
        let noted = [number(self.shared.now_ms()), added.encode()];
        Command::new("ZADD", queue, noted)
    }

    /// Other documents wait for the outcome.
    pub(super) fn is_waited_for(&self) -> bool {
        self.pending.ticket != Pending::NONE
    }
}

/// The note of its adding.
pub(super) fn added(version: &Version, fingerprint: u64) -> Leftover {
    Leftover::Added { version: version.clone(), fingerprint }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let (shared, version) = (Arc::clone(&self.shared), self.version.clone());
        let (fingerprint, is_filed) = (self.pending.stored.fingerprint, self.is_filed);
        self.shared.connection.spawn(async move {
            let withdrawn = match is_filed {
                true => shared.withdraw(&version, fingerprint).await,
                // Some of it may still be executed, so the repair clears it after the lease.
                false => shared.end_pending(&version).await.map(|_| ()),
            };
            if let Err(error) = withdrawn {
                tracing::warn!(%error, "a version stays pending until the repair task runs");
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

    pub(super) fn version_of(
        &self,
        prepared: &PreparedDocument,
        ordinal: Ordinal,
    ) -> VersionRecord {
        let document = &prepared.document;
        let now_ms = self.now_ms();
        let by_ttl = self.ttl_ms.map(|ttl_ms| now_ms.saturating_add(ttl_ms));
        let expires_at_ms = document.expires_at_ms.or(by_ttl);
        let times = Times { stored_at_ms: now_ms, expires_at_ms };
        let Times { stored_at_ms, expires_at_ms } = prepared.times.unwrap_or(times);
        let set_if = |flag, condition: bool| if condition { flag } else { 0 };
        let kept = |is_form: bool| self.contents.is_some() && is_form;
        VersionRecord {
            ordinal,
            fingerprint: prepared.fingerprint,
            shingles: prepared.set.count() as u32,
            stored_at_ms,
            expires_at_ms,
            content_hash: content_hash(document),
            flags: set_if(flags::WHOLE_DOCUMENT, prepared.whole_document)
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
        let mut announced = self.noted(version, Pending { ticket, tentative, stored }, since);
        // The queue first, so that a crash in between leaves something that the repair finds.
        let pending = self.layout.pending(&announced.version);
        let commands =
            vec![announced.note(), Command::new("SET", pending, [announced.pending.encode()])];
        self.connection.call(commands).await?;
        self.keep_and_file(prepared, &mut announced).await?;
        Ok(announced)
    }

    /// A version that is not noted yet.
    pub(super) fn noted(
        self: &Arc<Self>,
        version: Version,
        pending: Pending,
        since: Generation,
    ) -> Announced {
        let note = added(&version, pending.stored.fingerprint);
        Announced {
            shared: Arc::clone(self),
            _lease: self.leases.begin(&version, &note, self.now_ms()),
            version,
            pending,
            since,
            is_arriving: false,
            is_filed: false,
            is_done: false,
        }
    }

    pub(super) async fn keep_and_file(
        &self,
        prepared: &PreparedDocument,
        announced: &mut Announced,
    ) -> Result<(), BackendError> {
        let content = async {
            match &self.contents {
                Some(contents) => {
                    contents.put(announced.version.ordinal, &prepared.document.content).await
                }
                None => Ok(()),
            }
        };
        let both = try_join(content, self.file(prepared, announced));
        announced.is_arriving = both.await?.1;
        announced.is_filed = true;
        Ok(())
    }

    /// Stores the set, then its postings. Returns whether the version is noted as arriving.
    async fn file(
        &self,
        prepared: &PreparedDocument,
        announced: &Announced,
    ) -> Result<bool, BackendError> {
        let fingerprint = prepared.fingerprint;
        let entry = Entry::encode(&prepared.set, &prepared.sketch, &announced.version);
        let is_arriving = !self.file_first(fingerprint, &entry).await?
            && self.file_further(prepared, announced, entry).await?;
        let zero = Bytes::from_static(b"0");
        let post = |&key| {
            let arguments = [zero.clone(), self.layout.posting(key, fingerprint)];
            Command::new("ZADD", self.layout.block(key), arguments)
        };
        self.connection.call(prepared.keys.iter().map(post).collect()).await?;
        Ok(is_arriving)
    }

    /// Creates the entry of a set; `false` if there may be an entry, or if it needs a script.
    async fn file_first(&self, fingerprint: u64, entry: &Bytes) -> Result<bool, BackendError> {
        let is_shared = Entry::decode(entry, self.sketch_bytes).is_none_or(|it| it.is_shared());
        if is_shared || self.counts_keys() {
            return Ok(false);
        }
        let words = [entry.clone(), Bytes::from_static(b"NX")];
        let set = Command::new("SET", self.layout.entry(fingerprint), words);
        Ok(self.connection.call_one(set).await?.bytes().is_some())
    }

    /// Adds a member to the entry of a set. While the entry is being removed, it waits for the end
    /// of the removal. Returns whether the version is noted as arriving.
    async fn file_further(
        &self,
        prepared: &PreparedDocument,
        announced: &Announced,
        entry: Bytes,
    ) -> Result<bool, BackendError> {
        let fingerprint = prepared.fingerprint;
        let keys = self.counts_keys().then(|| number(prepared.keys.len()));
        let file = scripts::FILE.call(
            vec![
                self.layout.entry(fingerprint),
                self.layout.members(fingerprint),
                self.layout.arriving(fingerprint),
                self.layout.counters(Part::of_set(fingerprint)),
            ],
            vec![
                entry,
                member(&announced.version),
                number(place_of_member(self.sketch_bytes)),
                number(u8::from(announced.is_waited_for())),
                keys.unwrap_or_default(),
            ],
        );
        let (end, mut pause) = (Instant::now() + self.deadline, PAUSE);
        loop {
            match self.connection.call_one(file.clone()).await?.integer() {
                Some(0) => return Ok(false),
                Some(1) if Instant::now() < end => sleep(pause).await,
                Some(1) => return Err(unavailable("an equal set is being removed: try again")),
                Some(2) => return Err(BackendError::FingerprintTaken),
                Some(3) => return Ok(announced.is_waited_for()),
                _ => return Err(BackendError::Unexpected { what: "the outcome of a filing" }),
            }
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    /// Whether the numbers of keys of sets differ, so that they are counted.
    pub(super) fn counts_keys(&self) -> bool {
        self.scheme.bands().is_none()
    }

    /// Notes the ticket of a pending version, unless the version was withdrawn. Of many equal sets
    /// that arrive at once, others so read the earliest.
    pub(super) async fn set_ticket(
        &self,
        announced: &mut Announced,
        ticket: u64,
    ) -> Result<(), BackendError> {
        announced.pending.ticket = ticket;
        let (version, stored) = (&announced.version, &announced.pending.stored);
        let value = [announced.pending.encode(), Bytes::from_static(b"XX")];
        let mut commands = vec![Command::new("SET", self.layout.pending(version), value)];
        if announced.is_arriving {
            let arriving = self.layout.arriving(stored.fingerprint);
            let score = [Bytes::from_static(b"XX"), number(ticket), member(version)];
            commands.push(Command::new("ZADD", arriving, score));
        }
        match self.connection.call(commands).await?.swap_remove(0).bytes() {
            Some(_) => Ok(()),
            None => Err(unavailable("the document was withdrawn as its adding took too long")),
        }
    }
}
