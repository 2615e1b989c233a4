//! The queue of arrivals: documents and removals by their number in the order of arrival.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tokio::sync::watch;

use super::sets::SetsInFlight;
use super::{Mutex, MutexGuard, Outcome, PoisonError, was_stored};
use crate::backend::{Addition, PreparedDocument, Rival, Rivals};
use crate::document::{DocumentId, Ordinal};
use akin_core::sketch::Estimator;

/// Documents of one set that are examined for each rival requested: some may have the id of the
/// arriving document.
const EXAMINED_PER_RIVAL: usize = 2;

#[derive(Debug)]
pub(super) struct Entry {
    id: DocumentId,
    /// `None` for a withdrawn document and for a removal, which has a number so that removals and
    /// additions of an id keep their order.
    document: Option<Arc<PreparedDocument>>,
    /// The document may be withdrawn because of a near-duplicate.
    tentative: bool,
    /// Created when the first waiter subscribes.
    outcome: Option<watch::Sender<Outcome>>,
    /// The numbers with the same id immediately before and after this number.
    previous: Option<u64>,
    next: Option<u64>,
    withdrawn: bool,
    ticket: Option<Ordinal>,
    /// New documents that arrived later and have this document among their rivals.
    reporters: Vec<DocumentId>,
}

#[derive(Debug)]
pub(super) struct Queue {
    next_number: u64,
    pub(super) entries: BTreeMap<u64, Entry>,
    /// The latest number of each id.
    pub(super) latest: BTreeMap<DocumentId, u64>,
    pub(super) sets: SetsInFlight,
    /// The numbers of texts by their tickets.
    texts: BTreeMap<Ordinal, u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    queue: Arc<Mutex<Queue>>,
}

/// A position in the order of arrival. Dropping it withdraws the document.
#[derive(Debug)]
pub(crate) struct Arrival {
    number: u64,
    in_flight: InFlight,
    /// The outcome of the previous arrival with the same id, if it is undecided.
    predecessor: Option<watch::Receiver<Outcome>>,
    returned: bool,
}

impl InFlight {
    pub fn new(estimator: Estimator) -> Self {
        let queue = Queue {
            next_number: 0,
            entries: BTreeMap::new(),
            latest: BTreeMap::new(),
            sets: SetsInFlight::new(estimator),
            texts: BTreeMap::new(),
        };
        Self { queue: Arc::new(Mutex::new(queue)) }
    }

    /// Gives an arriving document its number and finds its rivals, to which it is a
    /// [reporter](Arrival::reporters) if no version of it is stored (`is_absent`, which is called
    /// under the lock) or in flight.
    pub fn enter(
        &self,
        addition: &Addition,
        is_absent: impl FnOnce() -> bool,
    ) -> (Arrival, Rivals) {
        let mut queue = self.lock();
        let (number, id) = (queue.next_number, &addition.document.document.id);
        let reporter = (!queue.latest.contains_key(id) && is_absent()).then_some(id);
        let rivals = queue.rivals(number, addition, reporter);
        let arrival = self.issue(&mut queue, id, Some(addition));
        queue.sets.insert(number, &addition.document);
        queue.texts.extend(addition.ticket().map(|ticket| (ticket, number)));
        (arrival, rivals)
    }

    pub fn enter_removal(&self, id: &DocumentId) -> Arrival {
        self.issue(&mut self.lock(), id, None)
    }

    fn issue(&self, queue: &mut Queue, id: &DocumentId, addition: Option<&Addition>) -> Arrival {
        let number = queue.next_number;
        queue.next_number += 1;
        let previous = queue.latest.insert(id.clone(), number);
        let earlier = previous.and_then(|number| queue.entries.get_mut(&number));
        let predecessor = earlier.map(|earlier| {
            earlier.next = Some(number);
            earlier.subscribe()
        });
        let entry = Entry {
            id: id.clone(),
            document: addition.map(|addition| Arc::clone(&addition.document)),
            tentative: addition.is_some_and(|addition| addition.tentative),
            outcome: None,
            previous,
            next: None,
            withdrawn: false,
            ticket: addition.and_then(Addition::ticket),
            reporters: Vec::new(),
        };
        queue.entries.insert(number, entry);
        Arrival { number, in_flight: self.clone(), predecessor, returned: false }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        // Every change under this lock is a few insertions or removals that do not panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// The documents in flight before `number` that match the search, if there is one. The cost is
    /// bounded regardless of the number in flight.
    fn rivals(
        &mut self,
        number: u64,
        addition: &Addition,
        reporter: Option<&DocumentId>,
    ) -> Rivals {
        let Addition { document, search: Some(search), tentative, .. } = addition else {
            return Rivals::default();
        };
        let Self { entries, sets, .. } = self;
        let (near, truncated) = sets.near(document, *tentative, search);
        let mut rivals = Rivals { found: Vec::new(), truncated };
        for set in near {
            let examined_max = EXAMINED_PER_RIVAL * search.rivals_max;
            let mut numbers = set.documents.range(..number);
            for number in numbers.by_ref().take(examined_max) {
                let Some(entry) = entries.get_mut(number) else { continue };
                if entry.id == document.document.id {
                    continue;
                }
                if rivals.found.len() == search.rivals_max {
                    return Rivals { truncated: true, ..rivals };
                }
                entry.reporters.extend(reporter.cloned());
                rivals.found.extend(entry.as_rival(*tentative));
            }
            rivals.truncated |= numbers.next().is_some();
        }
        rivals
    }

    /// Removes an arrival, and withdrawn arrivals with its id that were kept only until it left.
    fn leave(&mut self, number: u64, left: &mut Vec<Entry>) {
        let mut next = Some(number);
        while let Some(number) = next {
            let Some(entry) = self.entries.remove(&number) else { break };
            if let Some(document) = &entry.document {
                self.sets.remove(number, document.analysis.fingerprint);
            }
            if let Some(ticket) = entry.ticket {
                self.texts.remove(&ticket);
            }
            if self.latest.get(&entry.id) == Some(&number) {
                self.latest.remove(&entry.id);
            }
            let is_withdrawn =
                |next: &u64| self.entries.get(next).is_some_and(|entry| entry.withdrawn);
            next = entry.next.filter(is_withdrawn);
            left.push(entry);
        }
    }

    /// Waiters for this arrival rely on the departure of all earlier arrivals with its id, too. So
    /// it stays as long as its predecessor, but is no longer a rival.
    fn withdraw(&mut self, number: u64, left: &mut Vec<Entry>) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.withdrawn = true;
        if let Some(document) = entry.document.take() {
            self.sets.remove(number, document.analysis.fingerprint);
        }
        let previous = entry.previous;
        if previous.is_none_or(|previous| !self.entries.contains_key(&previous)) {
            self.leave(number, left);
        }
    }
}

impl Entry {
    /// `None` for a removal. A `tentative` document waits for the outcome of every rival, other
    /// documents only for rivals that may be withdrawn.
    fn as_rival(&mut self, tentative: bool) -> Option<Rival> {
        let document = Arc::clone(self.document.as_ref()?);
        let outcome = (tentative || self.tentative).then(|| self.subscribe());
        Some(Rival { document, outcome })
    }

    fn subscribe(&mut self) -> watch::Receiver<Outcome> {
        let outcome = self.outcome.get_or_insert_with(|| watch::Sender::new(Outcome::Undecided));
        outcome.subscribe()
    }

    /// Wakes the waiters after the arrival has left.
    fn announce_outcome(&self) {
        if let Some(waiting) = &self.outcome {
            let outcome = if self.withdrawn { Outcome::Withdrawn } else { Outcome::Stored };
            waiting.send_replace(outcome);
        }
    }
}

impl Arrival {
    /// Whether an earlier arrival with the same id was undecided.
    #[cfg(test)]
    pub fn has_predecessor(&self) -> bool {
        self.predecessor.is_some()
    }

    /// Waits until the previous arrival with the same id, if any, is stored or withdrawn.
    pub async fn wait_for_predecessor(&self) {
        if let Some(predecessor) = self.predecessor.clone() {
            was_stored(predecessor).await;
        }
    }

    /// The rivals that are still in flight.
    pub fn rivals(&self, addition: &Addition) -> Rivals {
        self.in_flight.lock().rivals(self.number, addition, None)
    }

    /// The new documents that arrived later and report the document of this arrival, if they are
    /// near enough. If it reported them, too, a client that drops what has near-duplicates would
    /// drop both.
    pub fn reporters(&self) -> HashSet<DocumentId> {
        let queue = self.in_flight.lock();
        let own = queue.entries.get(&self.number);
        own.map(|own| own.reporters.iter().cloned().collect()).unwrap_or_default()
    }

    /// The outcomes of the documents with these tickets that arrived earlier, have other ids and
    /// are undecided.
    pub fn earlier_texts(
        &self,
        tickets: impl IntoIterator<Item = Ordinal>,
    ) -> Vec<watch::Receiver<Outcome>> {
        let mut queue = self.in_flight.lock();
        let Queue { entries, texts, .. } = &mut *queue;
        let Some(own_id) = entries.get(&self.number).map(|own| own.id.clone()) else {
            return Vec::new();
        };
        let numbers = tickets.into_iter().filter_map(|ticket| texts.get(&ticket).copied());
        let outcome = |number| {
            let earlier = entries.get_mut(&number).filter(|it| !it.withdrawn && it.id != own_id);
            earlier.map(Entry::subscribe)
        };
        numbers.filter(|number| *number < self.number).filter_map(outcome).collect()
    }

    /// For each id the outcome of the last earlier document or removal with this id, if it is
    /// undecided.
    pub fn earlier_writes(&self, ids: &[DocumentId]) -> Vec<Option<watch::Receiver<Outcome>>> {
        let mut queue = self.in_flight.lock();
        let Queue { entries, latest, .. } = &mut *queue;
        let mut earlier = |id: &DocumentId| {
            let mut number = *latest.get(id)?;
            while number >= self.number {
                number = entries.get(&number)?.previous?;
            }
            entries.get_mut(&number).map(Entry::subscribe)
        };
        ids.iter().map(&mut earlier).collect()
    }

    /// Ends the arrival: the document is in the index now, or was removed from it.
    pub fn stored(mut self) {
        self.returned = true;
        let mut left = Vec::new();
        self.in_flight.lock().leave(self.number, &mut left);
        left.iter().for_each(Entry::announce_outcome);
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if !self.returned {
            let mut left = Vec::new();
            self.in_flight.lock().withdraw(self.number, &mut left);
            left.iter().for_each(Entry::announce_outcome);
        }
    }
}
