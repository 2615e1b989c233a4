//! One client: every answer is determined.

use akin::document::Document;
use akin::engine::{AddOptions, AddStatus, Added, Conditions, Filter, OnDuplicate};

use crate::answers::{Finds, check};
use crate::collection::{World, document};
use crate::contents;
use crate::passages;
use crate::plain::{Model, Plain, owner};
use crate::plain_resemblance::Least;
use crate::settings::{CLUSTERED_FROM, Setting};
use crate::store_under_test::server_url;

const STEPS: usize = 60;

/// Whether there was a document of this id, content and metadata.
fn is_stored(model: &Model, document: &Document) -> bool {
    let stored = model.get(document.id.as_str());
    stored.is_some_and(|plain| {
        (&plain.content, &plain.metadata) == (&document.content, &document.metadata)
    })
}

/// What adding a document does that is not skipped.
pub fn status(model: &Model, document: &Document) -> AddStatus {
    match model.get(document.id.as_str()) {
        None => AddStatus::Created,
        Some(plain) => {
            let unchanged =
                is_stored(model, document) && plain.expires_at_ms == document.expires_at_ms;
            if unchanged { AddStatus::Unchanged } else { AddStatus::Replaced }
        }
    }
}

pub fn below(owner: &str, number: usize) -> Conditions {
    let expression = format!("@.owner == '{owner}' && @.n < {number}");
    let filter = Filter::parse(&expression, 1_000).unwrap();
    Conditions { filter: Some(filter.into()), ..Conditions::default() }
}

pub fn options(skip: bool) -> AddOptions {
    let on_duplicate = if skip { OnDuplicate::Skip } else { OnDuplicate::Keep };
    AddOptions { on_duplicate, ..AddOptions::default() }
}

pub async fn play(world: &mut World) {
    for _ in 0..STEPS {
        step(world).await;
        world.check_count().await;
        let name = world.any_id();
        world.check_get(&name).await;
        look_up(world, &name).await;
        world.check_most_points(&name).await;
        world.check_passages(Some(&name)).await;
    }
}

async fn step(world: &mut World) {
    let name = world.any_id();
    match world.numbers.below(60) {
        0..22 => add(world, &name, false).await,
        22..30 => add(world, &name, true).await,
        30..35 => bulk(world).await,
        35..41 => {
            let removed = world.engine().remove(&crate::plain::id(&name)).await;
            assert_eq!(removed.is_ok(), world.model.remove(&name), "{name}: {removed:?}");
        }
        41..44 => remove_below(world, owner(&name)).await,
        44..48 => {
            let by_ms = 1 + world.numbers.below(1_500) as i64;
            world.advance(by_ms);
        }
        48..51 => {
            let removed = world.engine().remove_expired().await.unwrap();
            assert_eq!(removed, world.model.sweep());
        }
        51..53 => look_up_content(world).await,
        53 => world.check_listed().await,
        54 if world.numbers.one_in(2) => world.check_stored_clusters().await,
        54 => world.check_discovery().await,
        55 => world.reindex().await,
        56..58 if server_url().is_some() => world.check_listed().await,
        56..58 => drop(world.engine().snapshot().await.unwrap()),
        _ => world.restart().await,
    }
}

async fn look_up(world: &mut World, name: &str) {
    let least = world.numbers.pick(world.setting.leasts());
    let mode = world.numbers.pick(world.setting.modes());
    world.check_stored(name, least, mode).await;
}

async fn look_up_content(world: &mut World) {
    let content = contents::content(world.setting, &mut world.numbers);
    let features = world.model.rule.features(&content);
    let probe = Plain { content, metadata: None, number: None, expires_at_ms: None, features };
    for &least in world.setting.leasts() {
        for &mode in world.setting.modes() {
            world.check_content(&probe, least, mode).await;
        }
    }
    world.check_passages(None).await;
}

/// A new document, or one as it is stored, with another expiry now and then.
fn arriving(world: &mut World, name: &str) -> (Document, Option<usize>) {
    let (mut arriving, mut number) =
        document(world.setting, name, world.model.now_ms, &mut world.numbers);
    if let Some(plain) = world.model.get(name).filter(|_| world.numbers.one_in(5)) {
        arriving.content = plain.content.clone();
        arriving.metadata.clone_from(&plain.metadata);
        number = plain.number;
        if world.numbers.one_in(2) {
            arriving.expires_at_ms = plain.expires_at_ms;
        }
    }
    (arriving, number)
}

async fn add(world: &mut World, name: &str, skip: bool) {
    let (document, number) = arriving(world, name);
    let options = passages::options(world.setting, skip);
    let added = world.engine().add(document.clone(), options).await.unwrap();
    assert!(!added.truncated && !added.more);
    world.check_passages_of(&document.content, &added);
    check_added(&world.model, &document, &added, skip, world.setting);
    if added.status != AddStatus::Skipped {
        let features = world.model.rule.features(&document.content);
        let least = Least::Resemblance(CLUSTERED_FROM);
        let near = world.model.near(&features, least, Some(name));
        world.check_cluster_of(&added, &near.into_iter().map(|(id, _)| id).collect::<Vec<_>>());
        world.model.put(&document, number);
    }
}

fn check_added(model: &Model, document: &Document, added: &Added, skip: bool, setting: Setting) {
    let features = model.rule.features(&document.content);
    let near = model.near(&features, setting.usual_least(), Some(document.id.as_str()));
    let finds = Finds::of(setting == Setting::Prefix, false);
    check(&added.duplicates, &near, finds, 1).unwrap();
    let is_new = model.get(document.id.as_str()).is_none();
    let is_skipped = skip && !added.duplicates.is_empty() && is_new;
    let expected = if is_skipped { AddStatus::Skipped } else { status(model, document) };
    assert_eq!(added.status, expected, "{added:?}");
}

/// Several documents of one call; some have one id.
async fn bulk(world: &mut World) {
    let (engine, skip) = (world.engine(), world.numbers.one_in(3));
    let (mut documents, mut arrived) = (Vec::new(), Vec::new());
    for _ in 0..2 + world.numbers.below(8) {
        let name = world.any_id();
        let name = if world.numbers.one_in(3) { "s.0" } else { &name };
        let (document, number) = arriving(world, name);
        let prepared = engine.prepare(document.clone()).unwrap();
        documents.push((prepared, options(skip)));
        arrived.push((document, number));
    }
    let added = engine.add_all(documents).await;
    let ids: Vec<&str> = arrived.iter().map(|(document, _)| document.id.as_str()).collect();
    // They go on at once: of what they replace the old version may be found or the new one, and of
    // what comes after a document nothing or all.
    let before = world.model.clone();
    let is_open = |id: &str, at: usize| {
        let count = ids.iter().filter(|of| **of == id).count();
        count > 1 || count == 1 && (before.get(id).is_some() || ids[at..].contains(&id))
    };
    for (at, ((document, number), added)) in arrived.iter().zip(added).enumerate() {
        let mut added = added.unwrap();
        let features = world.model.rule.features(&document.content);
        let least = world.setting.usual_least();
        let mut near = world.model.near(&features, least, Some(ids[at]));
        near.retain(|(id, _)| !is_open(id, at));
        let had_any = !added.duplicates.is_empty();
        added.duplicates.retain(|found| !is_open(found.id.as_str(), at));
        // One that is skipped stops at the first reason.
        assert!(skip || !added.truncated);
        let finds = Finds::of(world.setting == Setting::Prefix, added.truncated);
        check(&added.duplicates, &near, finds, 1).unwrap();
        let is_skipped = skip && had_any && world.model.get(ids[at]).is_none();
        let expected = if is_skipped { AddStatus::Skipped } else { status(&world.model, document) };
        assert_eq!(added.status, expected, "{at} of {ids:?}");
        if added.status != AddStatus::Skipped {
            world.model.put(document, *number);
        }
    }
}

async fn remove_below(world: &mut World, owner: &str) {
    let number = world.numbers.below(30);
    let removed = world.engine().remove_where(below(owner, number)).await.unwrap();
    let expected = world.model.remove_below(owner, number);
    assert_eq!((removed.matched, removed.removed), (expected, expected));
}
