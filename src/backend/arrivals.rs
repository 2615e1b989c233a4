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
        let before = before.and_then(|number| queue.on_the_way.get_mut(&number));
        let predecessor = before.map(OnTheWay::subscribe);
        let on_the_way = OnTheWay { id: id.clone(), filing, tentative, outcome: None };
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

    fn leave(&mut self, number: u64) -> Option<OnTheWay> {
        let left = self.on_the_way.remove(&number)?;
        if self.latest.get(&left.id) == Some(&number) {
            self.latest.remove(&left.id);
        }
        if self.on_the_way.is_empty() {
            self.by_key.clear();
        }
        Some(left)
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

    fn tell(&self, outcome: Outcome) {
        if let Some(waiting) = &self.outcome {
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
    pub fn stored(mut self) {
        self.give_up(Outcome::Stored);
    }

    /// The same for many of one collection.
    pub fn all_stored(mut places: Vec<Self>) {
        let Some(first) = places.first() else { return };
        let arrivals = first.arrivals.clone();
        let mut queue = arrivals.lock();
        let left: Vec<_> = places.iter().filter_map(|place| queue.leave(place.number)).collect();
        drop(queue);
        for left in left {
            left.tell(Outcome::Stored);
        }
        for place in &mut places {
            place.given_up = true;
        }
    }

    fn give_up(&mut self, outcome: Outcome) {
        let left = self.arrivals.lock().leave(self.number);
        if let Some(left) = left {
            left.tell(outcome);
        }
        self.given_up = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.given_up {
            self.give_up(Outcome::Withdrawn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::testing::filing;

    /// A document's place, and the ids of its rivals.
    fn enter(arrivals: &Arrivals, id: &str, text: &str, tentative: bool) -> (Place, Vec<Rival>) {
        let filing = Arc::new(filing(id, text));
        let probe = filing.keys.clone();
        arrivals.enter(&filing, tentative, &probe)
    }

    #[tokio::test]
    async fn the_later_sees_the_earlier_until_it_is_stored() {
        let arrivals = Arrivals::default();
        let (first, rivals) = enter(&arrivals, "a", "one two three", true);
        assert!(rivals.is_empty());
        let (_second, mut rivals) = enter(&arrivals, "b", "one two three", false);
        let rival = rivals.pop().unwrap();
        assert!(rival.tentative && rivals.is_empty());
        first.stored();
        assert!(rival.was_stored().await);
        let (_third, rivals) = enter(&arrivals, "c", "one two three", false);
        assert_eq!(rivals.len(), 1, "only the second is still on its way");
    }

    #[tokio::test]
    async fn dropping_a_place_withdraws() {
        let arrivals = Arrivals::default();
        let (first, _) = enter(&arrivals, "a", "one two three", true);
        let (_second, mut rivals) = enter(&arrivals, "b", "one two three", false);
        drop(first);
        assert!(!rivals.pop().unwrap().was_stored().await);
    }

    #[test]
    fn rivals_share_a_key() {
        let arrivals = Arrivals::default();
        let (_first, _) = enter(&arrivals, "a", "one two three", false);
        let (_second, rivals) = enter(&arrivals, "b", "four five six", false);
        assert!(rivals.is_empty());
    }

    #[test]
    fn who_looks_under_more_keys_than_anybody_before_sees_all_rivals() {
        let arrivals = Arrivals::default();
        let first = Arc::new(filing("a", "one two three four five six"));
        let second = Arc::new(filing("b", "one two three four five six"));
        let (_first, _) = arrivals.enter(&first, false, &first.keys[..1]);
        let (_second, rivals) = arrivals.enter(&second, false, &second.keys[7..8]);
        assert_eq!(rivals.len(), 1);
    }

    #[test]
    fn whoever_has_left_leaves_nothing_behind() {
        let arrivals = Arrivals::default();
        let (first, _) = enter(&arrivals, "a", "one two three", false);
        let (second, _) = enter(&arrivals, "a", "one two three", false);
        let (third, _) = enter(&arrivals, "b", "one two three", false);
        let removal = arrivals.enter_removal(&filing("a", "x").document.id);
        Place::all_stored(vec![first, third]);
        drop(second);
        drop(removal);
        let queue = arrivals.lock();
        assert!(queue.on_the_way.is_empty() && queue.latest.is_empty() && queue.by_key.is_empty());
    }

    #[tokio::test]
    async fn one_id_keeps_its_order_and_is_no_rival_of_itself() {
        let arrivals = Arrivals::default();
        let (first, _) = enter(&arrivals, "a", "one two three", false);
        let (mut second, rivals) = enter(&arrivals, "a", "one two three", false);
        let mut removal = arrivals.enter_removal(&filing("a", "x").document.id);
        assert!(rivals.is_empty());
        let order = std::sync::Mutex::new(Vec::new());
        tokio::join!(
            async {
                removal.wait_for_predecessor().await;
                order.lock().unwrap().push("removal");
            },
            async {
                second.wait_for_predecessor().await;
                order.lock().unwrap().push("second");
                second.stored();
            },
            async {
                order.lock().unwrap().push("first");
                first.stored();
            },
        );
        assert_eq!(*order.lock().unwrap(), ["first", "second", "removal"]);
    }
}
