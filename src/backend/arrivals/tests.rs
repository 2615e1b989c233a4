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

/// Whoever waited for the second is not to pass the first.
#[tokio::test]
async fn who_comes_after_one_withdrawn_waits_for_the_one_before() {
    let arrivals = Arrivals::default();
    let (first, _) = enter(&arrivals, "a", "one two three", false);
    let (second, _) = enter(&arrivals, "a", "one two three", false);
    let (mut third, _) = enter(&arrivals, "a", "one two three", false);
    let order = std::sync::Mutex::new(Vec::new());
    tokio::join!(
        async {
            third.wait_for_predecessor().await;
            order.lock().unwrap().push("third");
        },
        async {
            drop(second);
            let (_other, rivals) = enter(&arrivals, "b", "one two three", false);
            assert_eq!(rivals.len(), 2, "the second is no rival any more");
            // Whoever may go on now does so before this does.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            order.lock().unwrap().push("first");
            first.stored();
        },
    );
    assert_eq!(*order.lock().unwrap(), ["first", "third"]);
    drop(third);
    assert!(arrivals.lock().on_the_way.is_empty());
}

#[test]
fn who_comes_when_the_latest_is_withdrawn_has_the_one_before_as_predecessor() {
    let arrivals = Arrivals::default();
    let (first, _) = enter(&arrivals, "a", "one two three", false);
    drop(enter(&arrivals, "a", "one two three", false));
    assert!(enter(&arrivals, "a", "one two three", false).0.has_predecessor());
    first.stored();
    assert!(arrivals.lock().on_the_way.is_empty());
    assert!(!enter(&arrivals, "a", "one two three", false).0.has_predecessor());
}
