//! The order of arrival: who is on the way into the store, and who came first.
//!
//! A document gets its place before anybody looks for its near-duplicates, and leaves once it can
//! be found in the index (or is withdrawn). So for two documents at once, the later one sees the
//! earlier either here or in the index. Waiting goes from later to earlier only, hence never in a
//! circle.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::backend::places::PlacesByKey;
use crate::backend::{Filing, Rival};
use crate::document::DocumentId;
use crate::scheme::Key;

/// What became of a document on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    UnderWay,
    Stored,
    Withdrawn,
}

#[derive(Debug)]
struct OnTheWay {
    id: DocumentId,
    /// `None` for a removal, which takes a place so that it and additions of one id keep their
    /// order.
    filing: Option<Arc<Filing>>,
    tentative: bool,
    /// Once somebody wants to know.
    outcome: Option<watch::Sender<Outcome>>,
    /// The arrivals with the same id right before this one and right after.
    before: Option<u64>,
    after: Option<u64>,
    withdrawn: bool,
}

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    on_the_way: BTreeMap<u64, OnTheWay>,
    /// The latest place of each id on its way.
    latest: HashMap<DocumentId, u64>,
    by_key: PlacesByKey,
    /// Only keys of the tables below this one are in `by_key`: those that were ever looked under.
    /// Calls mostly go with the collection's threshold, which takes some of the tables.
    tables: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    queue: Arc<Mutex<Queue>>,
}

/// A place in the order. Dropping it withdraws.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    arrivals: Arrivals,
    /// The latest earlier arrival with the same id, if it is still under way.
    predecessor: Option<watch::Receiver<Outcome>>,
    given_up: bool,
}

impl Arrivals {
    /// The place of a document that arrives, and the documents on their way, of other ids, that
    /// will be found under one of the probe's keys.
    pub fn enter(
        &self,
        filing: &Arc<Filing>,
        tentative: bool,
        probe: &[Key],
    ) -> (Place, Vec<Rival>) {
        let id = &filing.document.id;
        let mut queue = self.lock();
        let rivals = queue.rivals(id, probe);
        let place = self.take_place(&mut queue, id, Some(Arc::clone(filing)), tentative);
        queue.file(place.number, &filing.keys);
        (place, rivals)
    }

    pub fn enter_removal(&self, id: &DocumentId) -> Place {
        self.take_place(&mut self.lock(), id, None, false)
    }

    fn take_place(
        &self,
        queue: &mut Queue,
        id: &DocumentId,
        filing: Option<Arc<Filing>>,
        tentative: bool,
    ) -> Place {
        let number = queue.next;
        queue.next += 1;
        let before = queue.latest.insert(id.clone(), number);
        let earlier = before.and_then(|number| queue.on_the_way.get_mut(&number));
        let predecessor = earlier.map(|earlier| {
            earlier.after = Some(number);
            earlier.subscribe()
        });
        let on_the_way = OnTheWay {
            id: id.clone(),
            filing,
            tentative,
            outcome: None,
            before,
            after: None,
            withdrawn: false,
        };
        queue.on_the_way.insert(number, on_the_way);
        Place { number, arrivals: self.clone(), predecessor, given_up: false }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Every change under this lock is one insertion or removal, and a key that leads to nobody
        // is passed over: a panic leaves it whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn file(&mut self, number: u64, keys: &[Key]) {
        let Self { by_key, on_the_way, tables, .. } = self;
        let looked_under = keys.iter().filter(|key| key.table < *tables).copied();
        by_key.insert(number, looked_under, |number| on_the_way.contains_key(&number));
    }

    /// Files whoever is on the way under the keys of further tables.
    fn look_under(&mut self, tables: u32) {
        self.tables = tables;
        self.by_key.clear();
        let filings = self.on_the_way.iter().filter_map(|(&number, on_the_way)| {
            Some((number, Arc::clone(on_the_way.filing.as_ref()?)))
        });
        for (number, filing) in filings.collect::<Vec<_>>() {
            self.file(number, &filing.keys);
        }
    }

    fn rivals(&mut self, id: &DocumentId, probe: &[Key]) -> Vec<Rival> {
        let tables = probe.iter().map(|key| key.table.saturating_add(1)).max().unwrap_or(0);
        if tables > self.tables {
            self.look_under(tables);
        }
        self.by_key.prefetch(probe);
        let mut sharing: Vec<u64> = probe.iter().flat_map(|key| self.by_key.under(*key)).collect();
        sharing.sort_unstable();
        sharing.dedup();
        let mut rivals = Vec::new();
        for number in sharing {
            let other = self.on_the_way.get_mut(&number).filter(|other| other.id != *id);
            rivals.extend(other.and_then(OnTheWay::as_rival));
        }
        rivals
    }

    /// Takes out who is stored, and whoever has only waited for that to be withdrawn.
    fn leave(&mut self, number: u64, left: &mut Vec<OnTheWay>) {
        let mut next = Some(number);
        while let Some(number) = next {
            let Some(leaving) = self.on_the_way.remove(&number) else { break };
            if self.latest.get(&leaving.id) == Some(&number) {
                self.latest.remove(&leaving.id);
            }
            let is_withdrawn =
                |after: &u64| self.on_the_way.get(after).is_some_and(|it| it.withdrawn);
            next = leaving.after.filter(is_withdrawn);
            left.push(leaving);
        }
        if self.on_the_way.is_empty() {
            self.by_key.clear();
        }
    }

    /// Whoever waits for this arrival relies on those before it having left, too: so it stays as
    /// long as the one before, but is nobody's rival any more.
    fn withdraw(&mut self, number: u64, left: &mut Vec<OnTheWay>) {
        let Some(withdrawing) = self.on_the_way.get_mut(&number) else { return };
        withdrawing.withdrawn = true;
        withdrawing.filing = None;
        let before = withdrawing.before;
        if before.is_none_or(|before| !self.on_the_way.contains_key(&before)) {
            self.leave(number, left);
        }
    }
}

impl OnTheWay {
    /// `None` for a removal.
    fn as_rival(&mut self) -> Option<Rival> {
        let outcome = self.subscribe();
        let filing = Arc::clone(self.filing.as_ref()?);
        Some(Rival { filing, tentative: self.tentative, outcome })
    }

    fn subscribe(&mut self) -> watch::Receiver<Outcome> {
        let outcome = self.outcome.get_or_insert_with(|| watch::Sender::new(Outcome::UnderWay));
        outcome.subscribe()
    }

    /// To come when it has left.
    fn tell(&self) {
        if let Some(waiting) = &self.outcome {
            let outcome = if self.withdrawn { Outcome::Withdrawn } else { Outcome::Stored };
            waiting.send_replace(outcome);
        }
    }
}

impl Place {
    /// An earlier arrival with the same id was under way.
    pub fn has_predecessor(&self) -> bool {
        self.predecessor.is_some()
    }

    /// Waits until the earlier arrival with the same id, if there is one, is stored or withdrawn.
    pub async fn wait_for_predecessor(&mut self) {
        if let Some(mut predecessor) = self.predecessor.take() {
            // An error means that the sender is gone, which is as good as decided.
            let _ = predecessor.wait_for(|outcome| *outcome != Outcome::UnderWay).await;
        }
    }

    /// Gives the place up as stored: the document can be found now.
    pub fn stored(self) {
        Self::all_stored(vec![self]);
    }

    /// The same for many of one collection.
    pub fn all_stored(mut places: Vec<Self>) {
        let Some(first) = places.first() else { return };
        let arrivals = first.arrivals.clone();
        let mut left = Vec::with_capacity(places.len());
        let mut queue = arrivals.lock();
        for place in &places {
            queue.leave(place.number, &mut left);
        }
        drop(queue);
        left.iter().for_each(OnTheWay::tell);
        for place in &mut places {
            place.given_up = true;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.given_up {
            let mut left = Vec::new();
            self.arrivals.lock().withdraw(self.number, &mut left);
            left.iter().for_each(OnTheWay::tell);
        }
    }
}

#[cfg(test)]
mod tests;
