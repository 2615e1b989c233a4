//! Pages of one lookup are slices of one list.

use std::collections::{BTreeMap, HashSet};

use akin::document::{Content, Document, Metadata};
use akin::engine::{Answer, Conditions, Engine, Filter, Lookup, Mode, OnDuplicate, Probe};
use akin_core::scheme::Kind;
use akin_core::sketch::Method;
use akin_core::text::Unit;
use futures_util::future::join_all;
use tempfile::tempdir;

use super::*;
use crate::corpus::{edited, words};
use crate::numbers::Numbers;

/// A crowd whose documents differ from a template in one word of `one_in`. Every seventh document
/// is a copy of the one before, and every third one has metadata.
fn crowd(count: usize, one_in: usize) -> Vec<Document> {
    let mut numbers = Numbers((count + one_in) as u64);
    let template = words(&mut numbers, 150);
    let mut before = template.join(" ");
    let document = |number: usize| {
        if number % 7 != 6 {
            before = edited(&template, one_in, &mut numbers).join(" ");
        }
        let metadata =
            Metadata::from_json(&format!(r#"{{"third": {}}}"#, number.is_multiple_of(3))).ok();
        Document { metadata, ..text(&format!("{number}"), &before) }
    };
    (0..count).map(document).collect()
}

async fn fill(engine: &Engine, documents: Vec<Document>) {
    let options =
        AddOptions { check: false, on_duplicate: OnDuplicate::Keep, ..AddOptions::default() };
    let added = join_all(documents.into_iter().map(|it| engine.add(it, options.clone()))).await;
    for added in added {
        added.unwrap();
    }
}

fn ids(answer: &Answer) -> Vec<String> {
    answer.matches.iter().map(|found| found.id.to_string()).collect()
}

/// Checks that the pages of the lookup make up its list, and returns the list.
async fn assert_pages(
    engine: &Engine,
    probe: &Probe,
    lookup: Lookup,
    conditions: &Conditions,
) -> Answer {
    let lookup = Lookup { conditions: conditions.clone(), ..lookup };
    let whole = engine.similar(probe.clone(), lookup.clone()).await.unwrap();
    let list = ids(&whole);
    let distinct: HashSet<&String> = list.iter().collect();
    assert_eq!(distinct.len(), list.len(), "{lookup:?} repeats a document");
    for limit in [9, 45, 200] {
        let mut paged = Vec::new();
        loop {
            let page = Lookup { limit, offset: paged.len(), ..lookup.clone() };
            let answer = engine.similar(probe.clone(), page.clone()).await.unwrap();
            paged.extend(ids(&answer));
            if !answer.searched.more {
                assert_eq!(answer.searched.truncated, whole.searched.truncated, "{page:?}");
                break;
            }
            assert_eq!(answer.matches.len(), limit, "{page:?}");
        }
        assert_eq!(paged, list, "limit {limit}, {lookup:?}");
    }
    whole
}

fn settings(limits: [usize; 3]) -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    [settings.limits.candidates_max, settings.limits.checked_max, settings.limits.filtered_max] =
        limits;
    settings
}

const USUAL_LIMITS: [usize; 3] = [10_000, 200, 100_000];

#[tokio::test]
async fn pages_of_a_crowd_make_up_its_list() {
    let third = Filter::parse("@.third == true", 1_000).unwrap();
    let third = Conditions { filter: Some(third.into()), ..Conditions::default() };
    let lookups = [
        (Mode::Verified, Conditions::default()),
        (Mode::Verified, third.clone()),
        (Mode::Estimated, Conditions::default()),
        (Mode::Exact, third),
    ];
    let mut ends = BTreeMap::new();
    for limits in [USUAL_LIMITS, [300, 10, 70]] {
        for (count, one_in) in [(41, 100), (150, 300), (240, 30)] {
            let dir = tempdir().unwrap();
            let engine = try_open(dir.path(), settings(limits)).unwrap();
            fill(&engine, crowd(count, one_in)).await;
            for threshold in [0.6, 0.8] {
                for (mode, conditions) in &lookups {
                    let (probe, lookup) = (Probe::Stored(id("17")), lookup(threshold, *mode));
                    let list = assert_pages(&engine, &probe, lookup, conditions).await;
                    *ends.entry(list.searched.truncated).or_insert(0) += 1;
                }
            }
        }
    }
    assert!(ends[&true] > 3 && ends[&false] > 3, "both ends are tried: {ends:?}");
}

#[tokio::test]
async fn pages_of_near_copies_lose_no_document() {
    let dir = tempdir().unwrap();
    let engine = open(dir.path());
    fill(&engine, crowd(300, 200)).await;
    let (probe, all) = (Probe::Stored(id("3")), Conditions::default());
    let exact = assert_pages(&engine, &probe, lookup(0.8, Mode::Exact), &all).await;
    let mut expected = ids(&exact);
    assert!(expected.len() > 290, "{}", expected.len());
    let mut found = ids(&assert_pages(&engine, &probe, lookup(0.8, Mode::Verified), &all).await);
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn pages_of_records_and_signatures_make_up_their_lists() {
    let dir = tempdir().unwrap();
    let mut records = CollectionSettings::default();
    records.shingles.unit = Unit::Field;
    records.scheme.kind = Kind::Fields;
    records.scheme.fields = ["name", "city"].map(str::to_owned).to_vec();
    records.limits.candidates_max = 120;
    let engine = try_open(dir.path(), records).unwrap();
    let record = |number: usize| {
        let name = format!("william smith {}", "x".repeat(number % 5));
        let fields = [("name", name), ("city", format!("city {}", number % 60))];
        let content = fields.map(|(name, text)| (name.to_owned(), text)).into_iter().collect();
        Document { content: Content::Fields(content), ..text(&format!("{number}"), "") }
    };
    fill(&engine, (0..160).map(record).collect()).await;
    for points in [50, 90, 150] {
        let (threshold, mode) = (None, Some(Mode::Verified));
        let lookup =
            Lookup { threshold, points: Some(points), mode, ..lookup(0.8, Mode::Verified) };
        let probe = Probe::Stored(id("5"));
        assert_pages(&engine, &probe, lookup, &Conditions::default()).await;
    }

    let dir = tempdir().unwrap();
    let mut signatures = settings([10_000, 60, 100_000]);
    signatures.sketch.method = Method::Foreign;
    let engine = try_open(dir.path(), signatures).unwrap();
    let mut numbers = Numbers(9);
    let template: Vec<u64> = (0..128).map(|_| numbers.next() >> 32).collect();
    let documents = (0..160).map(|number| {
        let edit = |value: &u64| if numbers.one_in(8) { numbers.next() >> 32 } else { *value };
        let values = template.iter().map(edit).collect();
        Document { content: Content::Signature(values), ..text(&format!("{number}"), "") }
    });
    fill(&engine, documents.collect()).await;
    for threshold in [0.6, 0.7, 0.8] {
        let lookup = lookup(threshold, Mode::Estimated);
        assert_pages(&engine, &Probe::Stored(id("5")), lookup, &Conditions::default()).await;
    }
}
