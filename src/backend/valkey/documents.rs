//! Reading documents by their ids and versions.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use smallvec::smallvec;

use super::client::Reply;
use super::command::{Command, number};
use super::entries::{Entry, head_bytes, is_lost, set_of};
use super::layout::{DOCUMENT_PARTS, Part};
use super::removal::id_of;
use super::versions::{VersionRecord, flags};
use super::{Shared, scripts};
use crate::backend::{BackendError, Candidate, Member, Sketched, Version};
use crate::document::{Content, DocumentId};
use crate::storage::{Detail, DocumentDetails, Record};
use akin_core::text::ShingleSet;

/// Contents read at once.
const CONTENTS_AT_ONCE: usize = 16;

/// Ids read of each part at a time, at least.
const IDS_AT_ONCE: usize = 16;

impl Shared {
    /// The live versions of documents, including expired documents, in the order of the ids.
    pub(super) async fn live_of(
        &self,
        ids: impl Iterator<Item = &DocumentId>,
    ) -> Result<Vec<Option<VersionRecord>>, BackendError> {
        let get = |id: &DocumentId| Command::new("GET", self.layout.document(id), []);
        let replies = self.connection.call(ids.map(get).collect()).await?;
        Ok(replies.into_iter().map(|reply| VersionRecord::decode(&reply.bytes()?)).collect())
    }

    pub(super) async fn live(
        &self,
        id: &DocumentId,
    ) -> Result<Option<VersionRecord>, BackendError> {
        Ok(self.live_of(std::iter::once(id)).await?.pop().flatten())
    }

    /// The versions that are live and not expired.
    pub(super) async fn standing(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<VersionRecord>>, BackendError> {
        let now_ms = self.now_ms();
        let live = self.live_of(versions.iter().map(|version| &version.id)).await?;
        let stands = |(live, version): (Option<VersionRecord>, &Version)| {
            live.filter(|live| live.ordinal == version.ordinal && live.is_alive(now_ms))
        };
        Ok(live.into_iter().zip(versions).map(stands).collect())
    }

    pub(super) async fn details(
        &self,
        versions: &[Version],
    ) -> Result<Vec<Option<DocumentDetails>>, BackendError> {
        let details = |stored: VersionRecord| DocumentDetails {
            stored_at_ms: stored.stored_at_ms,
            content_hash: stored.content_hash,
            metadata: stored.metadata,
        };
        let standing = self.standing(versions).await?;
        Ok(standing.into_iter().map(|stored| stored.map(details)).collect())
    }

    pub(super) async fn contents(
        &self,
        groups: &[Vec<Version>],
    ) -> Result<Vec<Option<Content>>, BackendError> {
        let Some(contents) = &self.contents else { return Ok(vec![None; groups.len()]) };
        let read = |group: &Vec<Version>| {
            let group = group.clone();
            async move {
                for version in group {
                    if let Some(content) = contents.get(version.ordinal).await? {
                        return Ok::<_, BackendError>(Some(content));
                    }
                }
                Ok(None)
            }
        };
        let read: Vec<_> = groups.iter().map(read).collect();
        stream::iter(read).buffered(CONTENTS_AT_ONCE).try_collect().await
    }

    /// Sets by their fingerprints.
    pub(super) async fn read_sets(
        &self,
        fingerprints: &[u64],
    ) -> Result<Vec<Option<ShingleSet>>, BackendError> {
        let mut sets: Vec<_> = fingerprints.iter().map(|it| self.sets.get(*it)).collect();
        let missing: Vec<usize> = (0..sets.len()).filter(|&at| sets[at].is_none()).collect();
        let get = |&at: &usize| Command::new("GET", self.layout.entry(fingerprints[at]), []);
        let replies = self.connection.call(missing.iter().map(get).collect()).await?;
        for (at, reply) in missing.into_iter().zip(replies) {
            let Some(set) = reply.bytes().filter(|bytes| !is_lost(bytes)) else { continue };
            let set = set_of(&set, self.sketch_bytes)
                .filter(|set| set.fingerprint() == fingerprints[at])
                .ok_or(BackendError::Unexpected { what: "a stored set" })?;
            self.sets.insert(fingerprints[at], set.clone());
            sets[at] = Some(set);
        }
        Ok(sets)
    }

    /// Reads an entry without its set.
    pub(super) fn read_entry(&self, fingerprint: u64) -> Command {
        let head = [number(0), number(head_bytes(self.sketch_bytes) - 1)];
        Command::new("GETRANGE", self.layout.entry(fingerprint), head)
    }

    /// Entries in the order of the fingerprints.
    pub(super) async fn entries(
        &self,
        fingerprints: impl Iterator<Item = u64>,
    ) -> Result<Vec<Option<Entry>>, BackendError> {
        let read = fingerprints.map(|fingerprint| self.read_entry(fingerprint));
        let replies = self.connection.call(read.collect()).await?;
        let decode = |reply: Reply| Entry::decode(&reply.bytes()?, self.sketch_bytes);
        Ok(replies.into_iter().map(decode).collect())
    }

    pub(super) async fn sketched(
        &self,
        ids: &[DocumentId],
    ) -> Result<Vec<Option<Sketched>>, BackendError> {
        let now_ms = self.now_ms();
        let live = self.live_of(ids.iter()).await?;
        let live: Vec<_> = live.into_iter().map(|it| it.filter(|it| it.is_alive(now_ms))).collect();
        let fingerprints = live.iter().flatten().map(|stored| stored.fingerprint);
        let mut entries = self.entries(fingerprints).await?.into_iter();
        let mut sketched = Vec::with_capacity(ids.len());
        for (id, stored) in ids.iter().zip(live) {
            sketched.push(stored.and_then(|stored| {
                let sketch = entries.next().flatten()?.sketch;
                let candidate = Candidate {
                    fingerprint: stored.fingerprint,
                    shingles: stored.shingles,
                    agreeing: 0,
                    keys_shared: 0,
                    members: smallvec![member_of(id, &stored)],
                };
                Some(Sketched { candidate, sketch })
            }));
        }
        Ok(sketched)
    }

    /// The records of documents, without documents that were replaced or removed in the meantime.
    pub(super) async fn records(
        &self,
        ids: &[DocumentId],
        detail: Detail,
    ) -> Result<Vec<Option<Record>>, BackendError> {
        let now_ms = self.now_ms();
        let live = self.live_of(ids.iter()).await?;
        let found: Vec<(DocumentId, VersionRecord)> = ids
            .iter()
            .zip(&live)
            .filter_map(|(id, stored)| Some((id.clone(), stored.clone()?)))
            .filter(|(_, stored)| stored.is_alive(now_ms))
            .collect();
        let fingerprints: Vec<u64> = found.iter().map(|(_, stored)| stored.fingerprint).collect();
        let entries = self.entries(fingerprints.iter().copied()).await?;
        let mut sets = vec![None; found.len()];
        if detail != Detail::Content {
            sets = self.read_sets(&fingerprints).await?;
        }
        let mut contents = vec![None; found.len()];
        if detail != Detail::Set {
            let version = |(id, stored): &(DocumentId, VersionRecord)| {
                vec![Version { id: id.clone(), ordinal: stored.ordinal }]
            };
            contents = self.contents(&found.iter().map(version).collect::<Vec<_>>()).await?;
        }
        let parts = found.into_iter().zip(entries).zip(sets.into_iter().zip(contents));
        let mut records = parts.map(|(((id, stored), entry), (set, content))| {
            let is_whole = (detail == Detail::Content || set.is_some())
                && (detail == Detail::Set || content.is_some() == stored.has(flags::CONTENT));
            let record = record(id, stored, entry?, set, content);
            is_whole.then_some(record)
        });
        let of = |stored: &Option<VersionRecord>| {
            stored.as_ref().filter(|stored| stored.is_alive(now_ms)).and_then(|_| records.next()?)
        };
        Ok(live.iter().map(of).collect())
    }

    pub(super) async fn record(&self, id: &DocumentId) -> Result<Option<Record>, BackendError> {
        // A version that is replaced while it is read is read again.
        for _ in 0..super::ATTEMPTS {
            let found = self.records(std::slice::from_ref(id), Detail::All).await?.pop().flatten();
            if found.is_some() {
                return Ok(found);
            }
            let live = self.live(id).await?;
            if live.is_none_or(|live| !live.is_alive(self.now_ms())) {
                return Ok(None);
            }
        }
        Err(BackendError::DocumentDamaged {
            id: id.clone(),
            what: "its set or its content is missing",
        })
    }

    /// The lowest ids above `after`, in byte order. Each part is read in pages until the result is
    /// complete.
    pub(super) async fn list(
        &self,
        after: Option<&DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, BackendError> {
        let page = (2 * limit).div_ceil(DOCUMENT_PARTS as usize).max(IDS_AT_ONCE);
        let mut parts: Vec<IdsOfPart> =
            Part::all_of_documents().map(|part| IdsOfPart::new(part, after)).collect();
        let mut ids: Vec<DocumentId> = Vec::new();
        loop {
            self.refill(&mut parts, page).await?;
            while ids.len() < limit && parts.iter().all(|part| !part.needs_more()) {
                let rest = parts.iter_mut().filter(|part| !part.ids.is_empty());
                let lowest = rest.min_by(|a, b| a.ids.last().cmp(&b.ids.last()));
                let Some(part) = lowest else { return Ok(ids) };
                ids.extend(part.ids.pop());
            }
            if ids.len() == limit {
                return Ok(ids);
            }
        }
    }

    /// Reads the next page of each part that has none left.
    async fn refill(&self, parts: &mut [IdsOfPart], page: usize) -> Result<(), BackendError> {
        let now_ms = self.now_ms();
        let empty: Vec<usize> = (0..parts.len()).filter(|&at| parts[at].needs_more()).collect();
        let read = |&at: &usize| {
            let IdsOfPart { part, from, .. } = &parts[at];
            let keys = vec![self.layout.ids(*part), self.layout.expiries(*part)];
            scripts::LIST.call(keys, vec![from.clone(), number(page), number(now_ms)])
        };
        let pages = self.connection.call(empty.iter().map(read).collect()).await?;
        for (at, reply) in empty.into_iter().zip(pages) {
            let (part, mut reply) = (&mut parts[at], reply.array().into_iter());
            let count = reply.next().and_then(|count| count.integer()).unwrap_or(0);
            part.is_last = count < page as i64;
            if let Some(last) = reply.next().and_then(Reply::bytes).filter(|last| !last.is_empty())
            {
                part.from = [b"(", &last[..]].concat().into();
            }
            part.ids = reply.filter_map(|id| id_of(&id.bytes()?)).collect();
            part.ids.reverse();
        }
        Ok(())
    }
}

/// The ids of a part, as far as they were read.
struct IdsOfPart {
    part: Part,
    /// Where the next page begins.
    from: Bytes,
    /// The ids that are left of the page, in falling order.
    ids: Vec<DocumentId>,
    is_last: bool,
}

impl IdsOfPart {
    fn new(part: Part, after: Option<&DocumentId>) -> Self {
        let from = match after {
            Some(after) => [b"(", after.as_str().as_bytes()].concat().into(),
            None => Bytes::from_static(b"-"),
        };
        Self { part, from, ids: Vec::new(), is_last: false }
    }

    fn needs_more(&self) -> bool {
        self.ids.is_empty() && !self.is_last
    }
}

pub(super) fn member_of(id: &DocumentId, stored: &VersionRecord) -> Member {
    Member { ordinal: stored.ordinal, id: id.clone(), has_metadata: stored.metadata.is_some() }
}

fn record(
    id: DocumentId,
    stored: VersionRecord,
    entry: Entry,
    set: Option<ShingleSet>,
    content: Option<Content>,
) -> Record {
    Record {
        ordinal: stored.ordinal,
        id,
        stored_at_ms: stored.stored_at_ms,
        expires_at_ms: stored.expires_at_ms,
        content,
        whole_document: stored.has(flags::WHOLE_DOCUMENT),
        metadata: stored.metadata,
        set,
        shingles: stored.shingles,
        fingerprint: stored.fingerprint,
        content_hash: stored.content_hash,
        sketch: entry.sketch,
    }
}
