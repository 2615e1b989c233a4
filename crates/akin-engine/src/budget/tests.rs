use super::share::SHARE_DIVISOR;
use super::*;

/// A request of a client without limits.
fn request(budget: &Arc<Budget>, cost_max: u64) -> Reservation {
    budget.share(Purpose::Answers, cost_max, &budget.client_share(100, 0, 0))
}

#[test]
fn reservations_never_exceed_the_budget() {
    let budget = Budget::new(100);
    let (a, b) = (budget.reservation(Purpose::Bodies), budget.reservation(Purpose::Answers));
    a.grow(60).unwrap();
    assert_eq!(b.grow(41), Err(Exhausted::Budget { wanted: 41, reserved: 60, max: 100 }));
    assert!(b.grow(usize::MAX).is_err(), "the sum overflows");
    b.grow(40).unwrap();
    assert_eq!((budget.reserved(Purpose::Bodies), budget.reserved(Purpose::Answers)), (60, 40));
    drop(a);
    let another = b.another(60).unwrap();
    assert!(b.another(1).is_err());
    drop((b, another));
    assert_eq!(Purpose::ALL.map(|purpose| budget.reserved(purpose)), [0; Purpose::ALL.len()]);
    assert_eq!(budget.peak(), 100);
}

#[test]
fn a_request_holds_its_share_and_no_more() {
    let budget = Budget::new(1 << 30);
    let most = (1 << 30) / SHARE_DIVISOR;
    let of_one = request(&budget, 0);
    let another = of_one.another(most - 10).unwrap();
    let over = Exhausted::Share { wanted: 11, held: most - 10, max: most };
    assert_eq!(of_one.grow(11), Err(over));
    of_one.grow(10).unwrap();
    assert_eq!(budget.reserved(Purpose::Answers), most);
    request(&budget, 0).grow(most).expect("another has its own");
    drop(another);
    of_one.grow(most - 10).expect("what was given back can be taken again");
    let all = budget.reservation(Purpose::Bodies);
    all.grow((1 << 30) - most).unwrap();
    drop(of_one);
    let of_one = request(&budget, 0);
    all.grow(most).unwrap();
    assert!(matches!(of_one.grow(1), Err(Exhausted::Budget { .. })));
    drop(all);
    of_one.grow(most).expect("the refusal took nothing of the share");
}

#[test]
fn a_client_leaves_others_their_share() {
    let budget = Budget::new(1_000);
    budget.reservation(Purpose::Caches).grow(0).unwrap();
    let caches = budget.reservation(Purpose::Caches);
    caches.grow(400).unwrap();
    let client = budget.client_share(50, 10, 0);
    let of = |client: &Arc<ClientShare>| {
        budget.reservation(Purpose::Bodies).of_client(Arc::clone(client))
    };
    let (first, second) = (of(&client), of(&client));
    first.grow(200).unwrap();
    let over = Exhausted::Client { wanted: 101, held: 200, max: 300 };
    assert_eq!(second.grow(101), Err(over));
    second.another(100).expect("half of what the caches leave");
    let other = of(&budget.client_share(50, 10, 0));
    other.grow(300).unwrap();
    let rest = budget.reservation(Purpose::Bulk);
    rest.grow(100).unwrap();
    assert!(matches!(second.grow(100), Err(Exhausted::Budget { .. })));
    drop(rest);
    second.grow(100).expect("the refusal took nothing of the share");
    drop((first, second));
    of(&client).grow(300).expect("all was given back");
}

#[test]
fn a_request_is_charged_for_its_work() {
    let budget = Budget::new(100);
    let of_one = request(&budget, 10);
    of_one.charge(7).unwrap();
    of_one.another(1).unwrap().charge(3).unwrap();
    assert_eq!(of_one.charge(1), Err(Exhausted::Work { cost: 11, max: 10 }));
    request(&budget, 0).charge(usize::MAX).expect("no limit");
    budget.reservation(Purpose::Bodies).charge(usize::MAX).expect("of no request");
}

#[test]
fn a_client_is_charged_for_its_requests_in_flight() {
    let budget = Budget::new(1_000);
    let client = budget.client_share(50, 10, 10);
    let request = || budget.share(Purpose::Answers, 10, &client);
    let mut requests: Vec<_> = (0..CLIENT_REQUEST_COSTS).map(|_| request()).collect();
    for expensive in &requests {
        expensive.charge(10).unwrap();
    }
    let (last, max) = (request(), 10 * CLIENT_REQUEST_COSTS);
    let over = Exhausted::ClientWork { wanted: 1, cost: max, max };
    assert_eq!(last.charge(1), Err(over));
    let other = budget.client_share(50, 10, 10);
    budget.share(Purpose::Answers, 10, &other).charge(10).expect("another client has its own");
    let ended = requests.pop().unwrap();
    let kept = ended.another(1).unwrap();
    drop(ended);
    assert!(last.charge(1).is_err(), "a part of the request is still there");
    drop(kept);
    last.charge(1).expect("a request has ended");
}

#[test]
fn failed_allocations_are_refused_and_given_back() {
    let budget = Budget::new(usize::MAX);
    // The bytes of a growing vector count, also those of a moment.
    budget.ask(|bytes| bytes <= 20 * PROBED_BYTES);
    let reservation = budget.reservation(Purpose::Answers);
    for _ in 0..10 {
        reservation.grow(PROBED_BYTES).unwrap();
    }
    reservation.grow(PROBED_BYTES - 1).expect("small steps are not probed one by one");
    let refused = reservation.grow(1);
    assert_eq!(refused, Err(Exhausted::Process { wanted: 11 * PROBED_BYTES }));
    assert_eq!(budget.reserved(Purpose::Answers), 11 * PROBED_BYTES - 1);
    drop(reservation);
    assert_eq!(budget.reserved(Purpose::Answers), 0);
}

#[test]
fn threads_share_the_budget() {
    let budget = Budget::new(1_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for bytes in (1..500).cycle().take(20_000) {
                    let reservation = budget.reservation(Purpose::Bulk);
                    let _ = reservation.grow(bytes);
                }
            });
        }
    });
    assert!(budget.peak() <= 1_000);
    budget.reservation(Purpose::Bulk).grow(1_000).expect("all was given back");
}

#[test]
fn json_is_counted_by_its_values() {
    assert_eq!(decoded_json_bytes(br#""a text""#), 16);
    assert!(decoded_json_bytes(b"[{},{},{}]") >= 6 * JSON_PART_BYTES);
}
