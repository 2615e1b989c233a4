//! The engine over a backend in memory: with calls that fail, and beside the engine over a local
//! backend.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::backend::testing::Memory;
use crate::backend::{Backend, BackendError};
use crate::document::{Content, Document, DocumentId, Metadata};
use crate::engine::{
    AddOptions, CollectionSettings, Conditions, DocumentChange, Engine, EngineError, Lookup, Match,
    OnDuplicate, Probe, open_local,
};

/// The text and the metadata of each acknowledged document.
type Model = BTreeMap<String, (String, bool)>;

/// An engine over a local backend, and one over a backend in memory.
fn open(dir: &Path) -> (Engine, Engine, Arc<Memory>) {
    let mut settings = CollectionSettings::default();
    settings.sketch.seed = Some(0);
    let local = open_local(dir, settings).unwrap();
    let (scheme, estimator) = (local.analyser.scheme.clone(), local.analyser.estimator);
    let memory = Arc::new(Memory::new(scheme, estimator, local.clock.clone()));
    let over_memory = Engine { backend: Arc::clone(&memory) as Arc<dyn Backend>, ..local.clone() };
    (local, over_memory, memory)
}

fn id(id: &str) -> DocumentId {
    DocumentId::new(id).unwrap()
}

fn document(name: &str, text: &str) -> Document {
    let content = Content::Text(text.to_owned());
    Document { id: id(name), content, metadata: None, expires_at_ms: None }
}

/// Counts a failed call, which must have left the documents as the model has them.
fn acknowledged<T>(outcome: Result<T, EngineError>, failed: &mut u32) -> bool {
    match outcome {
        Ok(_) => true,
        Err(EngineError::Backend(BackendError::OutOfService { reason })) => {
            assert!(reason.starts_with("call "), "{reason}");
            *failed += 1;
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Adds, replaces, changes and removes documents; returns the number of failed calls.
async fn round(engine: &Engine, model: &mut Model, round: u32) -> u32 {
    let mut failed = 0;
    let text = |n: u32| format!("the words of document {n} in round {round}");
    for n in 0..4 {
        let (name, text) = (format!("d{}", (round + n) % 5), text(n));
        let added = engine.add(document(&name, &text), AddOptions::default()).await;
        if acknowledged(added, &mut failed) {
            model.insert(name, (text, false));
        }
    }
    let new = [0, 1].map(|n| {
        let prepared = engine.prepare(document(&format!("new{round}-{n}"), &text(9 + n)));
        (prepared.unwrap(), AddOptions::default())
    });
    for (n, added) in (0..).zip(engine.add_all(new.into()).await) {
        if acknowledged(added, &mut failed) {
            model.insert(format!("new{round}-{n}"), (text(9 + n), false));
        }
    }
    let names: Vec<String> = model.keys().cloned().collect();
    let metadata = Some(Metadata::from_json(&format!(r#"{{"round": {round}}}"#)).ok());
    let change = DocumentChange { metadata, expires_at_ms: None };
    for name in names.iter().take(3) {
        if acknowledged(engine.update(&id(name), &change).await, &mut failed) {
            model.get_mut(name).unwrap().1 = true;
        }
    }
    if let Some(removed) = names.last()
        && acknowledged(engine.remove(&id(removed)).await, &mut failed)
    {
        model.remove(removed);
    }
    if round.is_multiple_of(5) {
        let all = Conditions { stored_after_ms: Some(0), ..Conditions::default() };
        if acknowledged(engine.remove_where(all).await, &mut failed) {
            model.clear();
        }
    }
    failed
}

/// In turn each call of a round fails.
#[tokio::test]
async fn failed_calls_are_never_acknowledged_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ((_, engine, memory), mut model, mut failed) = (open(dir.path()), Model::new(), 0);
    for number in 0..60 {
        memory.fail_each(2 + u64::from(number) % 30);
        failed += round(&engine, &mut model, number).await;
        memory.fail_each(u64::MAX);
        let listed = engine.list(None, 1_000).await.unwrap();
        assert_eq!(listed, model.keys().map(|name| id(name)).collect::<Vec<_>>());
        for (name, (text, has_metadata)) in &model {
            let record = engine.get(&id(name)).await.unwrap();
            assert_eq!(record.content, Some(Content::Text(text.clone())));
            assert_eq!(record.metadata.is_some(), *has_metadata, "{name}");
        }
    }
    assert!(failed > 60, "{failed}");
}

/// What an addition or a lookup answers, as far as every backend answers alike.
fn reported(matches: &[Match]) -> Vec<(String, f64)> {
    matches.iter().map(|found| (found.id.to_string(), found.resemblance())).collect()
}

/// A text with near-duplicates.
fn text_of(number: usize) -> String {
    let (topic, edit) = (number % 6, number / 6);
    (0..40)
        .map(|word| format!("w{topic}x{}", word + word / 39 * edit))
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn the_backends_answer_alike() {
    let dir = tempfile::tempdir().unwrap();
    let (local, over_memory, _) = open(dir.path());
    let engines = [&local, &over_memory];
    for step in 0..600_usize {
        let number = step * 7_919 % 1_009;
        let name = format!("d{}", number % 40);
        let on_duplicate = [OnDuplicate::Keep, OnDuplicate::Skip][number % 2];
        let document = document(&name, &text_of(number % 90));
        let mut answers = Vec::new();
        for engine in engines {
            let answer = match step % 8 {
                0..5 => {
                    let options = AddOptions { on_duplicate, ..AddOptions::default() };
                    let added = engine.add(document.clone(), options).await.unwrap();
                    format!("{:?} {:?}", added.status, reported(&added.duplicates))
                }
                5 => format!("{:?}", engine.remove(&document.id).await.is_ok()),
                6 => {
                    let change = DocumentChange {
                        metadata: Some(Metadata::from_json(&format!(r#"{{"step": {step}}}"#)).ok()),
                        expires_at_ms: None,
                    };
                    let changed = engine.update(&document.id, &change).await;
                    format!("{:?}", changed.ok().map(|added| added.status))
                }
                _ => {
                    let probe = Probe::Content(document.content.clone());
                    let found = engine.similar(probe, Lookup::default()).await.unwrap();
                    let listed = engine.list(None, 1_000).await.unwrap();
                    let stored = engine.get(&document.id).await.ok();
                    let stored = stored.map(|record| (record.content, record.metadata));
                    format!("{:?} {listed:?} {stored:?}", reported(&found.matches))
                }
            };
            answers.push(answer);
        }
        assert_eq!(answers[0], answers[1], "step {step}");
    }
}

#[tokio::test]
async fn a_missing_capability_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (_, engine, _) = open(dir.path());
    match engine.snapshot().await {
        Err(EngineError::Backend(BackendError::Unsupported { what })) => {
            assert_eq!(what, "snapshots");
        }
        other => panic!("{other:?}"),
    }
}
