//! Collapsing against the same, done with every pair's exact resemblance.

use akin::document::DocumentId;
use akin::engine::{Collapsed, Collapsing, HitName, RankedHit};
use akin_core::measure::Overlap;
use akin_core::text::ShingleSet;
use futures_util::future::join_all;
use tempfile::tempdir;

use crate::corpus::families;
use crate::recall::sets;
use crate::{add, id, open, text};

/// Of each document the one it joins, with their resemblance; itself if it is kept.
fn by_brute_force(sets: &[ShingleSet], threshold: f64) -> Vec<(usize, f64)> {
    let mut joined: Vec<(usize, f64)> = Vec::new();
    for (rank, set) in sets.iter().enumerate() {
        let kept = (0..rank).filter(|other| joined[*other].0 == *other);
        let resembling = kept.map(|other| (other, Overlap::of(set, &sets[other]).resemblance()));
        let first = resembling.into_iter().find(|(_, resemblance)| *resemblance >= threshold);
        joined.push(first.unwrap_or((rank, 1.0)));
    }
    joined
}

fn flattened(collapsed: &Collapsed, ids: &[DocumentId]) -> Vec<(usize, f64)> {
    let rank = |hit: &HitName| match hit {
        HitName::Id(id) => ids.iter().position(|other| other == id).unwrap(),
        HitName::Position(position) => *position,
    };
    let mut joined = vec![None; ids.len()];
    for kept in &collapsed.kept {
        joined[rank(kept)] = Some((rank(kept), 1.0));
    }
    for group in &collapsed.groups {
        for member in &group.members {
            let place = &mut joined[rank(&member.hit)];
            assert!(place.is_none(), "{member:?} is there twice");
            *place = Some((rank(&group.representative), member.resemblance));
        }
    }
    joined.into_iter().map(|place| place.expect("each is kept or a member")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collapsing_agrees_with_brute_force() {
    let dir = tempdir().unwrap();
    let texts = families(60, 21);
    let engine = open(dir.path());
    join_all(texts.iter().map(|(name, words)| add(&engine, text(name, words)))).await;
    engine.close().await.unwrap();
    // Another engine, so that sets are read from disk.
    drop(engine);
    let engine = open(dir.path());
    let sets = sets(&texts);
    let ids: Vec<DocumentId> = texts.iter().map(|(name, _)| id(name)).collect();
    for threshold in [0.6, 0.8, 1.0] {
        let threshold_given = Some(threshold.try_into().unwrap());
        let collapsing = Collapsing { threshold: threshold_given, ..Collapsing::default() };
        let expected = by_brute_force(&sets, threshold);
        let by_id = ids.iter().cloned().map(RankedHit::stored).collect();
        // Every second hit is a text, and every third has an id that is not stored.
        let hit = |position: usize| RankedHit {
            name: HitName::Position(position),
            id: match position % 3 {
                0 => Some(id("unheard of")),
                _ => position.is_multiple_of(2).then(|| ids[position].clone()),
            },
            text: Some(text("t", &texts[position].1).content),
        };
        let mixed = (0..texts.len()).map(hit).collect();
        for hits in [by_id, mixed] {
            let collapsed = engine.collapse(hits, collapsing).await.unwrap();
            assert!(collapsed.unknown.is_empty());
            assert_eq!(flattened(&collapsed, &ids), expected, "at {threshold}");
        }
    }
}
