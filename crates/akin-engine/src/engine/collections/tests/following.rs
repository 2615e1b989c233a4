//! Changes that other processes make of the same store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::backend::{BackendError, CollectionStore, ListedCollection, StoredCollection};

/// A store whose list is answered late: `meanwhile` runs after the collections were read.
struct LateList<F> {
    inner: LocalCollections,
    meanwhile: F,
}

impl<F: Fn() + Send + Sync> CollectionStore for LateList<F> {
    fn default_collection(
        &self,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        self.inner.default_collection(settings)
    }

    fn list(&self) -> Result<Vec<ListedCollection>, BackendError> {
        let listed = self.inner.list();
        (self.meanwhile)();
        listed
    }

    fn create(
        &self,
        name: &CollectionName,
        settings: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        self.inner.create(name, settings)
    }
}

/// A list that was read before a removal once brought the removed collection back for a moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_is_removed_while_changes_are_taken_stays_removed() {
    let dir = TempDir::new().unwrap();
    let (start, begun) = std::sync::mpsc::channel();
    let (end, removed) = std::sync::mpsc::channel();
    let (is_taking, removed) = (Arc::new(AtomicBool::new(false)), std::sync::Mutex::new(removed));
    let is_wanted = Arc::clone(&is_taking);
    let meanwhile = move || {
        if is_wanted.load(Ordering::Relaxed) {
            start.send(()).unwrap();
            // The removal waits until the changes are taken.
            let removed = removed.lock().unwrap().recv_timeout(Duration::from_millis(500));
            assert!(removed.is_err());
        }
    };
    let store =
        LateList { inner: LocalCollections::new(dir.path().to_owned(), storage()), meanwhile };
    let opening = Opening::default();
    let limits_max = LimitSettings::default();
    let of_all = CollectionsSettings { collections_max: 3, limits_max, opening };
    let open = Collections::open(Arc::new(store), &CollectionSettings::default(), of_all);
    let collections = Arc::new(open.unwrap());
    make(&collections, "news").await;
    is_taking.store(true, Ordering::Relaxed);
    let taking = Arc::clone(&collections);
    let taken = tokio::task::spawn_blocking(move || taking.take_changes());
    begun.recv().unwrap();
    collections.remove(name("news")).await.unwrap();
    end.send(()).unwrap();
    taken.await.unwrap().unwrap();
    assert_eq!(names(&collections), ["default"]);
}
