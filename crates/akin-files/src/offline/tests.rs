use std::collections::BTreeSet;

use super::*;
use akin_core::scheme::Kind;
use akin_core::text::Unit;
use akin_model::document::Content;
use akin_model::settings::CollectionSettings;

fn text(from: usize) -> Content {
    let words: Vec<_> = (from..from + 50).map(|word| format!("w{word}")).collect();
    Content::Text(words.join(" "))
}

/// Documents in the order given, as (id, first word).
fn corpus(documents: &[(&str, usize)]) -> OfflineCorpus {
    let settings = CollectionSettings::default();
    let analyser = Analyser::new(&settings);
    let mut gathering = OfflineGathering::within(&settings, Room::default()).unwrap();
    for (number, (id, from)) in documents.iter().enumerate() {
        let analysis = analyser.analyse(&text(*from)).unwrap();
        let given = gathering.push(&DocumentId::new(*id).unwrap(), &analysis, None, 0).unwrap();
        assert_eq!(given as usize, number);
    }
    gathering.finish(&[]).unwrap()
}

/// The pairs, each by the smallest ids of its sets, and their resemblance.
fn pairs(corpus: &mut OfflineCorpus, mode: Mode) -> BTreeSet<String> {
    let threshold = Threshold::new(0.7).unwrap();
    let mut found = BTreeSet::new();
    let ids = corpus.ids().unwrap();
    let visit = |documents: &OfflineDocuments, pair: SetPair| {
        let [a, b] = [pair.a, pair.b].map(|set| &ids[documents.of(set)[0] as usize]);
        found.insert(format!("{a} {b} {:.3}", pair.resemblance));
        ControlFlow::Continue(())
    };
    corpus.pairs(mode, threshold, &JoinProgress::default(), visit).unwrap();
    found
}

#[test]
fn sets_are_read_by_number_in_any_order() {
    // Neighbours share 47 of 49 shingles.
    let mut documents = vec![("d", 1), ("b", 0), ("z", 500), ("c", 0), ("a", 1000)];
    for _ in 0..documents.len() {
        documents.rotate_left(1);
        let mut corpus = corpus(&documents);
        assert_eq!((corpus.sets(), corpus.documents().count()), (4, 5));
        for mode in [Mode::Verified, Mode::Exact] {
            let expected = BTreeSet::from(["b d 0.959".to_owned()]);
            assert_eq!(pairs(&mut corpus, mode), expected, "{mode:?}");
        }
        let threshold = Threshold::new(0.7).unwrap();
        let of = (Mode::Exact, Linkage::Representative);
        let (clusters, _) =
            corpus.clusters(of.0, threshold, of.1, &JoinProgress::default()).unwrap();
        assert_eq!(clusters, [0, 1, 1, 3]);
    }
}

/// A pair of records with its resemblance, in three decimals.
fn record_pairs(corpus: &mut OfflineCorpus, mode: Mode) -> Vec<String> {
    let mut found = Vec::new();
    let ids = corpus.ids().unwrap();
    let visit = |documents: &OfflineDocuments, pair: SetPair| {
        let [a, b] = [pair.a, pair.b].map(|set| &ids[documents.of(set)[0] as usize]);
        found.push(format!("{a} {b} {:.3}", pair.resemblance));
        ControlFlow::Continue(())
    };
    let threshold = Threshold::new(0.6).unwrap();
    corpus.pairs(mode, threshold, &JoinProgress::default(), visit).unwrap();
    found
}

#[test]
fn records_are_compared_by_their_points() {
    let mut settings = CollectionSettings::default();
    settings.shingles.unit = Unit::Field;
    settings.scheme.kind = Kind::Fields;
    settings.scheme.fields = ["name", "phone", "city"].map(str::to_owned).to_vec();
    let analyser = Analyser::new(&settings);
    let mut gathering = OfflineGathering::within(&settings, Room::default()).unwrap();
    let people = [
        ("d", ["ann lee carter", "555 1234", "rome"]),
        ("b", ["ann lee carter", "555 1234", "roma"]),
        ("a", ["ann lee barter", "555 1235", "romo"]),
        ("c", ["somebody else", "777 0000", "oslo"]),
    ];
    for (id, values) in people {
        let names = ["name", "phone", "city"].map(str::to_owned);
        let fields = names.into_iter().zip(values.map(str::to_owned)).collect();
        let content = Content::Fields(fields);
        let analysis = analyser.analyse(&content).unwrap();
        let id = DocumentId::new(id).unwrap();
        gathering.push(&id, &analysis, analyser.record(&content), 0).unwrap();
    }
    let mut corpus = gathering.finish(&[]).unwrap();
    assert_eq!((corpus.points_max(), corpus.resemblance_of_equal(0)), (Some(300), 1.0));
    let exact = record_pairs(&mut corpus, Mode::Exact);
    let with = |a: &str, b: &str| exact.iter().any(|pair| pair.starts_with(&format!("{a} {b} ")));
    assert!(exact.len() == 3 && with("a", "b") && with("a", "d") && with("b", "d"), "{exact:?}");
    // Without field sketches, records that agree in no field share no key.
    let by_keys = record_pairs(&mut corpus, Mode::Verified);
    assert_eq!(by_keys.len(), 1);
    assert!(exact.contains(&by_keys[0]) && by_keys[0].starts_with("b d "));
    let threshold = Threshold::new(0.6).unwrap();
    for linkage in [Linkage::Single, Linkage::Representative] {
        let progress = JoinProgress::default();
        let (clusters, _) = corpus.clusters(Mode::Exact, threshold, linkage, &progress).unwrap();
        assert_eq!(clusters, [0, 0, 2, 0]);
        let (clusters, _) = corpus.clusters(Mode::Verified, threshold, linkage, &progress).unwrap();
        assert_eq!(clusters, [0, 1, 2, 1]);
    }
}

#[test]
fn lowest_rank_represents_a_cluster_and_old_documents_represent_themselves() {
    let settings = CollectionSettings::default();
    let analyser = Analyser::new(&settings);
    let clusters = |old: &[usize], new: &[(usize, u64)], linkage| {
        let mut gathering = OfflineGathering::within(&settings, Room::default()).unwrap();
        let push = |gathering: &mut OfflineGathering, from: usize, rank| {
            let id = DocumentId::new(format!("{from:03}")).unwrap();
            let analysis = analyser.analyse(&text(from)).unwrap();
            gathering.push(&id, &analysis, None, rank).unwrap();
        };
        for from in old {
            push(&mut gathering, *from, 7);
        }
        gathering.end_old();
        for (from, rank) in new {
            push(&mut gathering, *from, *rank);
        }
        let mut corpus = gathering.finish(&[]).unwrap();
        let threshold = Threshold::new(0.8).unwrap();
        let (found, _) =
            corpus.clusters(Mode::Exact, threshold, linkage, &JoinProgress::default()).unwrap();
        let id = |set: u32| corpus.id(corpus.documents().of(set)[0]).unwrap().to_string();
        let pairs: BTreeSet<_> = (0..).zip(found).map(|(set, by)| (id(set), id(by))).collect();
        pairs.into_iter().map(|(set, by)| format!("{set} {by}")).collect::<Vec<_>>()
    };
    // Texts up to five words apart are pairs.
    let by = Linkage::Representative;
    assert_eq!(clusters(&[], &[(0, 2), (4, 1), (8, 3)], by), ["000 004", "004 004", "008 004"]);
    assert_eq!(clusters(&[], &[(0, 1), (4, 1), (8, 1)], by), ["000 000", "004 000", "008 008"]);
    // The third is near the second only, which is near the first.
    let expected = ["000 000", "004 004", "008 004"];
    assert_eq!(clusters(&[0, 4], &[(8, 0)], by), expected);
    assert_eq!(clusters(&[4, 0], &[(8, 0)], by), expected);
    assert_eq!(clusters(&[0, 4], &[(8, 0)], Linkage::Single)[2], "008 000");
    assert_eq!(clusters(&[100], &[(8, 0)], by), ["008 008", "100 100"]);
}

/// Near-copies, copies and unlike documents, new and old; and one document without a set.
fn mixed(room: Room) -> OfflineCorpus {
    let settings = CollectionSettings::default();
    let analyser = Analyser::new(&settings);
    let mut gathering = OfflineGathering::within(&settings, room).unwrap();
    for number in 0..300_u64 {
        if number == 100 {
            gathering.end_old();
        }
        let from = (number * number % 97) as usize * 2;
        let analysis = analyser.analyse(&text(from)).unwrap();
        let id = DocumentId::new(format!("{:03}", number * 7919 % 300)).unwrap();
        gathering.push(&id, &analysis, None, number % 5).unwrap();
    }
    gathering.push_empty(&DocumentId::new("empty").unwrap()).unwrap();
    gathering.finish(&[7, 150]).unwrap()
}

#[test]
fn results_do_not_depend_on_the_memory() {
    let of = (Mode::Exact, Threshold::new(0.8).unwrap());
    let mut much = mixed(Room::default());
    for memory in [0, 20_000, 60_000] {
        let mut little = mixed(Room { memory, ..Room::default() });
        assert_eq!(little.ids().unwrap(), much.ids().unwrap());
        assert_eq!((little.sets(), little.first_new()), (much.sets(), 100));
        for set in 0..much.sets() {
            assert_eq!(little.documents().of(set), much.documents().of(set));
        }
        assert_eq!(pairs(&mut little, of.0), pairs(&mut much, of.0));
        for mode in [Mode::Exact, Mode::Verified, Mode::Estimated] {
            for linkage in [Linkage::Single, Linkage::Representative] {
                let clusters = |corpus: &mut OfflineCorpus| {
                    corpus.clusters(mode, of.1, linkage, &JoinProgress::default()).unwrap()
                };
                assert_eq!(clusters(&mut little), clusters(&mut much), "{mode:?} {linkage:?}");
            }
        }
    }
    let documents = much.documents();
    assert_eq!([7, 150, 300].map(|number| documents.set_of(number)), [None; 3]);
    assert_eq!((documents.count(), documents.numbers()), (298, 301));
    assert!(much.is_empty(300) && !much.is_empty(7));
}

#[test]
fn sets_that_were_dropped_are_added_where_they_are_read() {
    let settings = CollectionSettings::default();
    let analyser = Analyser::new(&settings);
    // Of 60 documents, 40 have a near-copy.
    let from = |number: u32| if number < 40 { number / 2 * 100 + number % 2 } else { number * 100 };
    let gathered = |room: Room| {
        let mut gathering = OfflineGathering::within(&settings, room).unwrap();
        gathering.drop_many_sets();
        for number in 0..60 {
            let analysis = analyser.analyse(&text(from(number) as usize)).unwrap();
            let id = DocumentId::new(format!("{number}")).unwrap();
            gathering.push(&id, &analysis, None, u64::from(number)).unwrap();
        }
        gathering.finish(&[]).unwrap()
    };
    let (threshold, progress) = (Threshold::new(0.8).unwrap(), JoinProgress::default());
    let clusters = |corpus: &mut OfflineCorpus| {
        let by = Linkage::Representative;
        corpus.clusters(Mode::Verified, threshold, by, &progress).map(|(of, _)| of)
    };
    let mut kept = gathered(Room::default());
    assert_eq!(kept.documents_to_read(Mode::Verified, threshold, &progress).unwrap(), None);
    // A set has 48 elements, and sets may take an eighth of the memory.
    for memory in [0, 8 * (60 * 48 * 8 - 1)] {
        let mut dropped = gathered(Room { memory, ..Room::default() });
        assert!(clusters(&mut dropped).is_err(), "sets are read");
        let to_read = dropped.documents_to_read(Mode::Verified, threshold, &progress).unwrap();
        let to_read = to_read.unwrap();
        assert!(to_read.iter().filter(|is_read| **is_read).count() >= 40);
        assert!(to_read[50..].contains(&false), "no set is left out");
        for number in (0..60).filter(|number| to_read[*number as usize]) {
            let set = analyser.analyse(&text(from(number) as usize)).unwrap().set;
            assert!(dropped.add_set(number, &set).unwrap());
        }
        let other = analyser.analyse(&Content::Text("another text".to_owned())).unwrap().set;
        assert!(!dropped.add_set(0, &other).unwrap(), "the document has changed");
        assert_eq!(clusters(&mut dropped).unwrap(), clusters(&mut kept).unwrap());
    }
}

#[test]
fn elements_that_representatives_lack_are_counted_while_sets_are_joined() {
    let ids: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
    let documents: Vec<_> =
        (0..40).map(|number| (ids[number].as_str(), number / 4 * 100 + number % 4)).collect();
    let [mut joined, mut unjoined] = [corpus(&documents), corpus(&documents)];
    let (threshold, progress) = (Threshold::new(0.8).unwrap(), JoinProgress::default());
    let by = Linkage::Representative;
    let (of, _) = joined.clusters(Mode::Verified, threshold, by, &progress).unwrap();
    let mut all = Vec::new();
    for (set, of) in (0..).zip(of) {
        let lacking = joined.lacking(set, Some(of)).unwrap();
        assert_eq!(lacking, unjoined.lacking(set, Some(of)).unwrap());
        all.push(lacking);
    }
    assert_eq!(all[..8], [0, 1, 2, 3, 0, 1, 2, 3]);
    assert!(joined.lacking.contains(&3));
}

#[test]
fn comparisons_for_a_value_of_all_records_are_bounded() {
    let mut settings = CollectionSettings::default();
    settings.shingles.unit = Unit::Field;
    settings.scheme.kind = Kind::Fields;
    settings.scheme.fields = ["name", "country"].map(str::to_owned).to_vec();
    let analyser = Analyser::new(&settings);
    let compared = |records: usize| {
        let mut gathering = OfflineGathering::within(&settings, Room::default()).unwrap();
        for number in 0..records {
            // Two of each name, far from each other.
            let name = format!("name {}", number % (records / 2) * 7_919);
            let fields = [("name", name), ("country", "x".repeat(1 + number / (records / 2)))];
            let fields = fields.map(|(name, value)| (name.to_owned(), value));
            let content = Content::Fields(fields.into_iter().collect());
            let analysis = analyser.analyse(&content).unwrap();
            let id = DocumentId::new(format!("{number:03}")).unwrap();
            gathering.push(&id, &analysis, analyser.record(&content), 0).unwrap();
        }
        let mut corpus = gathering.finish(&[]).unwrap();
        let (mut found, threshold) = (0, Threshold::new(0.5).unwrap());
        let visit = |_: &OfflineDocuments, pair: SetPair| {
            found += usize::from(pair.b - pair.a == records as u32 / 2);
            ControlFlow::Continue(())
        };
        let of = (Mode::Verified, threshold);
        let left_out = corpus.pairs(of.0, of.1, &JoinProgress::default(), visit).unwrap();
        let incomplete = corpus.incomplete(&left_out).unwrap();
        (found, left_out, incomplete)
    };
    let (found, left_out, incomplete) = compared(16);
    assert_eq!((found, left_out, incomplete), (8, LeftOut::default(), None));
    // Of 50 in a country, the last nine have no more than eight behind them.
    let (found, left_out, incomplete) = compared(100);
    assert_eq!((found, left_out.sets), (50, 2 * 41));
    let Incomplete { documents, ids, example, .. } = incomplete.unwrap();
    assert_eq!(ids.len(), 82);
    let [a, b] = example.unwrap();
    assert_eq!((documents, a.as_str(), b.as_str()), (82, "000", "009"));
}
