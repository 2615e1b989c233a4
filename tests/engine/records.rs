//! Records: found by a field that they share, scored in points.

use std::collections::BTreeMap;
use std::path::Path;

use akin::document::{Content, Document};
use akin::engine::{
    AddOptions, AddStatus, Answer, CollectionSettings, CompareOptions, ContentError, Engine,
    EngineError, Lookup, Mode, OnDuplicate, Probe, Reach, Scores, Similarity,
};
use akin_core::scheme::{Kind, Threshold};
use akin_core::text::{Equivalents, Unit};
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::numbers::Numbers;
use crate::{add, id, of_index, snapshot, text, try_open};

const NAMES: [&str; 3] = ["name", "address", "phone"];

type Fields<'a> = [(&'a str, &'a str)];

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.shingles.unit = Unit::Field;
    let group = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    settings.shingles.equivalents =
        Equivalents::new(vec![group(&["william", "bill"]), group(&["street", "st"])]);
    settings.scheme.kind = Kind::Fields;
    settings.scheme.fields = NAMES.map(str::to_owned).to_vec();
    settings.scheme.points = Some(250);
    settings
}

fn open(dir: &Path) -> Engine {
    try_open(dir, settings()).unwrap()
}

fn content(fields: &Fields<'_>) -> Content {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    Content::Fields(fields.iter().map(owned).collect())
}

fn record(name: &str, fields: &Fields<'_>) -> Document {
    Document { id: id(name), content: content(fields), metadata: None, expires_at_ms: None }
}

fn lookup(points: Option<u32>) -> Lookup {
    Lookup {
        threshold: None,
        points,
        limit: 10_000,
        mode: Some(Mode::Verified),
        ..Lookup::default()
    }
}

/// Ids and points of a probe's matches.
async fn found(engine: &Engine, probe: Probe, points: Option<u32>) -> Vec<(String, u32)> {
    let answer = engine.similar(probe, lookup(points)).await.unwrap();
    assert!(!answer.searched.truncated);
    let points = |found: &akin::engine::Match| found.similarity.points().unwrap();
    answer.matches.iter().map(|found| (found.id.to_string(), points(found))).collect()
}

fn stored(name: &str) -> Probe {
    Probe::Stored(id(name))
}

const BILL: [(&str, &str); 3] =
    [("name", "Bill Smith"), ("address", "12 Main St."), ("phone", "555-1234")];

#[tokio::test]
async fn equivalent_values_score_fully_and_edits_cost_points() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, record("bill", &BILL)).await;
    let william = [("name", "William SMYTH"), ("address", "12 Main Street"), ("phone", "555 1234")];
    let added = add(&engine, record("william", &william)).await;
    let bill = &added.duplicates[0];
    let by_field = [("address", 100), ("name", 96), ("phone", 100)];
    let by_field = BTreeMap::from(by_field.map(|(name, points)| (name.to_owned(), points)));
    let Similarity::Records { resemblance, points, field_points, shared, union, .. } =
        &bill.similarity
    else {
        panic!("{bill:?}");
    };
    assert_eq!(field_points, &by_field);
    assert_eq!((bill.id.as_str(), *points), ("bill", 296));
    assert_eq!(*resemblance, 296.0 / 300.0);
    assert_eq!((*shared, *union, bill.keys_shared), (2, 4, 2));

    // Another person of the same address, and one without an address or phone in common.
    add(&engine, record("anna", &[("name", "Anna Berg"), ("address", "12 Main Street")])).await;
    add(&engine, record("other", &[("name", "Bill Smith"), ("phone", "777-9999")])).await;
    assert_eq!(found(&engine, stored("bill"), None).await, [("william".to_owned(), 296)]);
    let all = found(&engine, stored("bill"), Some(100)).await;
    let all: Vec<_> = all.iter().map(|(name, points)| (name.as_str(), *points)).collect();
    assert_eq!(all, [("william", 296), ("anna", 100), ("other", 100)]);

    let probe = || Probe::Content(content(&[("phone", "(555) 1234")]));
    let by_phone = found(&engine, probe(), Some(100)).await;
    assert_eq!(by_phone, [("bill".to_owned(), 100), ("william".to_owned(), 100)]);
    let answer = engine.similar(probe(), lookup(None)).await.unwrap();
    assert_eq!(answer.searched.reach, Reach::Points { points: 250, expected_recall: 1.0 });
}

#[tokio::test]
async fn concurrent_skip_stores_one_of_similar_records() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let options = AddOptions { on_duplicate: OnDuplicate::Skip, ..AddOptions::default() };
    let near = |n: usize| {
        let name = format!("Bill Smith{}", "x".repeat(n % 2));
        record(&format!("r{n}"), &[("name", name.as_str()), BILL[1], BILL[2]])
    };
    let added = join_all((0..6).map(|n| engine.add(near(n), options.clone()))).await;
    let statuses: Vec<_> = added.into_iter().map(|added| added.unwrap().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == AddStatus::Created).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == AddStatus::Skipped).count(), 5);
    let strict = AddOptions { points: Some(300), ..options };
    assert_eq!(engine.add(near(1), strict).await.unwrap().status, AddStatus::Created);
}

#[tokio::test]
async fn field_sketches_find_records_without_an_equal_field() {
    let typed = [("name", "Katherina Johnsonn"), ("address", "742 Evergreen Terace")];
    let right = [("name", "Katherine Johnsonn"), ("address", "742 Evergreen Terrace")];
    for (sketched, matches) in [(false, 0), (true, 1)] {
        let dir = tempdir().unwrap();
        let mut settings = settings();
        settings.scheme.field_sketches = sketched;
        let engine = try_open(dir.path(), settings.clone()).unwrap();
        add(&engine, record("right", &right)).await;
        let probe = || Probe::Content(content(&typed));
        let before = found(&engine, probe(), Some(190)).await;
        assert_eq!(before.len(), matches);
        snapshot(&engine).await;
        drop(engine);
        let engine = try_open(dir.path(), settings).unwrap();
        assert_eq!(found(&engine, probe(), Some(190)).await, before);
        engine.remove(&id("right")).await.unwrap();
        assert_eq!(engine.stats().await.unwrap().backend.size.keys, of_index(0));
    }
}

/// Streets of one town, so that field sketches have much in common: all are candidates, and few of
/// them are checked.
#[tokio::test]
async fn a_record_edited_in_every_field_is_found() {
    let dir = tempdir().unwrap();
    let mut settings = settings();
    settings.scheme.field_sketches = true;
    let engine = try_open(dir.path(), settings).unwrap();
    let records = 1_500;
    let street = |n: usize| format!("{} old cathedral square apartment of the tower", n * 7_919);
    let person = |n: usize| format!("johannes sebastian mustermann the {}th", n * 104_729);
    join_all((0..records).map(|n| {
        let (name, address) = (person(n), street(n));
        add(&engine, record(&format!("r{n}"), &[("name", &name), ("address", &address)]))
    }))
    .await;
    for n in (0..records).step_by(75) {
        let name = person(n).replace("sebastian", "sebastiam");
        let address = street(n).replace("tower", "towar");
        let probe = Probe::Content(content(&[("name", &name), ("address", &address)]));
        let lookup = Lookup { limit: 5, ..lookup(Some(192)) };
        let answer = engine.similar(probe, lookup).await.unwrap();
        let ids: Vec<_> = answer.matches.iter().map(|found| found.id.as_str()).collect();
        assert!(ids.contains(&format!("r{n}").as_str()), "r{n}: {ids:?}");
        let promised = answer.searched.reach.expected_recall().unwrap();
        assert!((0.99..=1.0).contains(&promised), "{promised}");
    }
}

#[tokio::test]
async fn the_expected_recall_of_records_holds_under_its_condition() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, record("bill", &BILL)).await;
    let edited =
        [("name", "William Smithe"), ("address", "12 Main Streett"), ("phone", "555-1235")];
    let look_up = async |points| {
        let probe = Probe::Content(content(&edited));
        engine.similar(probe, lookup(Some(points))).await.unwrap()
    };
    let missed = look_up(250).await;
    let recall = |answer: &Answer| answer.searched.reach.expected_recall();
    assert_eq!((missed.matches.len(), recall(&missed)), (0, Some(0.0)), "no field is equal");
    assert_eq!(recall(&look_up(289).await), Some(1.0), "as many points take an equal field");
}

#[tokio::test]
async fn records_are_found_across_restart_replacement_and_removal() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, record("a", &BILL)).await;
    add(&engine, record("b", &BILL)).await;
    snapshot(&engine).await;
    add(&engine, record("c", &BILL)).await;
    let moved = [BILL[0], ("address", "1 Elm Road"), BILL[2]];
    add(&engine, record("b", &moved)).await;
    let all = |engine: Engine| async move {
        let near = found(&engine, stored("a"), Some(200)).await;
        let mut by_field = 0;
        for field in BILL {
            by_field += found(&engine, Probe::Content(content(&[field])), Some(100)).await.len();
        }
        (near, engine.get(&id("b")).await.unwrap().content, by_field)
    };
    let before = all(engine.clone()).await;
    assert_eq!(before.0, [("c".to_owned(), 300), ("b".to_owned(), 200)]);
    assert_eq!((&before.1, before.2), (&Some(content(&moved)), 3 + 2 + 3));
    drop(engine);
    let engine = open(dir.path());
    assert_eq!(all(engine.clone()).await, before);
    engine.remove(&id("c")).await.unwrap();
    assert_eq!(all(engine).await.0, [("b".to_owned(), 200)]);
    let status = add(&open(dir.path()), record("b", &moved)).await.status;
    assert_eq!(status, AddStatus::Unchanged);
}

#[tokio::test]
async fn documents_and_options_without_points_are_refused() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    let refused = |document| engine.add(document, AddOptions::default());
    let error = refused(text("a", "a text")).await.unwrap_err();
    assert!(matches!(error, EngineError::Content(ContentError::Wrong { .. })), "{error}");
    let error = refused(record("a", &[("fax", "1")])).await.unwrap_err();
    assert!(error.to_string().contains("name, address, phone"), "{error}");
    let error = refused(record("a", &[("name", "x".repeat(4_097).as_str())])).await.unwrap_err();
    assert!(matches!(
        error,
        EngineError::Content(ContentError::FieldTooLarge { found: 4_097, max: 4_096, .. })
    ));
    let error = refused(record("a", &[("name", "--")])).await.unwrap_err();
    assert!(matches!(error, EngineError::Content(ContentError::Empty)));
    let probe = || Probe::Content(content(&BILL));
    let estimated = Lookup { mode: Some(Mode::Estimated), ..lookup(None) };
    let error = engine.similar(probe(), estimated).await.unwrap_err();
    assert!(matches!(error, EngineError::UnsupportedMode { .. }));
    let threshold = Some(Threshold::new(0.5).unwrap());
    let error = engine.similar(probe(), Lookup { threshold, ..lookup(None) }).await.unwrap_err();
    assert!(matches!(error, EngineError::PointsWanted));
    let error = engine.similar(probe(), lookup(Some(301))).await.unwrap_err();
    assert!(matches!(error, EngineError::PointsOutOfRange { points: 301, max: 300 }));

    let other = tempdir().unwrap();
    let texts = crate::open(other.path());
    let error = texts.add(record("a", &BILL), AddOptions::default()).await.unwrap_err();
    assert!(matches!(error, EngineError::Content(ContentError::Wrong { .. })), "{error}");
    let options = AddOptions { points: Some(1), ..AddOptions::default() };
    let error = texts.add(text("a", "a text"), options).await.unwrap_err();
    assert!(matches!(error, EngineError::NoPointsWanted));
}

#[tokio::test]
async fn a_comparison_has_the_points_of_each_field() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    add(&engine, record("bill", &BILL)).await;
    let near = Probe::Content(content(&[("name", "William Smithe"), ("phone", "5551234")]));
    let comparison = engine
        .compare(
            stored("bill"),
            near,
            CompareOptions { explain: true, ..CompareOptions::default() },
        )
        .await
        .unwrap();
    let Scores::Records { exact, points, .. } = comparison.scores else {
        panic!("nothing of a record is estimated: {comparison:?}")
    };
    assert_eq!(points, 96 + 96);
    assert_eq!((exact.intersection, exact.union), (0, 5));
    assert_eq!(comparison.probability_candidate, Some(0.0), "they agree in no field");
    assert_eq!(comparison.probability_reported, 0.0);
    let fields = comparison.explanation.unwrap().fields;
    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["address", "name", "phone"]);
    assert_eq!((fields[0].b.as_deref(), fields[0].points), (None, None));
    assert_eq!(fields[1].a.as_deref(), Some("william smith"));
}

/// A few letters, so that values are near each other and are shared by many.
fn random_value(numbers: &mut Numbers) -> String {
    (0..=numbers.below(3)).map(|_| char::from(b'a' + numbers.below(3) as u8)).collect()
}

fn random_record(numbers: &mut Numbers) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    while fields.is_empty() {
        for name in NAMES {
            if numbers.below(4) > 0 {
                fields.insert(name.to_owned(), random_value(numbers));
            }
        }
    }
    fields
}

/// Levenshtein's distance by its recursive definition.
fn edits(a: &[u8], b: &[u8]) -> u32 {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len() as u32,
        ([x, a @ ..], [y, b @ ..]) if x == y => edits(a, b),
        ([_, a_rest @ ..], [_, b_rest @ ..]) => {
            1 + edits(a_rest, b_rest).min(edits(a, b_rest)).min(edits(a_rest, b))
        }
    }
}

/// `None` if they agree in no field.
fn true_points(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Option<u32> {
    let both: Vec<_> = a.iter().filter_map(|(name, ours)| Some((ours, b.get(name)?))).collect();
    let points = |(ours, theirs): &(&String, &String)| {
        let (edits, length) =
            (edits(ours.as_bytes(), theirs.as_bytes()), ours.len().max(theirs.len()) as u32);
        let by_length = (100 * edits * edits).div_ceil(length * length);
        100_u32.saturating_sub(by_length.max(4 * edits * edits))
    };
    both.iter().any(|(ours, theirs)| ours == theirs).then(|| both.iter().map(points).sum())
}

#[tokio::test]
async fn lookups_equal_brute_force_over_a_shared_field() {
    for seed in 0..3 {
        let dir = tempdir().unwrap();
        let engine = open(dir.path());
        let mut numbers = Numbers(seed);
        let records: Vec<_> = (0..80).map(|_| random_record(&mut numbers)).collect();
        join_all(records.iter().enumerate().map(|(n, fields)| {
            let content = Content::Fields(fields.clone());
            add(
                &engine,
                Document {
                    id: id(&format!("r{n:02}")),
                    content,
                    metadata: None,
                    expires_at_ms: None,
                },
            )
        }))
        .await;
        for points_min in [1, 150, 196, 250] {
            for (n, ours) in records.iter().enumerate() {
                let others = records.iter().enumerate().filter(|(m, _)| *m != n);
                let mut truth: Vec<_> = others
                    .filter_map(|(m, other)| Some((format!("r{m:02}"), true_points(ours, other)?)))
                    .filter(|(_, points)| *points >= points_min)
                    .collect();
                let mut answer =
                    found(&engine, stored(&format!("r{n:02}")), Some(points_min)).await;
                answer.sort();
                truth.sort();
                assert_eq!(answer, truth, "of r{n:02} at {points_min}, seed {seed}");
            }
        }
    }
}
