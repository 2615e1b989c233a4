//! Records of which many share a value: the best are found among them, or the answer is truncated.

use std::path::Path;

use akin::document::{Content, Document};
use akin::engine::{AddOptions, Answer, CollectionSettings, Engine, Lookup, Probe};
use akin_core::scheme::Kind;
use akin_core::text::Unit;
use tempfile::tempdir;

use crate::numbers::Numbers;
use crate::plain_resemblance::{Features, score};
use crate::{id, try_open};

const FIELDS: [&str; 3] = ["name", "street", "city"];

const GIVEN: [&str; 12] = [
    "anna",
    "bruno",
    "carla",
    "dmitri",
    "elena",
    "felix",
    "greta",
    "hugo",
    "ines",
    "jakob",
    "katharina",
    "leonard",
];
const FAMILY: [&str; 12] = [
    "abel",
    "brandt",
    "castello",
    "dupont",
    "eriksson",
    "fischer",
    "gomez",
    "hoffmann",
    "ivanova",
    "jensen",
    "kowalski",
    "lindqvist",
];
const STREETS: [&str; 10] = [
    "main street",
    "long lane",
    "quayside",
    "old mill road",
    "church hill",
    "station road",
    "park avenue",
    "garden row",
    "king street",
    "harbour view",
];
const CITIES: [&str; 3] = ["rotterdam", "lisbon", "bergen"];

type Record = [String; 3];

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.shingles.unit = Unit::Field;
    settings.scheme.kind = Kind::Fields;
    settings.scheme.fields = FIELDS.map(str::to_owned).to_vec();
    settings.scheme.points = Some(190);
    settings
}

fn person(numbers: &mut Numbers) -> Record {
    let name = format!("{} {}", numbers.pick(&GIVEN), numbers.pick(&FAMILY));
    let street = format!("{} {}", 1 + numbers.below(99), numbers.pick(&STREETS));
    [name, street, numbers.pick(&CITIES).to_owned()]
}

/// The record with a letter of its name replaced, and mostly another street.
fn moved(of: &Record, numbers: &mut Numbers) -> Record {
    let [name, street, city] = of.clone();
    let at = numbers.below(name.len());
    let name = format!("{}y{}", &name[..at], &name[at + 1..]);
    let street = if numbers.one_in(4) { street } else { person(numbers)[1].clone() };
    [name, street, city]
}

fn crowd(count: usize, seed: u64) -> Vec<Record> {
    let mut numbers = Numbers(seed);
    let mut records: Vec<Record> = Vec::new();
    while records.len() < count {
        let at = numbers.below(records.len().max(1));
        let new = match records.get(at).filter(|_| numbers.one_in(3)) {
            Some(known) => moved(&known.clone(), &mut numbers),
            None => person(&mut numbers),
        };
        records.push(new);
    }
    records
}

fn content(record: &Record) -> Content {
    let field = |(name, value): (&str, &String)| (name.to_owned(), value.clone());
    Content::Fields(FIELDS.into_iter().zip(record).map(field).collect())
}

fn document(number: usize, record: &Record) -> Document {
    let (id, content) = (id(&format!("r{number}")), content(record));
    Document { id, content, metadata: None, expires_at_ms: None }
}

async fn stored(dir: &Path, settings: CollectionSettings, records: &[Record]) -> Engine {
    let engine = try_open(dir, settings).unwrap();
    for (number, record) in records.iter().enumerate() {
        let options = AddOptions { check: false, ..AddOptions::default() };
        engine.add(document(number, record), options).await.unwrap();
    }
    engine
}

/// The points of the records that share a field with the probe, highest first, without the probe.
fn by_brute_force(records: &[Record], probe: &Record, own: Option<usize>) -> Vec<u32> {
    let features = |record: &Record| match content(record) {
        Content::Fields(fields) => Features::Fields(fields),
        _ => unreachable!("records have fields"),
    };
    let ours = features(probe);
    let others = records.iter().enumerate().filter(|(number, _)| Some(*number) != own);
    let scored = others.map(|(_, record)| score(&ours, &features(record)));
    let mut points: Vec<u32> =
        scored.filter(|score| score.is_certain).filter_map(|score| score.points).collect();
    points.sort_unstable_by(|a, b| b.cmp(a));
    points
}

fn points(answer: &Answer) -> Vec<u32> {
    answer.matches.iter().map(|found| found.similarity.points().unwrap()).collect()
}

#[tokio::test]
async fn k_returns_the_record_with_the_most_points_of_a_city() {
    for count in [40, 50, 60, 300] {
        let dir = tempdir().unwrap();
        let mut records: Vec<Record> = (0..count)
            .map(|n| [format!("person {n} of {count}"), format!("{n} lane {n}"), "rome".to_owned()])
            .collect();
        records[count / 2] = ["giulia bianchi", "7 via appia", "rome"].map(str::to_owned);
        let engine = stored(dir.path(), settings(), &records).await;
        let probe = ["giulia bianchy", "99 via veneto", "rome"].map(str::to_owned);
        let lookup = Lookup { k: 10.try_into().ok(), ..Lookup::default() };
        let answer = engine.similar(Probe::Content(content(&probe)), lookup).await.unwrap();
        assert_eq!(answer.matches[0].similarity.points(), Some(196), "of {count}");
        let expected = by_brute_force(&records, &probe, None);
        assert_eq!(points(&answer), expected[..10], "of {count}");
        assert!(!answer.searched.truncated, "of {count}");
    }
}

#[tokio::test]
async fn a_crowd_is_looked_up_as_by_brute_force() {
    for (count, seed) in [(60, 2), (250, 3), (900, 1)] {
        check_crowd(&crowd(count, seed)).await;
    }
}

async fn check_crowd(records: &[Record]) {
    let dir = tempdir().unwrap();
    let engine = stored(dir.path(), settings(), records).await;
    let (mut wrong, mut found, mut matches, mut missed) = (0, 0, 0, 0);
    for (number, record) in records.iter().enumerate().step_by(9) {
        let expected = by_brute_force(records, record, Some(number));
        let probe = || Probe::Stored(id(&format!("r{number}")));
        let lookup = Lookup { k: 10.try_into().ok(), ..Lookup::default() };
        let answer = engine.similar(probe(), lookup).await.unwrap();
        wrong += usize::from(points(&answer) != expected[..expected.len().min(10)]);
        let lookup = Lookup { points: Some(200), limit: 1_000, ..Lookup::default() };
        let answer = engine.similar(probe(), lookup).await.unwrap();
        found += answer.matches.len();
        matches += expected.iter().filter(|points| **points >= 200).count();
        let added = engine.add(document(number, record), AddOptions::default()).await.unwrap();
        let near = expected.iter().filter(|points| **points >= 190).count();
        missed += usize::from(added.duplicates.len() != near.min(20));
    }
    assert_eq!((wrong, found, missed), (0, matches, 0));
}

/// Of one request, so that most are looked up while the others are in flight.
#[tokio::test]
async fn records_in_flight_are_found_among_others_of_their_city() {
    let dir = tempdir().unwrap();
    let engine = try_open(dir.path(), settings()).unwrap();
    let named = |n: usize| {
        [format!("person {n} {}", n * 7_919), format!("{n} lane {n}"), "rome".to_owned()]
    };
    let mut records: Vec<Record> = (0..400).map(named).collect();
    records[300] = ["giulia bianchi", "7 via appia", "rome"].map(str::to_owned);
    records[350] = ["giulia bianchy", "99 via veneto", "rome"].map(str::to_owned);
    let mut documents = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let prepared = engine.prepare(document(number, record)).unwrap();
        documents.push((prepared, AddOptions::default()));
    }
    let added = engine.add_all(documents).await;
    let added = added.into_iter().nth(350).unwrap().unwrap();
    let found: Vec<_> = added
        .duplicates
        .iter()
        .map(|found| (found.id.as_str(), found.similarity.points()))
        .collect();
    assert_eq!((found, added.truncated), (vec![("r300", Some(196))], false));
}

/// Their names have the same letters and pairs of letters, so sketches cannot tell them apart.
#[tokio::test]
async fn an_answer_says_that_records_were_left_unchecked() {
    let mut numbers = Numbers(3);
    let mut name = || {
        let letters: String = (0..20).map(|_| numbers.pick(&["a", "b"])).collect();
        format!("aabba{letters}aabba")
    };
    let records: Vec<Record> =
        (0..100).map(|n| [name(), format!("{n} lane"), "rome".to_owned()]).collect();
    let probe = [name(), "9999 quayside".to_owned(), "rome".to_owned()];
    for (checked_max, truncated) in [(200, false), (20, true)] {
        let dir = tempdir().unwrap();
        let mut settings = settings();
        settings.limits.checked_max = checked_max;
        let engine = stored(dir.path(), settings, &records).await;
        let probe_only = Probe::Content(content(&probe));
        let answer = engine.similar(probe_only, Lookup::default()).await.unwrap();
        assert_eq!(
            (answer.matches.len(), answer.searched.truncated),
            (0, truncated),
            "{checked_max}"
        );
        let added = engine.add(document(100, &probe), AddOptions::default()).await.unwrap();
        assert_eq!((added.duplicates.len(), added.truncated), (0, truncated), "{checked_max}");
    }
}

#[tokio::test]
async fn an_answer_says_that_not_all_sketches_were_compared() {
    let record = |n: usize| [format!("person {n}"), format!("{n} lane"), "rome".to_owned()];
    let records: Vec<Record> = (0..100).map(record).collect();
    // One of them is the probe itself.
    for (candidates_max, found) in [(100, 99), (50, 49)] {
        let dir = tempdir().unwrap();
        let mut settings = settings();
        (settings.limits.checked_max, settings.limits.candidates_max) = (50, candidates_max);
        let engine = stored(dir.path(), settings, &records).await;
        let lookup = Lookup { points: Some(100), limit: 1_000, ..Lookup::default() };
        let answer = engine.similar(Probe::Stored(id("r99")), lookup).await.unwrap();
        assert_eq!((answer.matches.len(), answer.searched.truncated), (found, found < 99));
    }
}
