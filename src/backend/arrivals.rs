//! The order of arrival: who is on the way into the store, and who came first.
//!
//! A document gets its place before anybody looks for its near-duplicates, and leaves once it can
//! be found in the index (or is withdrawn). So for two documents at once, the later one sees the
//! earlier either here or in the index. Waiting goes from later to earlier only, hence never in a
//! circle.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::backend::{Filing, Rival};
use crate::document::DocumentId;

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
    outcome: watch::Sender<Outcome>,
}

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    on_the_way: BTreeMap<u64, OnTheWay>,
    /// The latest place of each id on its way.
    latest: HashMap<DocumentId, u64>,
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
}

impl Arrivals {
    pub fn enter(
        &self,
        filing: &Arc<Filing>,
        tentative: bool,
        is_rival: &dyn Fn(&Filing) -> bool,
    ) -> (Place, Vec<Rival>) {
        let id = &filing.document.id;
        let mut queue = self.lock();
        let rivals = queue.on_the_way.values().filter_map(|other| other.as_rival(id, is_rival));
        let rivals = rivals.collect();
        let place = self.take_place(&mut queue, id, Some(Arc::clone(filing)), tentative);
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
        let before = before.and_then(|number| queue.on_the_way.get(&number));
        let predecessor = before.map(|other| other.outcome.subscribe());
        let outcome = watch::Sender::new(Outcome::UnderWay);
        queue.on_the_way.insert(number, OnTheWay { id: id.clone(), filing, tentative, outcome });
        Place { number, arrivals: self.clone(), predecessor }
    }

    fn leave(&self, number: u64, outcome: Outcome) {
        let mut queue = self.lock();
        let Some(left) = queue.on_the_way.remove(&number) else { return };
        if queue.latest.get(&left.id) == Some(&number) {
            queue.latest.remove(&left.id);
        }
        drop(queue);
        left.outcome.send_replace(outcome);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Every change under this lock is one insertion or removal: a panic leaves it whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OnTheWay {
    fn as_rival(&self, id: &DocumentId, is_rival: &dyn Fn(&Filing) -> bool) -> Option<Rival> {
        let filing = self.filing.as_ref().filter(|filing| is_rival(filing) && self.id != *id)?;
        Some(Rival {
            filing: Arc::clone(filing),
            tentative: self.tentative,
            outcome: self.outcome.subscribe(),
        })
    }
}

impl Place {
    /// Waits until the earlier arrival with the same id, if there is one, is stored or withdrawn.
    pub async fn wait_for_predecessor(&mut self) {
        if let Some(mut predecessor) = self.predecessor.take() {
            // An error means that the sender is gone, which is as good as decided.
            let _ = predecessor.wait_for(|outcome| *outcome != Outcome::UnderWay).await;
        }
    }

    /// Gives the place up as stored: the document can be found now.
    pub fn stored(self) {
        self.arrivals.leave(self.number, Outcome::Stored);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.arrivals.leave(self.number, Outcome::Withdrawn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::testing::filing;

    #[tokio::test]
    async fn the_later_sees_the_earlier_until_it_is_stored() {
        let arrivals = Arrivals::default();
        let (first, rivals) = arrivals.enter(&Arc::new(filing("a", "x")), true, &|_| true);
        assert!(rivals.is_empty());
        let (_second, mut rivals) = arrivals.enter(&Arc::new(filing("b", "x")), false, &|_| true);
        let rival = rivals.pop().unwrap();
        assert!(rival.tentative && rivals.is_empty());
        first.stored();
        assert!(rival.was_stored().await);
        let (_third, rivals) = arrivals.enter(&Arc::new(filing("c", "x")), false, &|_| true);
        assert_eq!(rivals.len(), 1, "only the second is still on its way");
    }

    #[tokio::test]
    async fn dropping_a_place_withdraws() {
        let arrivals = Arrivals::default();
        let (first, _) = arrivals.enter(&Arc::new(filing("a", "x")), true, &|_| true);
        let (_second, mut rivals) = arrivals.enter(&Arc::new(filing("b", "x")), false, &|_| true);
        drop(first);
        assert!(!rivals.pop().unwrap().was_stored().await);
    }

    #[tokio::test]
    async fn one_id_keeps_its_order_and_is_no_rival_of_itself() {
        let arrivals = Arrivals::default();
        let (first, _) = arrivals.enter(&Arc::new(filing("a", "x")), false, &|_| true);
        let (mut second, rivals) = arrivals.enter(&Arc::new(filing("a", "y")), false, &|_| true);
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
