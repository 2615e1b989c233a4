mod model;

use super::*;
use crate::backend::testing::prepared;
use crate::backend::{Addition, PreparedDocument, Rival, RivalSearch, Rivals};
use akin_core::sketch::{Estimator, SketchSettings};

fn in_flight() -> InFlight {
    InFlight::new(Estimator::new(&SketchSettings::default()))
}

fn search(document: &PreparedDocument) -> RivalSearch {
    let threshold = akin_core::scheme::Threshold::new(0.8).unwrap();
    let keys = document.keys.clone();
    RivalSearch { keys, agreeing_min: 1, threshold, rivals_max: 10, candidates: None }
}

/// A document with a search for its rivals.
fn addition(document: PreparedDocument, tentative: bool) -> Addition {
    let search = search(&document);
    Addition::new(document, Some(search), tentative, false)
}

/// Returns a document's arrival and its rivals.
fn enter(in_flight: &InFlight, id: &str, text: &str, tentative: bool) -> (Arrival, Rivals) {
    in_flight.enter(&addition(prepared(id, text), tentative), || true)
}

fn ids(rivals: &Rivals) -> Vec<&str> {
    rivals.found.iter().map(|rival| rival.document.document.id.as_str()).collect()
}

fn is_empty(in_flight: &InFlight) -> bool {
    let queue = in_flight.lock();
    queue.entries.is_empty() && queue.latest.is_empty() && queue.sets.is_empty()
}

/// Texts that differ in their last word.
fn near_copy(number: usize) -> String {
    let words: Vec<_> = (0..60).map(|word| format!("word{word}")).collect();
    format!("{} number{number}", words.join(" "))
}

#[tokio::test]
async fn the_later_sees_the_earlier_until_it_is_stored() {
    let in_flight = in_flight();
    let (first, rivals) = enter(&in_flight, "a", "one two three", true);
    assert!(rivals.found.is_empty());
    let (_second, mut rivals) = enter(&in_flight, "b", "one two three", false);
    assert_eq!(ids(&rivals), ["a"]);
    let rival = rivals.found.pop().unwrap();
    assert!(rival.is_waited_for(), "the first may be withdrawn");
    first.stored();
    assert!(rival.was_stored().await);
    let (_third, rivals) = enter(&in_flight, "c", "one two three", false);
    assert_eq!(ids(&rivals), ["b"], "only the second is still in flight");
    assert!(!rivals.found[0].is_waited_for(), "it is certain to be stored");
}

#[tokio::test]
async fn dropping_a_ticket_withdraws() {
    let in_flight = in_flight();
    let (first, _) = enter(&in_flight, "a", "one two three", true);
    let (_second, mut rivals) = enter(&in_flight, "b", "one two three", false);
    drop(first);
    assert!(!rivals.found.pop().unwrap().was_stored().await);
}

#[test]
fn rivals_share_a_key() {
    let in_flight = in_flight();
    let (_first, _) = enter(&in_flight, "a", "one two three", false);
    let (_second, rivals) = enter(&in_flight, "b", "four five six", false);
    assert!(rivals.found.is_empty());
}

#[test]
fn rivals_agree_as_well_as_is_asked() {
    let in_flight = in_flight();
    let (_first, _) = enter(&in_flight, "a", &near_copy(1), false);
    let second = prepared("b", &near_copy(2));
    let search = RivalSearch { agreeing_min: 128, ..search(&second) };
    let second = Addition::new(second, Some(search), false, false);
    let (_second, rivals) = in_flight.enter(&second, || true);
    assert!(rivals.found.is_empty());
}

#[test]
fn searches_with_many_keys_find_all_rivals() {
    let in_flight = in_flight();
    let first = prepared("a", "one two three four five six");
    let second = prepared("b", "one two three four five six seven");
    let shared = |at: &usize| first.keys[*at] == second.keys[*at];
    let shared = (1..first.keys.len()).rfind(shared).expect("they share some key");
    let enter_under = |document: PreparedDocument, key: usize| {
        let search = RivalSearch { keys: vec![document.keys[key]], ..search(&document) };
        in_flight.enter(&Addition::new(document, Some(search), false, false), || true)
    };
    let (_first, _) = enter_under(first, 0);
    let (_second, rivals) = enter_under(second, shared);
    assert_eq!(ids(&rivals), ["a"]);
}

#[test]
fn equal_documents_are_rivals_up_to_the_limit() {
    let in_flight = in_flight();
    let mut arrivals = Vec::new();
    for number in 0..100 {
        let (arrival, rivals) = enter(&in_flight, &format!("{number:02}"), "one two three", false);
        assert_eq!(rivals.found.len(), number.min(10));
        assert_eq!(rivals.truncated, number > 10, "{number}");
        arrivals.push(arrival);
    }
    assert_eq!(in_flight.lock().sets.examined, 99, "each examined one set");
    drop(arrivals);
    assert!(is_empty(&in_flight));
}

/// The number of comparisons is linear in the number of documents.
#[test]
fn of_many_near_copies_only_some_are_examined() {
    let examined = |copies: usize| {
        let in_flight = in_flight();
        let mut arrivals = Vec::new();
        for number in 0..copies {
            let tentative = number % 2 == 0;
            let copy = enter(&in_flight, &number.to_string(), &near_copy(number), tentative);
            assert_eq!(copy.1.found.len(), number.min(10));
            arrivals.push(copy.0);
        }
        in_flight.lock().sets.examined
    };
    let (few, many) = (examined(200), examined(400));
    assert!(many < few * 9 / 4, "{few} of 200 and {many} of 400");
    assert!(few > 200 * 8, "the copies are near each other: {few}");
}

#[test]
fn equal_sets_are_rivals_despite_many_near_copies() {
    let in_flight = in_flight();
    let enter = |number: usize, id: &str| enter(&in_flight, id, &near_copy(number), false);
    let _arrivals: Vec<_> = (0..300).map(|number| enter(number, &number.to_string())).collect();
    let (_last, rivals) = enter(299, "last");
    assert_eq!(ids(&rivals)[0], "299");
}

#[test]
fn a_tentative_document_has_the_earliest_rivals() {
    let in_flight = in_flight();
    let enter = |number: usize| enter(&in_flight, &number.to_string(), &near_copy(number), true);
    let _arrivals: Vec<_> = (0..30).map(enter).collect();
    let (_last, rivals) = enter(30);
    let earliest: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(ids(&rivals), earliest);
    assert!(rivals.found.iter().all(Rival::is_waited_for));
}

#[test]
fn rivals_found_again_are_earlier_and_in_flight_still() {
    let in_flight = in_flight();
    let enter = |id: &str| enter(&in_flight, id, "one two three", true);
    let (first, _) = enter("a");
    let (_second, _) = enter("b");
    let addition = addition(prepared("c", "one two three"), true);
    let (third, rivals) = in_flight.enter(&addition, || true);
    assert_eq!(ids(&rivals), ["a", "b"]);
    let (_fourth, _) = enter("d");
    drop(first);
    assert_eq!(ids(&third.rivals(&addition)), ["b"]);
}

#[test]
fn new_documents_that_arrive_later_report_their_rivals() {
    let in_flight = in_flight();
    let (first, _) = enter(&in_flight, "a", "one two three", false);
    let (second, _) = enter(&in_flight, "b", "one two three", false);
    let (_version, _) = enter(&in_flight, "b", "one two three", false);
    let (_other, _) = enter(&in_flight, "c", "four five six", false);
    let stored = addition(prepared("d", "one two three"), false);
    let (last, _) = in_flight.enter(&stored, || false);
    let reporters = |of: &Arrival| of.reporters().iter().map(ToString::to_string).collect();
    let of_first: Vec<String> = reporters(&first);
    assert_eq!(of_first, ["b"], "neither a version of a document nor an unlike document");
    let others: [Vec<String>; 2] = [&second, &last].map(reporters);
    assert_eq!(others, [[""; 0]; 2], "the replacement of a stored document is not new");
}

#[test]
fn documents_that_have_left_leave_nothing_behind() {
    let in_flight = in_flight();
    let (first, _) = enter(&in_flight, "a", "one two three", false);
    let (second, _) = enter(&in_flight, "a", "one two three", false);
    let (third, _) = enter(&in_flight, "b", "one two three", false);
    let removal = in_flight.enter_removal(&prepared("a", "x").document.id);
    first.stored();
    third.stored();
    drop(second);
    drop(removal);
    assert!(is_empty(&in_flight));
}

#[tokio::test]
async fn versions_of_an_id_are_ordered_and_not_rivals() {
    let in_flight = in_flight();
    let (first, _) = enter(&in_flight, "a", "one two three", false);
    let (second, rivals) = enter(&in_flight, "a", "one two three", false);
    let removal = in_flight.enter_removal(&prepared("a", "x").document.id);
    assert!(rivals.found.is_empty());
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

/// A document that waited for the second must not overtake the first.
#[tokio::test]
async fn a_withdrawn_predecessor_passes_its_wait_on() {
    let in_flight = in_flight();
    let (first, _) = enter(&in_flight, "a", "one two three", false);
    let (second, _) = enter(&in_flight, "a", "one two three", false);
    let (third, _) = enter(&in_flight, "a", "one two three", false);
    let order = std::sync::Mutex::new(Vec::new());
    tokio::join!(
        async {
            third.wait_for_predecessor().await;
            order.lock().unwrap().push("third");
        },
        async {
            drop(second);
            let (_other, rivals) = enter(&in_flight, "b", "one two three", false);
            assert_eq!(rivals.found.len(), 2, "the second is no rival any more");
            // Any task that is able to proceed does so before this task.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            order.lock().unwrap().push("first");
            first.stored();
        },
    );
    assert_eq!(*order.lock().unwrap(), ["first", "third"]);
    drop(third);
    assert!(is_empty(&in_flight));
}

#[test]
fn withdrawing_the_latest_version_restores_its_predecessor() {
    let in_flight = in_flight();
    let (first, _) = enter(&in_flight, "a", "one two three", false);
    drop(enter(&in_flight, "a", "one two three", false));
    assert!(enter(&in_flight, "a", "one two three", false).0.has_predecessor());
    first.stored();
    assert!(is_empty(&in_flight));
    assert!(!enter(&in_flight, "a", "one two three", false).0.has_predecessor());
}
