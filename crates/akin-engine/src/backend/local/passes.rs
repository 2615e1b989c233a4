//! Scans of the sketches of all documents. Searches that wait at the same time share a pass over
//! the sketches: a pass for sixteen takes a few times as long as a pass for one.
//!
//! A collection has one pass at a time, on a thread of the background. Each search waits for a turn
//! to begin a pass, and clients take these turns, but a pass serves other searches, too: a search
//! ends with the first pass that it is in.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Local;
use super::lookup::add_replacement;
use super::memory_state::MemoryState;
use super::replacements::Replacements;
use super::threads::long;
use crate::backend::{BackendError, Candidates, SketchScanning, SketchSearch, SketchView};
use crate::background::turns::Turns;
use crate::document::Ordinal;
use crate::storage::StorageError;
use akin_core::index::SketchScan;
use akin_core::simd::Level;

/// Searches in a pass.
const SEARCHES_MAX: usize = 16;

/// Steps of a pass, of a part of the index each, after which searches that nobody waits for leave
/// it: some milliseconds.
const STEPS_AT_ONCE: usize = 64;

/// Repeated checks of the documents that were replaced during a pass.
const CHECKS_MAX: usize = 4;

/// The passes of a collection, and the searches that wait for the next pass.
#[derive(Debug)]
pub(super) struct Passes {
    turns: Arc<Turns>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    joined: u64,
    #[cfg(test)]
    passes: usize,
    searches: VecDeque<(u64, WaitingSearch)>,
}

#[derive(Debug)]
struct WaitingSearch {
    search: SketchSearch,
    /// Closed once nobody waits for the result.
    found: oneshot::Sender<Candidates>,
}

#[async_trait]
impl SketchScanning for Local {
    async fn scan_sketches(&self, search: SketchSearch) -> Result<Candidates, BackendError> {
        let (number, mut found) = self.passes.join(search);
        let closed = |_| BackendError::Closed;
        let turn = tokio::select! {
            biased;
            found = &mut found => return found.map_err(closed),
            turn = self.passes.turns.take() => turn,
        };
        let (passes, memory) = (Arc::clone(&self.passes), Arc::clone(&self.memory));
        let now_ms = self.now_ms();
        long(move || {
            // Results are sent before the turn ends: a search that gets the next turn is waiting.
            let _turn = turn;
            pass(&memory, passes.next(number), now_ms);
            Ok::<(), StorageError>(())
        })
        .await?;
        found.await.map_err(closed)
    }

    fn distinct_sets(&self) -> usize {
        self.memory.index.stats().entries as usize
    }
    async fn view(&self) -> Result<Box<dyn SketchView>, BackendError> {
        Ok(Box::new(self.store.view(self.now_ms()).await?))
    }
}

impl Passes {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { turns: Turns::new(1), waiting: Mutex::default() })
    }

    fn join(&self, search: SketchSearch) -> (u64, oneshot::Receiver<Candidates>) {
        let (found, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        // Abandoned searches take no memory for long.
        while waiting.searches.front().is_some_and(|(_, first)| first.found.is_closed()) {
            waiting.searches.pop_front();
        }
        waiting.joined += 1;
        let number = waiting.joined;
        waiting.searches.push_back((number, WaitingSearch { search, found }));
        (number, receiver)
    }

    /// The searches of the next pass: this search, and the searches that have waited longest.
    fn next(&self, number: u64) -> Vec<WaitingSearch> {
        let mut waiting = self.waiting.lock();
        #[cfg(test)]
        {
            waiting.passes += 1;
        }
        let own = waiting.searches.binary_search_by_key(&number, |(number, _)| *number);
        let own = own.ok().and_then(|at| waiting.searches.remove(at));
        let mut next: Vec<WaitingSearch> = own.map(|(_, own)| own).into_iter().collect();
        while next.len() < SEARCHES_MAX
            && let Some((_, first)) = waiting.searches.pop_front()
        {
            next.extend(Some(first).filter(|first| !first.found.is_closed()));
        }
        next
    }
}

/// Scans for all searches that somebody waits for, and sends each its result.
fn pass(memory: &MemoryState, mut searches: Vec<WaitingSearch>, now_ms: i64) {
    let scan = |waiting: &WaitingSearch| {
        SketchScan::new(waiting.search.sketch.clone(), waiting.search.limits)
    };
    let mut scans: Vec<SketchScan> = searches.iter().map(scan).collect();
    let mut replaced = Replaced::since_now(&memory.replacements);
    let mut next = Some(0);
    while let Some(mut from) = next {
        for at in (0..searches.len()).rev() {
            if searches[at].found.is_closed() {
                searches.swap_remove(at);
                scans.swap_remove(at);
            }
        }
        if searches.is_empty() {
            return;
        }
        for _ in 0..STEPS_AT_ONCE {
            next = memory.index.scan_some(Level::best(), from, &mut scans);
            let Some(position) = next else { break };
            from = position;
        }
        replaced.update(&memory.replacements);
    }
    for (WaitingSearch { search, found }, scan) in searches.into_iter().zip(scans) {
        // Sent in vain if nobody waits any more.
        let _ = found.send(memory.scanned_sets(&search, scan, replaced.clone(), now_ms));
    }
}

/// The documents that were replaced during a pass.
#[derive(Clone, Debug)]
struct Replaced {
    count: u64,
    ordinals: Vec<Ordinal>,
    /// More documents were replaced than are recorded.
    is_incomplete: bool,
}

impl Replaced {
    fn since_now(replacements: &Replacements) -> Self {
        Self { count: replacements.count(), ordinals: Vec::new(), is_incomplete: false }
    }

    fn update(&mut self, replacements: &Replacements) {
        match replacements.since(self.count) {
            Some(new) => {
                self.count += new.len() as u64;
                self.ordinals.extend(new);
            }
            None => {
                self.count = replacements.count();
                self.is_incomplete = true;
            }
        }
    }
}

impl MemoryState {
    /// The result of a scan, with the near documents that replaced documents since the scan began.
    fn scanned_sets(
        &self,
        search: &SketchSearch,
        scan: SketchScan,
        mut replaced: Replaced,
        now_ms: i64,
    ) -> Candidates {
        let SketchSearch { each_max, total_max, .. } = *search;
        let scanned = self.index.scanned(scan, each_max, total_max);
        let mut candidates = self.resolved(&scanned, now_ms);
        // Other documents with the set of an expired document may have been left out.
        let is_member = |ordinal: &Ordinal| self.member(*ordinal, now_ms).is_some();
        let mut cut = scanned.found.iter().filter(|set| set.members.len() >= each_max);
        candidates.truncated |= cut.any(|set| !set.members.iter().all(is_member));
        for _ in 0..CHECKS_MAX {
            replaced.update(&self.replacements);
            for ordinal in std::mem::take(&mut replaced.ordinals) {
                let Some(mut new) = self.sketched_ordinal(ordinal, now_ms) else { continue };
                let (probe, sketch) = (search.sketch.as_bytes(), new.sketch.as_bytes());
                new.candidate.agreeing = self.index.agreeing(probe, sketch);
                if new.candidate.agreeing >= search.limits.near_min {
                    add_replacement(&mut candidates, new.candidate, each_max);
                }
            }
            if replaced.count == self.replacements.count() {
                break;
            }
        }
        // Documents were replaced faster than the scan could follow, so any may be missing.
        if replaced.is_incomplete {
            candidates.left_out = u32::MAX;
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::{BoxFuture, join_all};

    use super::super::tests::{open, post, text};
    use super::*;
    use crate::backend::testing::prepared;
    use crate::background::turns::{ClientId, on_behalf_of};
    use akin_core::index::ScanLimits;

    const LIMITS: ScanLimits = ScanLimits { near_min: 8, near_max: 10, kept_max: 0 };

    /// For a version of a document.
    fn search(id: &str, version: u32) -> SketchSearch {
        let sketch = prepared(id, &text(id, version)).analysis.sketch;
        SketchSearch { sketch, limits: LIMITS, each_max: 4, total_max: 40 }
    }

    fn best(found: &Candidates) -> (String, u32) {
        let best = found.found.iter().max_by_key(|set| set.agreeing).unwrap();
        (best.members[0].id.to_string(), best.agreeing)
    }

    #[tokio::test]
    async fn waiting_searches_share_passes() {
        let dir = tempfile::tempdir().unwrap();
        let local = open(dir.path());
        let ids: Vec<String> = (0..37).map(|n| format!("document {n}")).collect();
        for id in &ids {
            post(&local, id, 0).await.unwrap();
        }
        let held = local.passes.turns.take().await;
        let waiting = ids.iter().enumerate().map(|(n, id)| {
            let scan = local.scan_sketches(search(id, 0));
            let mut scan = on_behalf_of(ClientId(n as u64 % 5), scan).boxed();
            assert!((&mut scan).now_or_never().is_none());
            (id, scan)
        });
        let mut waiting: Vec<(&String, BoxFuture<'_, _>)> = waiting.collect();
        // Nobody waits for five of them.
        waiting.drain(3..8);
        drop(held);
        let found = join_all(waiting.into_iter().map(async |(id, scan)| (id, scan.await))).await;
        for (id, found) in found {
            let found = found.unwrap();
            assert_eq!(best(&found), (id.clone(), 128));
            assert_eq!(found.seen, ids.len());
        }
        assert_eq!(local.passes.waiting.lock().passes, 2, "thirty-two searches, sixteen at a time");
        assert!(local.passes.waiting.lock().searches.is_empty());
    }

    /// A pass for a version, with work after all sketches were read.
    async fn pass_with(local: &Local, id: &str, work: impl AsyncFnOnce()) -> Candidates {
        let memory = &local.memory;
        let replaced = Replaced::since_now(&memory.replacements);
        let search = search(id, 1);
        let mut scans = [SketchScan::new(search.sketch.clone(), search.limits)];
        let mut next = Some(0);
        while let Some(from) = next {
            next = memory.index.scan_some(Level::best(), from, &mut scans);
        }
        work().await;
        let [scan] = scans;
        memory.scanned_sets(&search, scan, replaced, local.now_ms())
    }

    #[tokio::test]
    async fn documents_that_are_replaced_during_a_pass_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let local = open(dir.path());
        post(&local, "a", 0).await.unwrap();
        post(&local, "b", 0).await.unwrap();
        let found = pass_with(&local, "a", async || {
            post(&local, "a", 1).await.unwrap();
        });
        let found = found.await;
        assert_eq!(best(&found), ("a".to_owned(), 128), "the new version");
        let members = found.found.iter().flat_map(|set| set.members.iter());
        assert_eq!(members.filter(|member| member.id.as_str() == "a").count(), 1);
        assert_eq!(found.left_out, 0);

        let found = pass_with(&local, "a", async || {
            (0..5_000).for_each(|n| local.memory.replacements.note(Ordinal::from(1_000 + n)));
        });
        assert_eq!(found.await.left_out, u32::MAX, "more than are recorded");
    }
}
