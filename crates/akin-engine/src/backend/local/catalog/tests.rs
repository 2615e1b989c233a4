use std::collections::BTreeSet;
use std::thread;

use super::*;

fn id(text: &str) -> DocumentId {
    DocumentId::new(text).unwrap()
}

pub(super) fn listing(ordinal: u32, text: &str) -> Listing {
    Listing::new(Ordinal::from(ordinal), id(text), 7, false, None)
}

fn expiring(ordinal: u32, text: &str, expires_at_ms: i64) -> Listing {
    Listing::new(Ordinal::from(ordinal), id(text), 7, false, Some(expires_at_ms))
}

#[test]
fn samples_differ_and_reach_all_documents() {
    let catalog = Catalog::default();
    for number in 0..100 {
        catalog.insert(listing(number * 100, &format!("{number:03}")));
    }
    let mut all = catalog.sample(1_000, 0);
    all.sort();
    let all: Vec<_> = all.iter().map(ToString::to_string).collect();
    assert_eq!(all, (0..100).map(|number| format!("{number:03}")).collect::<Vec<_>>());
    let mut drawn = std::collections::HashSet::new();
    for _ in 0..100 {
        let sample = catalog.sample(10, 0);
        assert_eq!(sample.len(), 10);
        drawn.extend(sample);
    }
    // The chance that a given id is never selected is 0.9¹⁰⁰.
    assert!(drawn.len() > 95, "{} of 100 were drawn", drawn.len());
    assert!(catalog.sample(0, 0).is_empty());
}

/// docs/scaling.md has the formula and these figures.
#[test]
fn memory_of_an_id_follows_its_length() {
    for (length, expected) in [(8, 116), (45, 148), (200, 308)] {
        let catalog = Catalog::default();
        let empty = catalog.bytes();
        for number in 0..25_600 {
            catalog.insert(listing(number, &format!("{number:0length$}")));
        }
        let each = (catalog.bytes() - empty) / 25_600;
        assert!((expected..=expected + 1).contains(&each), "{each} bytes for {length} characters");
    }
}

#[test]
fn a_replacement_leaves_nothing_of_the_old() {
    let catalog = Catalog::default();
    let empty = catalog.bytes();
    catalog.insert(expiring(1, "a", 10));
    catalog.insert(listing(2, "a"));
    let a = id("a");
    assert_eq!((catalog.ordinal(&a), catalog.documents()), (Some(Ordinal::from(2)), 1));
    assert_eq!((catalog.listing(Ordinal::from(1)), catalog.expired(i64::MAX - 1)), (None, 0));
    catalog.remove(&a);
    catalog.remove(&a);
    assert_eq!((catalog.ordinal(&a), catalog.documents()), (None, 0));
    assert!(
        catalog.listing(Ordinal::from(2)).is_none()
            && catalog.fingerprint(Ordinal::from(2)).is_none()
    );
    assert_eq!(catalog.bytes(), empty);
}

#[test]
fn removed_documents_give_their_memory_back() {
    let catalog = Catalog::default();
    let name = |number: u32| format!("{number:020}");
    let empty = catalog.bytes();
    for number in 0..100_000 {
        catalog.insert(listing(number, &name(number)));
        if number % 5_000 == 4_999 {
            let each = (catalog.bytes() - empty) / u64::from(number);
            assert!(each < 140, "{each} at {number}");
        }
    }
    let full = catalog.bytes() - empty;
    for number in (0..100_000).filter(|number| number % 10 != 0) {
        catalog.remove(&id(&name(number)));
    }
    let left = catalog.bytes() - empty;
    assert!(left * 4 < full, "{left} of {full}");
    assert_eq!(catalog.documents(), 10_000);
    for number in 0..100_000 {
        let expected = (number % 10 == 0).then_some(Ordinal::from(number));
        assert_eq!(catalog.ordinal(&id(&name(number))), expected);
    }
}

#[test]
fn listings_loaded_together_are_found_by_their_ids() {
    let catalog = Catalog::default();
    let name = |number: u32| format!("{number:05}");
    (0..20_000).for_each(|number| catalog.list(listing(number, &name(number))));
    // Repeated listings, and ids that belonged to other ordinals, in either order.
    (0..1_000).for_each(|number| catalog.list(listing(number, &name(number))));
    (0..1_000)
        .for_each(|number| catalog.list(listing(20_000 + number * 2, &name(19_000 + number))));
    (0..1_000)
        .for_each(|number| catalog.list(listing(20_001 + number * 2, &name(19_000 + number))));
    catalog.load();
    assert_eq!(catalog.documents(), 20_000);
    for number in 0..20_000 {
        let expected = if number < 19_000 { number } else { number * 2 - 17_999 };
        assert_eq!(catalog.ordinal(&id(&name(number))), Some(Ordinal::from(expected)));
        assert_eq!(
            catalog.listing(Ordinal::from(expected)),
            Some(listing(expected, &name(number)))
        );
    }
    assert!(catalog.listing(Ordinal::from(19_500)).is_none());
}

#[test]
fn loaded_expiries_equal_inserted_expiries() {
    let catalog = Catalog::default();
    catalog.list(expiring(1, "a", 20));
    catalog.list(expiring(2, "b", 30));
    catalog.list(listing(3, "c"));
    // An earlier version.
    catalog.list(expiring(0, "c", 10));
    catalog.load();
    assert_eq!(catalog.alive(&id("b"), 29), Some(expiring(2, "b", 30)));
    assert_eq!((catalog.alive(&id("b"), 30), catalog.expired(30)), (None, 2));
    assert_eq!(catalog.due(30, 9), [Ordinal::from(1), Ordinal::from(2)]);
}

#[test]
fn ids_are_paged_in_the_order_of_their_bytes() {
    let catalog = Catalog::default();
    for (number, text) in (0..).zip(["é", "b", "B", "a", "aa", "z"]) {
        let expires_at_ms = (text == "a").then_some(10);
        let listing =
            Listing::new(Ordinal::from(number * 1_000), id(text), 7, false, expires_at_ms);
        catalog.insert(listing);
    }
    assert_eq!(catalog.ids_after(None, 4, 9), ["B", "a", "aa", "b"].map(id));
    assert_eq!(catalog.ids_after(None, 4, 10), ["B", "aa", "b", "z"].map(id));
    assert_eq!(catalog.ids_after(Some(&id("b")), 4, 9), ["z", "é"].map(id));
    assert_eq!(catalog.ids_after(Some(&id("é")), 4, 9), []);
    assert_eq!(catalog.ids_after(None, 0, 9), []);
}

#[test]
fn a_page_passes_over_any_number_of_expired_documents() {
    let catalog = Catalog::default();
    (0..5_000).for_each(|number| catalog.insert(expiring(number, &format!("{number:04}"), 10)));
    catalog.insert(listing(5_000, "z"));
    assert_eq!(catalog.ids_after(None, 3, 10), [id("z")]);
}

#[test]
fn pages_omit_expired_documents_during_their_removal() {
    for _ in 0..50 {
        let catalog = Catalog::default();
        (0..500).for_each(|number| catalog.insert(expiring(number, &format!("{number:03}"), 10)));
        thread::scope(|scope| {
            let removing = scope.spawn(|| {
                (0..500).for_each(|number| catalog.remove(&id(&format!("{number:03}"))));
            });
            while !removing.is_finished() {
                assert_eq!(catalog.ids_after(None, 100, 10), []);
            }
        });
    }
}

#[test]
fn pages_list_replaced_ids_exactly_once() {
    let catalog = Catalog::default();
    let texts: Vec<_> = (0..3_000).map(|number| format!("{number:04}")).collect();
    for (ordinal, text) in (0..).zip(&texts) {
        catalog.insert(listing(ordinal, text));
    }
    thread::scope(|scope| {
        let replacing = scope.spawn(|| {
            for (ordinal, text) in (3_000..60_000).zip(texts.iter().cycle()) {
                catalog.insert(listing(ordinal, text));
            }
        });
        while !replacing.is_finished() {
            let mut listed: Vec<DocumentId> = Vec::new();
            while let page = catalog.ids_after(listed.last(), 700, 0)
                && !page.is_empty()
            {
                listed.extend(page);
            }
            assert!(listed.iter().map(DocumentId::as_str).eq(texts.iter()));
        }
    });
}

#[test]
fn a_document_is_alive_while_it_is_replaced() {
    let catalog = Catalog::default();
    catalog.insert(listing(0, "a"));
    thread::scope(|scope| {
        let replacing =
            scope.spawn(|| (1..50_000).for_each(|ordinal| catalog.insert(listing(ordinal, "a"))));
        while !replacing.is_finished() {
            assert!(catalog.alive(&id("a"), 0).is_some());
        }
    });
}

#[test]
fn visit_has_documents_replaced_during_it() {
    let catalog = Catalog::default();
    let texts: Vec<_> = (0..1_000).map(|number| format!("{number:04}")).collect();
    for (ordinal, text) in (0..).zip(&texts) {
        catalog.insert(listing(ordinal, text));
    }
    thread::scope(|scope| {
        let replacing = scope.spawn(|| {
            for (ordinal, text) in (1_000..60_000).zip(texts.iter().cycle()) {
                catalog.insert(listing(ordinal, text));
            }
        });
        while !replacing.is_finished() {
            let mut visited = BTreeSet::new();
            let Ok(()) = catalog.visit(|listing| {
                visited.insert(listing.id.clone());
                Ok::<_, Infallible>(())
            });
            assert_eq!(visited.len(), 1_000);
        }
    });
}

#[test]
fn concurrent_changes_keep_an_id_unique() {
    let catalog = Catalog::default();
    thread::scope(|scope| {
        for writer in 0..4 {
            let catalog = &catalog;
            scope.spawn(move || {
                for round in 0..2_000 {
                    let listing = listing(round * 4 + writer, &format!("{writer}/{}", round % 100));
                    catalog.insert(listing.clone());
                    assert_eq!(catalog.alive(&listing.id, 0), Some(listing.clone()));
                    if round % 3 == 0 {
                        catalog.remove(&listing.id);
                    }
                }
            });
        }
    });
    let mut listed = Vec::new();
    let visited = catalog.visit(|listing| {
        listed.push(listing.clone());
        Ok::<_, Infallible>(())
    });
    assert_eq!(visited, Ok(()));
    assert_eq!(catalog.documents(), listed.len() as u64);
    for listing in listed {
        assert_eq!(catalog.ordinal(&listing.id), Some(listing.ordinal));
    }
}
