//! The documents in flight that arrived earlier, in any process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join;
use tokio::sync::watch;
use tokio::time::sleep;

use super::announcing::added;
use super::client::Reply;
use super::command::{Command, number};
use super::entries::Entry;
use super::failure::unavailable;
use super::reading::{Listed, Sharing, versions_of};
use super::versions::{Pending, VersionRecord, flags};
use super::{Announced, Shared};
use crate::backend::in_flight::Outcome;
use crate::backend::{
    BackendError, Candidates, PreparedDocument, Registered, Rival, RivalSearch, Rivals, Version,
};
use crate::document::{Content, Document, DocumentId};
use akin_core::index::Search;
use akin_core::sketch::Sketch;
use akin_core::text::ShingleSet;

/// Postings read for each rival requested.
const SETS_PER_RIVAL: usize = 16;

/// Sets of which sketches and pending versions are read in one call.
const SETS_AT_ONCE: usize = 1_024;

/// Pauses between two looks at a pending version.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// A set that shares a key and has a sketch that agrees well enough.
struct Near {
    listed: Listed,
    entry: Entry,
    /// The versions with this set that may be pending.
    arriving: Vec<Version>,
}

/// A pending version of another document.
struct PendingRival {
    version: Version,
    pending: Pending,
    sketch: Sketch,
}

impl Shared {
    /// Announces the document, finds its rivals and, unless it has too many, looks it up.
    pub(super) async fn announce(
        self: &Arc<Self>,
        registered: &mut Registered,
    ) -> Result<Option<Candidates>, BackendError> {
        let Some(search) = registered.search.clone() else { return Ok(None) };
        let (document, tentative) = (Arc::clone(&registered.document), registered.tentative);
        if registered.announced.is_none() {
            registered.arrival.wait_for_predecessor().await;
            let entry = self.tickets.enter();
            let mut announced = self.begin_whole(&document, tentative).await?;
            let ticket = entry.ticket().await?;
            self.set_ticket(&mut announced, ticket).await?;
            registered.announced = Some(Box::new(announced));
        }
        let ours = registered.announced.as_ref().and_then(|it| it.downcast_ref::<Announced>());
        let Some(ours) = ours else { return Ok(None) };
        let (rivals, candidates) = self.look(&document, tentative, &search, ours).await?;
        registered.rivals = rivals;
        Ok(candidates)
    }

    /// Runs to its end even if the caller is dropped: a half-indexed document could not be
    /// withdrawn while its indexing goes on.
    async fn begin_whole(
        self: &Arc<Self>,
        document: &Arc<PreparedDocument>,
        tentative: bool,
    ) -> Result<Announced, BackendError> {
        let (this, document) = (Arc::clone(self), Arc::clone(document));
        let begin = async move { this.begin(&document, Pending::CHOOSING, tentative).await };
        let begun = self.connection.spawn(begin).await;
        begun.unwrap_or_else(|_| Err(unavailable("the server is stopping")))
    }

    /// Both rivals and candidates come from a single read of the postings and a single read of the
    /// sketches.
    ///
    /// Pending versions are read before live versions: a version that becomes live in between is
    /// then found as live. In the other order both reads could miss it.
    async fn look(
        self: &Arc<Self>,
        document: &PreparedDocument,
        tentative: bool,
        search: &RivalSearch,
        ours: &Announced,
    ) -> Result<(Rivals, Option<Candidates>), BackendError> {
        let sets_max = search.rivals_max.saturating_mul(SETS_PER_RIVAL);
        let Sharing { mut sets, truncated } = self.sharing(&search.keys, sets_max).await?;
        let seen = sets.len();
        if !sets.iter().any(|(fingerprint, _)| *fingerprint == document.fingerprint) {
            sets.push((document.fingerprint, 0));
        }
        let mut near = self.near(&sets, search, document).await?;
        let is_cut = self.add_arriving(&mut near, search, ours.pending.ticket).await?;
        let pending = self.pending_of(&near, &document.document.id).await?;
        let candidates = async {
            // These are all postings, so the lookup could find nothing else.
            let Some(limits) = search.lookup.filter(|_| !truncated) else { return Ok(None) };
            let search = Search::new(
                &search.keys,
                &document.sketch,
                document.fingerprint,
                search.threshold,
                search.agreeing_min,
                limits,
            );
            let alive = near.iter().filter(|near| near.entry.is_alive());
            let listed = alive.map(|near| near.listed.clone());
            self.candidates_of(&search, listed.collect(), seen, false).await.map(Some)
        };
        let rivals = self.rivals(pending, tentative, search, ours);
        let (candidates, mut rivals) = try_join(candidates, rivals).await?;
        rivals.truncated |= truncated || is_cut;
        Ok((rivals, candidates))
    }

    /// The sets with sketches that agree well enough, with their first members, which may be
    /// pending.
    async fn near(
        &self,
        sets: &[(u64, u32)],
        search: &RivalSearch,
        document: &PreparedDocument,
    ) -> Result<Vec<Near>, BackendError> {
        let mut near = Vec::new();
        for sets in sets.chunks(SETS_AT_ONCE) {
            let entries = self.entries(sets.iter().map(|(fingerprint, _)| *fingerprint)).await?;
            for (&(fingerprint, keys_shared), entry) in sets.iter().zip(entries) {
                let Some(entry) = entry else { continue };
                let (ours, its) = (document.sketch.as_bytes(), entry.sketch.as_bytes());
                let agreeing = self.estimator.agreeing(ours, its);
                if agreeing >= search.agreeing_min {
                    let (shingles, only) = (entry.shingles, entry.only());
                    let listed = Listed { fingerprint, shingles, agreeing, keys_shared, only };
                    let arriving = entry.first.iter().cloned().collect();
                    near.push(Near { listed, entry, arriving });
                }
            }
        }
        Ok(near)
    }

    /// Adds the further members of sets that may be pending: the members without a ticket, and the
    /// earliest before this ticket. Returns whether there are more.
    async fn add_arriving(
        &self,
        near: &mut [Near],
        search: &RivalSearch,
        ticket: u64,
    ) -> Result<bool, BackendError> {
        let max = versions_max(search);
        let mut shared: Vec<_> = near.iter_mut().filter(|it| it.entry.is_shared()).collect();
        let read = |near: &&mut Near| {
            let range = |from: &'static [u8], to: Bytes| {
                let limit = [Bytes::from_static(b"LIMIT"), number(0), number(max)];
                let words = [Bytes::from_static(from), to].into_iter().chain(limit);
                let arriving = self.layout.arriving(near.listed.fingerprint);
                Command::new("ZRANGEBYSCORE", arriving, words)
            };
            [range(b"0", number(0)), range(b"(0", number(ticket))]
        };
        let commands = shared.iter().flat_map(read).collect();
        let mut replies = self.connection.call(commands).await?.into_iter().map(versions_of);
        let mut is_cut = false;
        for near in &mut shared {
            for versions in replies.by_ref().take(2) {
                is_cut |= versions.len() == max;
                near.arriving.extend(versions);
            }
            // The first member may be noted as arriving, too.
            near.arriving.sort_by_key(|version| version.ordinal);
            near.arriving.dedup();
        }
        Ok(is_cut)
    }

    async fn rivals(
        self: &Arc<Self>,
        mut found: Vec<PendingRival>,
        tentative: bool,
        search: &RivalSearch,
        ours: &Announced,
    ) -> Result<Rivals, BackendError> {
        // The earliest ticket first; versions without a ticket last.
        found.retain(|found| {
            let ticket = found.pending.ticket;
            ticket == Pending::CHOOSING || ticket < ours.pending.ticket
        });
        found.sort_by_key(|found| found.pending.ticket.wrapping_sub(1));
        let truncated = found.len() > search.rivals_max;
        let mut rivals = Rivals { found: Vec::new(), truncated };
        found.truncate(search.rivals_max);
        let fingerprints: Vec<u64> = found.iter().map(PendingRival::fingerprint).collect();
        let sets = self.read_sets(&fingerprints).await?;
        for (found, set) in found.into_iter().zip(sets) {
            let (Some(set), Some(content)) = (set, self.content_of_rival(&found).await?) else {
                continue;
            };
            let rival = Arc::new(prepared(&found, content, set));
            let outcome = self.outcome_of(found, tentative, ours);
            rivals.found.push(Rival { document: rival, outcome });
        }
        Ok(rivals)
    }

    /// The pending versions of other documents.
    async fn pending_of(
        &self,
        near: &[Near],
        own_id: &DocumentId,
    ) -> Result<Vec<PendingRival>, BackendError> {
        let versions: Vec<(&Version, &Entry)> = near
            .iter()
            .flat_map(|near| near.arriving.iter().map(move |version| (version, &near.entry)))
            .filter(|(version, _)| version.id != *own_id)
            .collect();
        let get = |(version, _): &(&Version, &Entry)| {
            Command::new("GET", self.layout.pending(version), [])
        };
        let replies = self.connection.call(versions.iter().map(get).collect()).await?;
        let found = versions.into_iter().zip(replies).filter_map(|((version, entry), reply)| {
            let pending = Pending::decode(&reply.bytes()?)?;
            Some(PendingRival { version: version.clone(), pending, sketch: entry.sketch.clone() })
        });
        Ok(found.collect())
    }

    /// Only records are scored by their contents.
    async fn content_of_rival(
        &self,
        found: &PendingRival,
    ) -> Result<Option<Content>, BackendError> {
        match &self.contents {
            Some(contents) if found.pending.stored.has(flags::FIELDS) => {
                contents.get(found.version.ordinal).await
            }
            _ => Ok(Some(Content::Text(String::new()))),
        }
    }

    /// `None` if the rival is certain to be stored.
    fn outcome_of(
        self: &Arc<Self>,
        found: PendingRival,
        tentative: bool,
        ours: &Announced,
    ) -> Option<watch::Receiver<Outcome>> {
        let Pending { ticket, tentative: is_tentative, .. } = found.pending;
        if !tentative && !is_tentative && ticket != Pending::CHOOSING {
            return None;
        }
        let (sender, outcome) = watch::channel(Outcome::Undecided);
        let (shared, our_ticket) = (Arc::clone(self), ours.pending.ticket);
        self.connection.spawn(async move {
            let decided = shared.outcome(&found, our_ticket, tentative, &sender).await;
            sender.send_replace(decided);
        });
        Some(outcome)
    }

    /// Waits for the outcome of a pending version, unless it has a later ticket.
    async fn outcome(
        &self,
        found: &PendingRival,
        our_ticket: u64,
        tentative: bool,
        waiting: &watch::Sender<Outcome>,
    ) -> Outcome {
        let PendingRival { version, pending, .. } = found;
        let mut pause = PAUSE_MIN;
        loop {
            let commands = vec![
                Command::new("GET", self.layout.pending(version), []),
                Command::new("GET", self.layout.document(&version.id), []),
            ];
            if waiting.is_closed() {
                return Outcome::Withdrawn;
            }
            if let Ok(replies) = self.connection.call(commands).await {
                let mut replies = replies.into_iter().map(Reply::bytes);
                let now = replies.next().flatten().and_then(|bytes| Pending::decode(&bytes));
                let live = replies.next().flatten().and_then(|bytes| VersionRecord::decode(&bytes));
                match now {
                    None => {
                        // A patch of its metadata leaves the set as it was.
                        let fingerprint = found.fingerprint();
                        let is_live = live.is_some_and(|live| {
                            live.ordinal >= version.ordinal && live.fingerprint == fingerprint
                        });
                        return if is_live { Outcome::Stored } else { Outcome::Withdrawn };
                    }
                    Some(now) if now.ticket != Pending::CHOOSING && now.ticket > our_ticket => {
                        return Outcome::Withdrawn;
                    }
                    Some(now) if now.ticket != Pending::CHOOSING => {
                        if !tentative && !now.tentative {
                            return Outcome::Stored;
                        }
                    }
                    Some(_) => {}
                }
                let since_ms = pending.stored.stored_at_ms;
                if self.now_ms().saturating_sub(since_ms) > self.lease_ms {
                    self.end_if_abandoned(found).await;
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Withdraws a version if its process is taken for dead. If it is not, making it live fails.
    async fn end_if_abandoned(&self, PendingRival { version, pending, .. }: &PendingRival) {
        let note = added(version, pending.stored.fingerprint);
        if self.is_abandoned(version, &note).await {
            let _ = self.repair_version(&note).await;
        }
    }
}

impl PendingRival {
    fn fingerprint(&self) -> u64 {
        self.pending.stored.fingerprint
    }
}

/// Pending versions that are read of each set.
fn versions_max(search: &RivalSearch) -> usize {
    search.rivals_max.saturating_add(2)
}

fn prepared(found: &PendingRival, content: Content, set: ShingleSet) -> PreparedDocument {
    let stored = &found.pending.stored;
    PreparedDocument {
        document: Document {
            id: found.version.id.clone(),
            content,
            metadata: stored.metadata.clone(),
            expires_at_ms: stored.expires_at_ms,
        },
        set,
        fingerprint: stored.fingerprint,
        sketch: found.sketch.clone(),
        keys: Vec::new(),
        whole_document: stored.has(flags::WHOLE_DOCUMENT),
        only_over: None,
        times: None,
        blocks: None,
    }
}
