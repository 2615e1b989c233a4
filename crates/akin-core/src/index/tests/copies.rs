//! Copies of the sets, for a snapshot.

use super::*;

fn copies(index: &Index) -> Vec<SetCopy> {
    let mut copies = Vec::new();
    let copied = index.visit_sets(|copy| {
        copies.push(copy);
        Ok::<_, std::convert::Infallible>(())
    });
    assert_eq!(copied, Ok(()));
    copies
}

#[test]
fn copies_hold_every_member_once() {
    let index = index();
    (0..5_000).for_each(|ordinal| insert(&index, ordinal, if ordinal < 3_000 { 1 } else { 2 }));
    (5_000..5_008).for_each(|ordinal| insert(&index, ordinal, 3));
    let copies = copies(&index);
    for (set, ordinals) in [(1, 0..3_000), (2, 3_000..5_000), (3, 5_000..5_008)] {
        let of_set = copies.iter().filter(|copy| copy.fingerprint == fingerprint(set));
        let members: Vec<u32> =
            of_set.flat_map(|copy| &copy.members).map(|m| m.get() as u32).collect();
        assert_eq!(members, ordinals.collect::<Vec<_>>());
    }
    assert!(copies.iter().all(|copy| copy.members.len() <= 1_024));
}

#[test]
fn copies_hold_every_lasting_entry_during_changes() {
    let index = index();
    for ordinal in 0..200 {
        insert(&index, ordinal, ordinal as u8);
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for ordinal in 1000..3000 {
                insert(&index, ordinal, 200 + (ordinal % 50) as u8);
                remove(&index, ordinal, 200 + (ordinal % 50) as u8);
            }
        });
        for _ in 0..20 {
            let copies = copies(&index);
            let members: BTreeSet<u32> = copies
                .iter()
                .flat_map(|copy| copy.members.iter().map(|m| m.get() as u32))
                .collect();
            assert!((0..200).all(|ordinal| members.contains(&ordinal)));
        }
    });
    assert_eq!(index.stats().entries, 200);
}
