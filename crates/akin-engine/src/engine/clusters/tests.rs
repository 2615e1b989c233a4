//! A document of a template costs a bounded number of steps, however many documents the template
//! has: lookups, comparisons of sets, and rotations of the forest, for additions and for removals.

use std::sync::atomic::Ordering;

use crate::document::{Content, Document, DocumentId};
use crate::engine::{AddOptions, CollectionSettings, Engine, open_local};

/// Distinct shingles of a document.
const SHINGLES: usize = 60;

const REMOVED: usize = 40;

/// Documents of the template: a lookup of each document, or a comparison with each document, for
/// every change would exceed the bounds.
const DOCUMENTS: usize = 2_000;

/// The most steps for each document. A lookup compares up to `limits.checked_max` sets, 200, and
/// some documents are looked up again. Most rotations are those of the removal of a document with
/// many edges: each edge takes rotations in the order of the logarithm of the size of the cluster.
const LOOKUPS_MAX: f64 = 10.0;
const COMPARED_MAX: f64 = 300.0;
const ROTATIONS_MAX: f64 = 8_000.0;

#[derive(Clone, Copy, Debug)]
struct GrowthSteps {
    lookups: f64,
    compared: f64,
    rotations: f64,
}

impl GrowthSteps {
    fn of(engine: &Engine) -> Self {
        let clusters = engine.linker().unwrap().clusters;
        let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed) as f64;
        Self {
            lookups: read(&clusters.steps.lookups),
            compared: read(&clusters.steps.compared),
            rotations: clusters.rotations() as f64,
        }
    }

    fn since(self, before: Self, documents: usize) -> Self {
        let each = |now: f64, before: f64| (now - before) / documents as f64;
        Self {
            lookups: each(self.lookups, before.lookups),
            compared: each(self.compared, before.compared),
            rotations: each(self.rotations, before.rotations),
        }
    }

    fn are_bounded(self) -> bool {
        self.lookups <= LOOKUPS_MAX
            && self.compared <= COMPARED_MAX
            && self.rotations <= ROTATIONS_MAX
    }
}

/// A document that has this Jaccard similarity with each other document of the template.
fn text(resemblance: f64, number: usize) -> String {
    let shared = (2.0 * resemblance / (1.0 + resemblance) * SHINGLES as f64).round() as usize;
    let template = (0..shared + 2).map(|word| format!("t{word}"));
    let own = (0..SHINGLES - shared).map(|word| format!("o{number}x{word}"));
    template.chain(own).collect::<Vec<_>>().join(" ")
}

/// The steps for each added and for each removed document.
async fn steps(resemblance: f64) -> (GrowthSteps, GrowthSteps) {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = CollectionSettings::default();
    settings.clusters.threshold = Some(0.8.try_into().unwrap());
    let engine = open_local(dir.path(), settings).unwrap();
    let id = |number: usize| DocumentId::new(format!("d{number:05}")).unwrap();
    let prepared = |number| {
        let content = Content::Text(text(resemblance, number));
        let document = Document { id: id(number), content, metadata: None, expires_at_ms: None };
        let options = AddOptions { check: false, ..AddOptions::default() };
        (engine.prepare(document).unwrap(), options)
    };
    let before = GrowthSteps::of(&engine);
    for from in (0..DOCUMENTS).step_by(100) {
        let batch = (from..from + 100).map(prepared).collect();
        engine.add_all(batch).await.into_iter().for_each(|added| drop(added.unwrap()));
    }
    while engine.update_clusters().await.unwrap() {}
    let added = GrowthSteps::of(&engine);
    for removed in 0..REMOVED {
        engine.remove(&id(removed * DOCUMENTS / REMOVED)).await.unwrap();
    }
    while engine.update_clusters().await.unwrap() {}
    let removed = GrowthSteps::of(&engine);
    (added.since(before, DOCUMENTS), removed.since(added, REMOVED))
}

#[tokio::test]
async fn kept_clusters_cost_bounded_steps_for_each_document() {
    for resemblance in [0.57, 0.7, 0.85, 0.95] {
        let (added, removed) = steps(resemblance).await;
        assert!(added.are_bounded(), "{resemblance}: an addition takes {added:?}");
        assert!(removed.are_bounded(), "{resemblance}: a removal takes {removed:?}");
    }
}
