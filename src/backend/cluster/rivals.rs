//! The documents in flight that arrived earlier, in any process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::sleep;

use super::command::{Command, number};
use super::layout::be_bytes;
use super::reading::versions_of;
use super::versions::{Pending, VersionRecord, flags};
use super::{Announced, Shared};
use crate::backend::in_flight::Outcome;
use crate::backend::{
    BackendError, PreparedDocument, Registered, Rival, RivalSearch, Rivals, Version,
};
use crate::document::{Content, Document};
use crate::sketch::Sketch;
use crate::text::ShingleSet;

/// Sets examined for each rival requested.
const SETS_PER_RIVAL: usize = 16;

/// Pauses between two looks at a pending version.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// A pending version of another document.
struct Found {
    version: Version,
    pending: Pending,
}

impl Shared {
    /// Announces the document and finds its rivals.
    pub(super) async fn announce(
        self: &Arc<Self>,
        registered: &mut Registered,
    ) -> Result<(), BackendError> {
        let Some(search) = registered.search.clone() else { return Ok(()) };
        let (document, tentative) = (Arc::clone(&registered.document), registered.tentative);
        if let Some(announced) = &registered.announced {
            registered.rivals = self.rivals(&document, tentative, &search, announced).await?;
            return Ok(());
        }
        registered.ticket.wait_for_predecessor().await;
        let place = self.tickets.enter();
        let mut announced = self.begin(&document, Pending::CHOOSING, tentative).await?;
        let ticket = place.ticket().await?;
        self.set_ticket(&mut announced, ticket).await?;
        let rivals = self.rivals(&document, tentative, &search, &announced).await?;
        registered.rivals = rivals;
        registered.announced = Some(announced);
        Ok(())
    }

    async fn rivals(
        self: &Arc<Self>,
        document: &PreparedDocument,
        tentative: bool,
        search: &RivalSearch,
        ours: &Announced,
    ) -> Result<Rivals, BackendError> {
        let sets_max = search.rivals_max.saturating_mul(SETS_PER_RIVAL);
        let mut sharing = self.sharing(&search.keys, sets_max).await?;
        if !sharing.sets.iter().any(|(fingerprint, _)| *fingerprint == document.fingerprint) {
            sharing.sets.push((document.fingerprint, 0));
        }
        let mut rivals = Rivals { found: Vec::new(), truncated: sharing.truncated };
        let (mut found, truncated) =
            self.pending_of(&sharing.sets, search.rivals_max, &ours.version).await?;
        rivals.truncated |= truncated;
        // The earliest first; those without a ticket last.
        found.retain(|found| {
            let ticket = found.pending.ticket;
            ticket == Pending::CHOOSING || ticket < ours.pending.ticket
        });
        found.sort_by_key(|found| found.pending.ticket.wrapping_sub(1));
        for found in found {
            if rivals.found.len() == search.rivals_max {
                return Ok(Rivals { truncated: true, ..rivals });
            }
            rivals.found.extend(self.rival(found, tentative, search, document, ours).await?);
        }
        Ok(rivals)
    }

    /// The pending versions with these sets.
    async fn pending_of(
        &self,
        sets: &[(u64, u32)],
        rivals_max: usize,
        ours: &Version,
    ) -> Result<(Vec<Found>, bool), BackendError> {
        let count = rivals_max.saturating_add(2);
        let arriving = |(fingerprint, _): &(u64, u32)| {
            let range = [b"-".as_slice(), b"+", b"LIMIT", b"0"].map(Bytes::from_static);
            let range = range.into_iter().chain([number(count)]);
            Command::new("ZRANGEBYLEX", self.layout.arriving(*fingerprint), range)
        };
        let replies = self.connection.call(sets.iter().map(arriving).collect()).await?;
        let (mut versions, mut truncated) = (Vec::new(), false);
        for reply in replies {
            let of_set = versions_of(reply);
            truncated |= of_set.len() == count;
            versions.extend(of_set.into_iter().filter(|version| version.id != ours.id));
        }
        let get = |version: &Version| {
            let field = Bytes::copy_from_slice(&be_bytes(version.ordinal));
            Command::new("HGET", self.layout.pending(&version.id), [field])
        };
        let replies = self.connection.call(versions.iter().map(get).collect()).await?;
        let found = versions.into_iter().zip(replies).filter_map(|(version, reply)| {
            Some(Found { version, pending: Pending::decode(&reply.bytes()?)? })
        });
        Ok((found.collect(), truncated))
    }

    /// `None` if its sketch does not agree well enough, or it is gone.
    async fn rival(
        self: &Arc<Self>,
        found: Found,
        tentative: bool,
        search: &RivalSearch,
        document: &PreparedDocument,
        ours: &Announced,
    ) -> Result<Option<Rival>, BackendError> {
        let fingerprint = found.pending.stored.fingerprint;
        let entry = self.entries(std::iter::once(fingerprint)).await?.pop().flatten();
        let set = self.read_sets(&[fingerprint]).await?.pop().flatten();
        let (Some(entry), Some(set)) = (entry, set) else { return Ok(None) };
        let agreeing = self.estimator.agreeing(document.sketch.as_bytes(), entry.sketch.as_bytes());
        if agreeing < search.agreeing_min {
            return Ok(None);
        }
        let content = match &self.contents {
            // Only records are scored by their contents.
            Some(contents) if found.pending.stored.has(flags::FIELDS) => {
                contents.get(found.version.ordinal).await?
            }
            _ => Some(Content::Text(String::new())),
        };
        let Some(content) = content else { return Ok(None) };
        let rival = prepared(&found, content, set, entry.sketch);
        let is_certain =
            !tentative && !found.pending.tentative && found.pending.ticket != Pending::CHOOSING;
        let outcome = (!is_certain).then(|| {
            let (sender, outcome) = watch::channel(Outcome::Undecided);
            let (shared, our_ticket) = (Arc::clone(self), ours.pending.ticket);
            self.connection.spawn(async move {
                let decided = shared.outcome(&found, our_ticket, tentative, &sender).await;
                sender.send_replace(decided);
            });
            outcome
        });
        Ok(Some(Rival { document: Arc::new(rival), outcome }))
    }

    /// Waits for the outcome of a pending version; one with a later ticket is none of ours.
    async fn outcome(
        &self,
        found: &Found,
        our_ticket: u64,
        tentative: bool,
        waiting: &watch::Sender<Outcome>,
    ) -> Outcome {
        let Found { version, pending } = found;
        let mut pause = PAUSE_MIN;
        loop {
            let field = Bytes::copy_from_slice(&be_bytes(version.ordinal));
            let commands = vec![
                Command::new("HGET", self.layout.pending(&version.id), [field]),
                Command::new("GET", self.layout.document(&version.id), []),
            ];
            if waiting.is_closed() {
                return Outcome::Withdrawn;
            }
            if let Ok(replies) = self.connection.call(commands).await {
                let mut replies = replies.into_iter().map(super::reply::Reply::bytes);
                let now = replies.next().flatten().and_then(|bytes| Pending::decode(&bytes));
                let live = replies.next().flatten().and_then(|bytes| VersionRecord::decode(&bytes));
                match now {
                    None => {
                        let is_live = live.is_some_and(|live| live.ordinal == version.ordinal);
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
                if self.now_ms().saturating_sub(pending.since_ms) > self.lease_ms {
                    // Its process is taken for dead. If it is not, making it live fails.
                    let _ = self.withdraw(version, pending.stored.fingerprint).await;
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

fn prepared(found: &Found, content: Content, set: ShingleSet, sketch: Sketch) -> PreparedDocument {
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
        sketch,
        keys: Vec::new(),
        whole_document: stored.has(flags::WHOLE_DOCUMENT),
        sampled_to_one: stored.has(flags::SAMPLED_TO_ONE),
        only_over: None,
    }
}
