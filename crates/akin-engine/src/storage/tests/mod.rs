//! Tests of the store through its public interface, a file for each behaviour.

mod ahead;
mod copies;
mod corruption;
mod expiring;
mod failure;
mod hostile;
mod lost;
mod opening;
mod reading;
mod recovery;
mod room;
mod sets;
mod snapshots;
mod writing;

use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Waker};

use rusqlite::Connection;
use tempfile::TempDir;

use super::fuzzing::encoded;
use super::*;
use crate::document::{Content, DocumentId, Metadata, Ordinal, Token};
use crate::stored::{Detail, DocumentDetails, Order, Record, Tail};
use akin_core::sketch::Sketch;
use akin_core::text::{ShingleSet, ShingleSettings, Shingler};
use akin_model::stats::SnapshotInfo;

const IDENTITY: &str = r#"{"sketch":{"slots":16}}"#;

/// Bytes of the sketches of test documents.
const SKETCH_BYTES: usize = 16;

/// A time at which none of the test documents has expired.
const NOW_MS: i64 = 1_800_000_000_000;

/// A store in a directory of its own.
struct Home {
    dir: TempDir,
    settings: StorageSettings,
}

impl Home {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), settings: StorageSettings::default() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn open(&self) -> Store {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<Store, StorageError> {
        open(self.path(), &self.settings, IDENTITY, shingler())
    }

    /// Another connection to the database, for changes that the store never makes.
    fn raw(&self) -> Connection {
        Connection::open(self.path().join("store.sqlite")).unwrap()
    }
}

fn open(
    dir: &Path,
    settings: &StorageSettings,
    identity: &str,
    shingler: Shingler,
) -> Result<Store, StorageError> {
    Store::open(dir, settings, |_| Ok((identity.to_owned(), shingler)))
}

fn shingler() -> Shingler {
    Shingler::new(ShingleSettings::default(), 0, usize::MAX)
}

/// A document that depends on its ordinal in every column.
fn record(ordinal: u32) -> Record {
    let words: Vec<String> =
        (0..30).map(|word| format!("word{}", ordinal.wrapping_mul(word))).collect();
    let text = format!("The text of document {ordinal}. ").repeat(15) + &words.join(" ");
    record_of(ordinal, Content::Text(text))
}

fn record_of(ordinal: u32, content: Content) -> Record {
    let number = u64::from(ordinal);
    let set = shingler().shingle(&content).unwrap().set;
    Record {
        ordinal: Ordinal::from(ordinal),
        id: DocumentId::new(format!("https://example.org/{ordinal}")).unwrap(),
        stored_at_ms: 1_800_000_000_000 + i64::from(ordinal),
        expires_at_ms: (ordinal % 2 == 1).then_some(NOW_MS + 1_000 + number as i64),
        content: Some(content),
        metadata: Some(Metadata::from_json(&format!(r#"{{"n": {ordinal}}}"#)).unwrap()),
        shingles: set.count() as u32,
        fingerprint: set.fingerprint(),
        set: Some(set),
        content_hash: number << 40,
        sketch: Sketch::from_bytes((0..SKETCH_BYTES).map(|i| i as u8 ^ ordinal as u8).collect()),
        whole_document: ordinal % 2 == 1,
    }
}

/// A document in a collection that keeps no contents.
fn without_content(record: Record) -> Record {
    Record { content: None, ..record }
}

fn tokens(list: &[(&str, u32)]) -> Content {
    let token = |&(text, count): &(&str, u32)| Token { text: text.to_owned(), count };
    Content::Tokens(list.iter().map(token).collect())
}

fn put(record: &Record) -> Write {
    Write::Put { record: encoded(record), replaces: None }
}

/// Everything in a closed store, as its settings say it should be.
fn inspected(dir: &Path) -> Inspection {
    let (identity, shingler) = (IDENTITY.to_owned(), shingler());
    inspect(dir, &Expected { identity, shingler, sketch_bytes: SKETCH_BYTES })
}

/// The number of documents of a store without damage.
fn verified(dir: &Path) -> Result<u64, Finding> {
    let inspection = inspected(dir);
    inspection.first_damage().map_or(Ok(inspection.documents), |damage| Err(damage.clone()))
}

fn remove(ordinal: u32) -> Write {
    Write::Remove { ordinal: Ordinal::from(ordinal) }
}

async fn write(store: &Store, change: Write) {
    store.write_all(vec![change], |_| ()).await.unwrap();
}

/// Stores documents 0..count.
async fn fill(store: &Store, count: u32) {
    for ordinal in 0..count {
        write(store, put(&record(ordinal))).await;
    }
}

async fn fetch(store: &Store, ordinal: u32) -> Result<Option<Record>, StorageError> {
    let records = store.fetch(vec![Ordinal::from(ordinal)], Detail::All).await?;
    Ok(records.into_iter().next().unwrap())
}

/// All ids, in export order.
async fn exported_ids(store: &Store, order: Order, now_ms: i64) -> Vec<DocumentId> {
    let mut export = store.export(Detail::Set, order, now_ms).await;
    let mut ids = Vec::new();
    while let Some(record) = export.recv().await {
        ids.push(record.unwrap().id);
    }
    ids
}

/// Blocks the committer after its first write until released.
struct Held {
    go_on: Sender<()>,
    held: Receiver<()>,
}

impl Held {
    fn new() -> (Self, impl FnOnce(u64) + Send + 'static) {
        let ((go_on, wait), (tell, held)) = (channel(), channel());
        let applied = move |_| {
            tell.send(()).unwrap();
            wait.recv().unwrap();
        };
        (Self { go_on, held }, applied)
    }

    /// While the committer is blocked, all queued commands become a single group.
    fn wait(&self) {
        self.held.recv().unwrap();
    }

    fn release(self) {
        self.go_on.send(()).unwrap();
    }
}

/// Polls a write once, which queues it.
fn queue<F: Future>(write: F) -> Pin<Box<F>> {
    let mut write = Box::pin(write);
    assert!(write.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    write
}
