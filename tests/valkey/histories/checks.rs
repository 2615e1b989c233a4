//! The checks find what is wrong in histories.

use super::race::{Outcome, Posted, check_reported, check_skipped};
use super::register::{Act, Call, Seen, Told, Version, is_linearizable};

const A: Version = Version { number: 1, family: 0 };
const B: Version = Version { number: 2, family: 1 };

fn put(version: Version, told: Told) -> Act {
    Act::Put(version, told)
}

fn sees(version: Version) -> Act {
    Act::Read(Seen::Version(version.number))
}

const ABSENT: Act = Act::Read(Seen::Absent);
const DAMAGED: Act = Act::Read(Seen::Damaged);

/// Whether calls with these begins and ends are linearizable: without a failover, and with one.
fn are(calls: &[(u64, u64, Act)]) -> [bool; 2] {
    let calls: Vec<_> = calls.iter().map(|&(begin, end, act)| Call { begin, end, act }).collect();
    [false, true].map(|may_be_undone| is_linearizable(&calls, may_be_undone))
}

#[test]
fn calls_one_after_the_other_see_each_other() {
    let create = (0, 1, put(A, Told::Created));
    assert_eq!(are(&[(0, 1, ABSENT), (2, 3, put(A, Told::Created)), (4, 5, sees(A))]), [true; 2]);
    let removal = (2, 3, Act::Remove(Some(true)));
    assert_eq!(are(&[create, removal, (4, 5, ABSENT)]), [true; 2]);
    assert_eq!(are(&[create, (2, 3, put(B, Told::Replaced)), (4, 5, sees(B))]), [true; 2]);
    assert_eq!(are(&[create, (2, 3, put(A, Told::Unchanged)), (4, 5, sees(A))]), [true; 2]);

    assert_eq!(are(&[(0, 1, sees(A))]), [false; 2], "nobody wrote it");
    assert_eq!(are(&[create, (2, 3, ABSENT)]), [false; 2], "it is lost");
    assert_eq!(are(&[create, (2, 3, DAMAGED)]), [false; 2], "a part of it is lost");
    assert_eq!(are(&[create, removal, (4, 5, sees(A))]), [false; 2], "it comes back");
    assert_eq!(are(&[create, removal, (4, 5, Act::Remove(Some(true)))]), [false; 2]);
    assert_eq!(are(&[create, (2, 3, Act::Remove(Some(false)))]), [false; 2]);
    assert_eq!(are(&[create, (2, 3, put(B, Told::Created))]), [false; 2]);
    assert_eq!(are(&[(2, 3, put(B, Told::Replaced))]), [false; 2]);
    assert_eq!(are(&[create, (2, 3, put(B, Told::Unchanged))]), [false; 2]);
    let replace = (2, 3, put(B, Told::Replaced));
    assert_eq!(are(&[create, replace, (4, 5, sees(A))]), [false; 2], "it is stale");
    assert_eq!(are(&[create, replace, (0, 5, sees(A))]), [true; 2], "it may be earlier");
}

#[test]
fn lookups_see_the_family_of_the_version() {
    let near = |family| Act::Read(Seen::Near(family));
    let not_near = |family| Act::Read(Seen::NotNear(family));
    let create = (0, 1, put(A, Told::Created));
    assert_eq!(are(&[create, (2, 3, near(0)), (2, 3, not_near(1))]), [true; 2]);
    assert_eq!(are(&[create, (2, 3, not_near(0))]), [false; 2], "it is not found");
    assert_eq!(are(&[create, (2, 3, near(1))]), [false; 2], "it is found by mistake");
    let replace = (2, 5, put(B, Told::Replaced));
    assert_eq!(are(&[create, replace, (3, 4, near(0)), (3, 4, near(1))]), [true; 2]);
    assert_eq!(are(&[create, replace, (3, 4, near(1)), (5, 6, near(0))]), [false; 2]);
    // It is found in the old or in the new version.
    let same = Version { number: 3, family: 0 };
    assert_eq!(are(&[create, (2, 5, put(same, Told::Replaced)), (3, 4, not_near(0))]), [false; 2]);
}

#[test]
fn calls_at_once_may_come_in_any_order_but_in_one() {
    let both = [(0, 9, put(A, Told::Created)), (0, 9, put(B, Told::Replaced))];
    let reads = |reads: &[(u64, u64, Act)]| are(&[&both, reads].concat());
    assert_eq!(reads(&[(1, 2, sees(A)), (3, 4, sees(B))]), [true; 2]);
    assert_eq!(reads(&[(1, 2, sees(B)), (3, 4, sees(A))]), [false; 2]);
    assert_eq!(reads(&[(1, 2, sees(A)), (3, 4, sees(B)), (5, 6, sees(A))]), [false; 2]);
    let both_created = [(0, 9, put(A, Told::Created)), (0, 9, put(B, Told::Created))];
    assert_eq!(are(&both_created), [false; 2]);
    assert_eq!(are(&[&both_created[..], &[(1, 8, Act::Remove(Some(true)))]].concat()), [true; 2]);
}

#[test]
fn calls_without_an_answer_happen_later_or_never() {
    let create = (0, 1, put(A, Told::Created));
    let open = (2, 3, put(B, Told::Nothing));
    assert_eq!(are(&[create, open, (4, 5, sees(A)), (6, 7, sees(B))]), [true; 2]);
    assert_eq!(are(&[create, open, (4, 5, sees(A))]), [true; 2]);
    assert_eq!(are(&[create, (2, 3, sees(B)), (4, 5, put(B, Told::Nothing))]), [false; 2]);
    assert_eq!(are(&[create, open, (4, 5, ABSENT)]), [false; 2], "nobody has removed it");
    assert_eq!(are(&[create, (2, 3, Act::Remove(None)), (4, 5, ABSENT)]), [true; 2]);
}

#[test]
fn a_failover_undoes_only_what_was_not_acknowledged() {
    let create = (0, 1, put(A, Told::Created));
    let open = (2, 3, put(B, Told::Nothing));
    let undone = [create, open, (4, 5, sees(B)), (6, 7, sees(A))];
    assert_eq!(are(&undone), [false, true]);
    assert_eq!(are(&[&undone[..], &[(8, 9, sees(B))]].concat()), [false; 2], "it comes back");
    assert_eq!(are(&[(0, 1, put(A, Told::Nothing)), (2, 3, DAMAGED)]), [true; 2]);
    assert_eq!(are(&[create, open, (4, 5, DAMAGED)]), [false; 2], "one of both must be whole");
    // The repetition is acknowledged.
    let repeated = [create, open, (4, 5, put(B, Told::Unchanged))];
    assert_eq!(are(&[&repeated[..], &[(6, 7, sees(A))]].concat()), [false; 2]);
    assert_eq!(are(&[&repeated[..], &[(6, 7, DAMAGED)]].concat()), [false; 2]);
    let removed = [create, (2, 3, Act::Remove(None)), (4, 5, ABSENT), (6, 7, sees(A))];
    assert_eq!(are(&removed), [false, true]);
}

#[test]
fn a_long_history_takes_no_long_search() {
    let mut calls = vec![(0, 1, put(A, Told::Created))];
    let open = |number| Version { number, family: 1 };
    for at in 2..200 {
        // Five at once.
        calls.push((at, at + 4, put(open(at), Told::Replaced)));
        calls.push((at + 2, at + 5, sees(open(at))));
    }
    (0..9).for_each(|number| calls.push((50, 51, put(open(500 + number), Told::Nothing))));
    assert_eq!(are(&calls), [true; 2]);
    calls.truncate(100);
    calls.push((300, 301, sees(A)));
    assert_eq!(are(&calls), [false; 2]);
}

fn posted(outcomes: &[Outcome]) -> Vec<Posted> {
    outcomes.iter().enumerate().map(|(at, it)| (at.to_string(), it.clone())).collect()
}

fn ids(of: &[&str]) -> Vec<String> {
    of.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn one_of_two_that_are_stored_must_be_told() {
    let stored = |told: &[&str]| Outcome::Stored(ids(told));
    let is_right = |outcomes: &[Outcome]| check_reported(&posted(outcomes)).is_ok();
    assert!(is_right(&[stored(&["1"]), stored(&[])]));
    assert!(is_right(&[stored(&["1"]), stored(&["0"])]));
    assert!(is_right(&[stored(&[]), Outcome::Open]));
    assert!(!is_right(&[stored(&[]), stored(&[])]));
    assert!(!is_right(&[stored(&["1", "2"]), stored(&[]), stored(&["0"])]));
}

#[test]
fn exactly_one_must_be_stored_of_those_that_skip() {
    let (stored, skipped) = (Outcome::Stored(Vec::new()), |of: &[&str]| Outcome::Skipped(ids(of)));
    let is_right = |outcomes: &[Outcome]| check_skipped(&posted(outcomes)).is_ok();
    assert!(is_right(&[stored.clone(), skipped(&["0"])]));
    assert!(is_right(&[Outcome::Open, skipped(&["0"])]));
    assert!(is_right(&[Outcome::Open, Outcome::Open]));
    assert!(!is_right(&[stored.clone(), stored.clone()]));
    assert!(!is_right(&[skipped(&["1"]), skipped(&["0"])]));
    assert!(!is_right(&[stored, skipped(&["0"]), skipped(&["1"])]));
}
