//! Which documents of a client may arrive. A document may wait for documents that arrived before
//! it, also for those of other clients: for versions of its id, for near-duplicates, and for texts
//! that share words with it. So the documents in flight of each client are limited: a document
//! waits for so many documents of each other client at most, and what is looked for among the
//! documents in flight does not cost more, however many documents a client sends.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::add::Outcomes;
use crate::backend::PreparedDocument;
use crate::background::turns::{self, ClientId};
use crate::engine::{AddOptions, Engine};

/// Places of a client in a collection. Each document takes a place. With so many documents the disk
/// never waits for documents.
const PLACES: u32 = 1_024;

/// The places of a document that is searched for passages. Among documents that share words each
/// waits for the search and the write of the document before it, a few milliseconds.
const PLACES_OF_SEARCHED: u32 = 8;

/// So many clients are remembered until those without documents in flight are forgotten.
const CLIENTS: usize = 1_024;

/// The places that each client has left.
#[derive(Default)]
pub(in crate::engine) struct Places {
    left: Mutex<HashMap<ClientId, Arc<Semaphore>>>,
}

impl Places {
    /// Waits for places of the current task's client, in the order of the calls. No more places
    /// than there are are taken.
    async fn take(&self, places: u32) -> OwnedSemaphorePermit {
        let left = {
            let mut left = self.left.lock();
            if left.len() >= CLIENTS {
                // Others are held by permits and by waiting calls.
                left.retain(|_, places| Arc::strong_count(places) > 1);
            }
            let all = || Arc::new(Semaphore::new(PLACES as usize));
            Arc::clone(left.entry(turns::current()).or_insert_with(all))
        };
        let taken = left.acquire_many_owned(places.min(PLACES)).await;
        taken.expect("the semaphore is never closed")
    }
}

impl Engine {
    /// Waits until the client of the current task has few enough documents in flight; then the
    /// documents [arrive](Self::add_all). The future that is returned checks and stores them.
    pub async fn admit(
        &self,
        documents: Vec<(PreparedDocument, AddOptions)>,
    ) -> impl Future<Output = Outcomes> + Send + use<> {
        let places =
            |(_, options): &(_, AddOptions)| options.passages.map_or(1, |_| PLACES_OF_SEARCHED);
        // All at once: none of them waits for places while another one waits to be completed.
        let places = self.places.take(documents.iter().map(places).sum()).await;
        let adding = self.add_all(documents);
        async move {
            let _places = places;
            adding.await
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join3;
    use tempfile::tempdir;

    use super::*;
    use crate::background::turns::on_behalf_of;
    use crate::document::{Content, Document, DocumentId};
    use crate::engine::{
        CollectionSettings, ContainedOf, ContainmentCheck, OnDuplicate, open_local,
    };

    const A: ClientId = ClientId(1);
    const B: ClientId = ClientId(2);

    #[tokio::test]
    async fn each_client_has_places_of_its_own() {
        let places = Places::default();
        let all = on_behalf_of(A, places.take(PLACES + 1)).await;
        let mut next = Box::pin(on_behalf_of(A, places.take(1)));
        assert!((&mut next).now_or_never().is_none(), "the client has none left");
        assert!(on_behalf_of(B, places.take(PLACES)).now_or_never().is_some());
        drop(all);
        assert!(next.now_or_never().is_some());
        for client in 0..2 * CLIENTS as u64 {
            drop(on_behalf_of(ClientId(client), places.take(1)).await);
        }
        assert!(places.left.lock().len() <= CLIENTS, "clients without documents are forgotten");
    }

    /// Documents that share a run of words, and are searched for it.
    fn sharing(engine: &Engine, name: &str, count: u32) -> Vec<(PreparedDocument, AddOptions)> {
        let check = ContainmentCheck {
            on_contained: OnDuplicate::Keep,
            containment_min: 0.0,
            of: ContainedOf::Probe,
        };
        let options = AddOptions { check: false, passages: Some(check), ..AddOptions::default() };
        let shared = (0..20).map(|at| format!("shared{at} ")).collect::<Vec<_>>().concat();
        let document = |number: u32| {
            let content = Content::Text(format!("{shared}{name}{number}"));
            let id = DocumentId::new(format!("{name}/{number}")).unwrap();
            let document = Document { id, content, metadata: None, expires_at_ms: None };
            (engine.prepare(document).unwrap(), options.clone())
        };
        (0..count).map(document).collect()
    }

    /// However many documents a client sends that share a run of words with a document of another
    /// client, the latter waits for those only that have places.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_document_waits_for_few_documents_of_another_client() {
        let dir = tempdir().unwrap();
        let mut settings = CollectionSettings::default();
        settings.passages.words = 13;
        settings.limits.passage_texts_max = 1_000;
        settings.limits.duplicates_max = 1_000;
        let engine = open_local(dir.path(), settings).unwrap();
        let group = PLACES / PLACES_OF_SEARCHED / 2;
        let first = on_behalf_of(A, engine.admit(sharing(&engine, "first", group))).await;
        let second = on_behalf_of(A, engine.admit(sharing(&engine, "second", group))).await;
        let mut third = Box::pin(on_behalf_of(A, engine.admit(sharing(&engine, "third", group))));
        assert!((&mut third).now_or_never().is_none(), "client A has no places left");
        let other = on_behalf_of(B, engine.admit(sharing(&engine, "other", 1)));
        let other = other.now_or_never().expect("client B has places");
        // The third group does not arrive as long as it is not polled.
        let (first, second, mut other) = join3(first, second, other).await;
        assert!(first.into_iter().chain(second).all(|added| added.is_ok()));
        let found = other.remove(0).unwrap().passages.unwrap();
        assert_eq!(found.matches.len() as u32, PLACES / PLACES_OF_SEARCHED);
        assert!(!found.more && !found.truncated);
        let third = third.await.await.pop().unwrap().unwrap().passages.unwrap();
        assert_eq!(third.matches.len() as u32, 3 * group, "with all documents before it");
        engine.close().await.unwrap();
    }
}
