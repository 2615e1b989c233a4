//! The documents in flight that arrived earlier, in any process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::sleep;

use super::command::{Command, number};
use super::layout::be_bytes;
use super::reading::versions_of;
use super::versions::{Entry, Pending, VersionRecord, flags};
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
        let mut rest = found.into_iter().peekable();
        while rest.peek().is_some() {
            let room = search.rivals_max - rivals.found.len();
            if room == 0 {
                return Ok(Rivals { truncated: true, ..rivals });
            }
            let some = self.agreeing_rivals(rest.by_ref().take(room), search, document).await?;
            for (found, rival) in some {
                let outcome = self.outcome_of(found, tentative, ours);
                rivals.found.push(Rival { document: Arc::new(rival), outcome });
            }
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

    /// Those whose sketches agree well enough and that are still there, with their sets.
    async fn agreeing_rivals(
        &self,
        found: impl Iterator<Item = Found>,
        search: &RivalSearch,
        document: &PreparedDocument,
    ) -> Result<Vec<(Found, PreparedDocument)>, BackendError> {
        let found: Vec<Found> = found.collect();
        let of_set = |found: &Found| found.pending.stored.fingerprint;
        let entries = self.entries(found.iter().map(of_set)).await?;
        let agrees = |(found, entry): (Found, Option<Entry>)| {
            let sketch = entry?.sketch;
            let agreeing = self.estimator.agreeing(document.sketch.as_bytes(), sketch.as_bytes());
            (agreeing >= search.agreeing_min).then_some((found, sketch))
        };
        let agreeing: Vec<_> = found.into_iter().zip(entries).filter_map(agrees).collect();
        let fingerprints: Vec<u64> = agreeing.iter().map(|(found, _)| of_set(found)).collect();
        let sets = self.read_sets(&fingerprints).await?;
        let mut rivals = Vec::with_capacity(agreeing.len());
        for ((found, sketch), set) in agreeing.into_iter().zip(sets) {
            let (Some(set), Some(content)) = (set, self.content_of_rival(&found).await?) else {
                continue;
            };
            let rival = prepared(&found, content, set, sketch);
            rivals.push((found, rival));
        }
        Ok(rivals)
    }

    /// Only records are scored by their contents.
    async fn content_of_rival(&self, found: &Found) -> Result<Option<Content>, BackendError> {
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
        found: Found,
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
