//! Arrivals with locks that Shuttle schedules at random. A stored document is in a map in place of
//! the index.

#![allow(dead_code, reason = "the model uses a part of the queue")]
#![allow(
    clippy::duplicate_mod,
    reason = "the queue's own code, with other types for what is shared"
)]

#[path = "../queue.rs"]
mod queue;
#[path = "../sets.rs"]
mod sets;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use shuttle::future::block_on;
use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread;

use super::{near_copy, search};
use crate::backend::in_flight::{Outcome, was_stored};
use crate::backend::testing::prepared;
use crate::backend::{Addition, PreparedDocument, Rivals};
use akin_core::sketch::{Estimator, SketchSettings};
use queue::{Arrival, InFlight};

const SCHEDULES: usize = 500;

/// Documents, of which some are in flight and some are stored.
struct Arrivals {
    in_flight: InFlight,
    /// The text of each id.
    stored: Mutex<BTreeMap<String, String>>,
}

impl Arrivals {
    fn new() -> Arc<Self> {
        let in_flight = InFlight::new(Estimator::new(&SketchSettings::default()));
        Arc::new(Self { in_flight, stored: Mutex::default() })
    }

    fn enter(&self, document: &Arc<PreparedDocument>, tentative: bool) -> (Arrival, Rivals) {
        let addition = Addition {
            document: Arc::clone(document),
            search: Some(search(document)),
            tentative,
            waits_for_texts: false,
            times: None,
            text: None,
        };
        self.in_flight.enter(&addition, || true)
    }

    /// The steps of `Engine::add`: the ids of the near-duplicates, and whether it was stored.
    fn add(&self, document: &Arc<PreparedDocument>, tentative: bool) -> (Vec<String>, bool) {
        let (arrival, rivals) = self.enter(document, tentative);
        let mut found: Vec<String> = self.stored.lock().unwrap().keys().cloned().collect();
        if !tentative {
            let reporters = arrival.reporters();
            found.retain(|id| reporters.iter().all(|reporter| reporter.as_str() != id));
        }
        for rival in rivals.found {
            let id = rival.document.document.id.to_string();
            if block_on(rival.was_stored()) && !found.contains(&id) {
                found.push(id);
            }
        }
        found.retain(|id| id != document.document.id.as_str());
        let is_stored = !tentative || found.is_empty();
        if is_stored {
            block_on(arrival.wait_for_predecessor());
            self.store(document, arrival);
        }
        (found, is_stored)
    }

    /// It is in the index before the arrival ends.
    fn store(&self, document: &PreparedDocument, arrival: Arrival) {
        let id = document.document.id.to_string();
        self.stored.lock().unwrap().insert(id, text(document));
        arrival.stored();
    }

    fn check_empty(&self) {
        let queue = self.in_flight.lock();
        assert!(queue.entries.is_empty() && queue.latest.is_empty() && queue.sets.is_empty());
    }
}

fn text(document: &PreparedDocument) -> String {
    format!("{:?}", document.document.content)
}

/// Near-duplicates of different ids.
fn near_copies(count: usize) -> Vec<Arc<PreparedDocument>> {
    let copy = |number: usize| Arc::new(prepared(&format!("{number}"), &near_copy(number)));
    (0..count).map(copy).collect()
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, SCHEDULES);
}

/// Adds documents at once, each in a thread of its own.
fn add_all(
    arrivals: &Arc<Arrivals>,
    documents: &[Arc<PreparedDocument>],
    is_tentative: fn(usize) -> bool,
) -> Vec<(Vec<String>, bool)> {
    let add = |(at, document): (usize, &Arc<PreparedDocument>)| {
        let (arrivals, document) = (Arc::clone(arrivals), Arc::clone(document));
        thread::spawn(move || arrivals.add(&document, is_tentative(at)))
    };
    let threads: Vec<_> = documents.iter().enumerate().map(add).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn of_concurrent_near_duplicates_one_reports_the_other() {
    let documents = near_copies(3);
    check(move || {
        let arrivals = Arrivals::new();
        let added = add_all(&arrivals, &documents, |_| false);
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let reports = |of: usize, other: usize| added[of].0.contains(&other.to_string());
            assert!(reports(a, b) != reports(b, a), "{added:?}");
        }
        arrivals.check_empty();
    });
}

#[test]
fn with_skip_exactly_one_of_several_is_stored() {
    let documents = near_copies(3);
    check(move || {
        let arrivals = Arrivals::new();
        let added = add_all(&arrivals, &documents, |_| true);
        assert_eq!(added.iter().filter(|(_, is_stored)| *is_stored).count(), 1, "{added:?}");
        assert_eq!(arrivals.stored.lock().unwrap().len(), 1);
        arrivals.check_empty();
    });
}

/// Documents that are kept in any case are stored, and documents that may be skipped are stored
/// unless an earlier rival is.
#[test]
fn tentative_and_certain_documents_wait_for_each_other() {
    let documents = near_copies(3);
    check(move || {
        let arrivals = Arrivals::new();
        let added = add_all(&arrivals, &documents, |at| at != 1);
        assert!(added[1].1);
        let is_stored: Vec<bool> = added.iter().map(|(_, is_stored)| *is_stored).collect();
        assert!(!(is_stored[0] && is_stored[2]), "{added:?}");
        for at in [0, 2] {
            let reports = added[1].0.contains(&at.to_string());
            assert_eq!(reports, is_stored[at], "{added:?}");
        }
        arrivals.check_empty();
    });
}

/// A write that fails withdraws its document, and another takes its place.
#[test]
fn the_place_of_a_withdrawn_document_is_taken() {
    let documents = near_copies(3);
    check(move || {
        let arrivals = Arrivals::new();
        let (arrival, _) = arrivals.enter(&documents[2], true);
        let failing = thread::spawn(move || drop(arrival));
        let added = add_all(&arrivals, &documents[..2], |_| true);
        failing.join().unwrap();
        assert_eq!(added.iter().filter(|(_, is_stored)| *is_stored).count(), 1, "{added:?}");
        arrivals.check_empty();
    });
}

/// Versions, the first of which is withdrawn, and a removal: they happen in the order of their
/// arrivals.
#[test]
fn of_one_id_the_last_posted_counts() {
    let versions: Vec<_> =
        (0..3).map(|number| Arc::new(prepared("a", &near_copy(number)))).collect();
    check(move || {
        let arrivals = Arrivals::new();
        let order = Arc::new(Mutex::new(Vec::new()));
        let entered: Vec<Arrival> =
            versions.iter().map(|version| arrivals.enter(version, false).0).collect();
        let removal = arrivals.in_flight.enter_removal(&versions[0].document.id);
        let last = arrivals.enter(&versions[0], false).0;
        let all = entered.into_iter().chain([removal, last]).enumerate();
        let threads: Vec<_> = all
            .map(|(at, arrival)| {
                let order = Arc::clone(&order);
                thread::spawn(move || {
                    if at == 1 {
                        return drop(arrival);
                    }
                    block_on(arrival.wait_for_predecessor());
                    order.lock().unwrap().push(at);
                    arrival.stored();
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 2, 3, 4]);
        arrivals.check_empty();
    });
}
