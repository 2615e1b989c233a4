//! The engine over a backend that fails every third write.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::backend::failing::FailingWrites;
use crate::document::{Content, Document, DocumentId};
use crate::engine::{
    AddOptions, CollectionSettings, Conditions, DocumentChange, Engine, EngineError, Opening,
};

/// The text and the metadata of each acknowledged document.
type Model = BTreeMap<String, (String, bool)>;

fn open(dir: &Path) -> Engine {
    let mut engine = Engine::open(dir, CollectionSettings::default(), Opening::default()).unwrap();
    engine.backend = Arc::new(FailingWrites::new(Arc::clone(&engine.backend), 3));
    engine
}

fn id(id: &str) -> DocumentId {
    DocumentId::new(id).unwrap()
}

fn document(name: &str, text: &str) -> Document {
    let content = Content::Text(text.to_owned());
    Document { id: id(name), content, metadata: None, expires_at_ms: None }
}

/// Counts a failed write, which must have left the documents as the model has them.
fn acknowledged<T>(outcome: Result<T, EngineError>, failed: &mut u32) -> bool {
    match outcome {
        Ok(_) => true,
        Err(EngineError::OutOfService { reason }) => {
            assert!(reason.starts_with("write "), "{reason}");
            *failed += 1;
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Adds, replaces, changes and removes documents; returns the number of failed writes.
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
    let metadata = Some(Arc::new(serde_json::json!({"round": round})));
    let change = DocumentChange { metadata, expires_at_ms: None };
    for name in names.iter().take(3) {
        if acknowledged(engine.update(&id(name), &change).await, &mut failed) {
            model.get_mut(name).unwrap().1 = true;
        }
    }
    let removed = names.last().unwrap();
    if acknowledged(engine.remove(&id(removed)).await, &mut failed) {
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

#[tokio::test]
async fn failed_writes_are_never_acknowledged_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, mut model, mut failed) = (open(dir.path()), Model::new(), 0);
    for number in 0..20 {
        failed += round(&engine, &mut model, number).await;
        let listed = engine.list(None, 1_000).await.unwrap();
        assert_eq!(listed, model.keys().map(|name| id(name)).collect::<Vec<_>>());
        for (name, (text, has_metadata)) in &model {
            let record = engine.get(&id(name)).await.unwrap();
            assert_eq!(record.content, Some(Content::Text(text.clone())));
            assert_eq!(record.metadata.is_some(), *has_metadata, "{name}");
        }
    }
    assert!(failed > 50, "{failed}");
}

#[tokio::test]
async fn a_missing_capability_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    match engine.snapshot().await {
        Err(EngineError::UnsupportedByBackend { what }) => assert_eq!(what, "snapshots"),
        other => panic!("{other:?}"),
    }
}
