//! What the tests run over: the backend in this process, or, in a process of its own, another
//! backend.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use akin::backend::memory::Memory;
use akin::backend::{
    Backend, BackendError, LocalCollection, Opening, Removal, StoredCollection, seeded,
};
use akin::engine::CollectionSettings;
use akin::storage::StorageSettings;
use akin_core::scheme::Scheme;

/// The variable that names the backend of a process.
const BACKEND: &str = "AKIN_TEST_BACKEND";

/// What the backend in memory does not have: the names of these tests begin so.
const NOT_IN_MEMORY: &[&str] = &[
    "backends::",
    // Files, and what a start makes of them.
    "format::",
    "restart::",
    "expiry::a_document_expires_at_its_exact_time",
    "expiry::expired_documents_stay_gone_after_a_restart",
    "records::field_sketches_find_records_without_an_equal_field",
    "records::records_are_found_across_restart_replacement_and_removal",
    "shingles::stop_words_decide_the_identity_only_for_stopword_shingles",
    // Passages.
    "contained::",
    "containment::",
    "passages::",
    // Scans of sketches.
    "conditions::a_filter_examines_more_equal_documents_than_a_lookup_has_candidates",
    "discovery::",
    "nearest::",
    // An index with its limits, whose keys are counted, and scans that take time.
    "arrival::concurrent_posts_of_one_id_leave_one_document",
    "arrival::equal_sets_are_indexed_once",
    "arrival::posting_an_id_again_replaces_the_document",
    "conditions::removing_without_conditions_is_refused",
    "crowd::",
    "exact::a_prefix_collection_reports_all_near_duplicates_of_additions",
    "exact::a_threshold_below_the_index_scans_all_documents",
    "exact::dropping_a_scan_stops_it",
    "exact::exact_lookups_equal_brute_force_across_a_restart",
    "expiry::removing_expired_documents_leaves_no_trace",
    "measured::measurements_run_one_at_a_time_and_stop_when_dropped",
    "records_crowd::",
    // The time to live of a collection.
    "expiry::the_time_to_live_of_a_collection_applies",
];

/// The collection of a directory.
pub fn stored(
    dir: &Path,
    settings: CollectionSettings,
    storage: &StorageSettings,
) -> Arc<dyn StoredCollection> {
    match env::var(BACKEND).as_deref() {
        Err(_) => Arc::new(LocalCollection::new(dir.to_owned(), settings, storage.clone())),
        Ok("memory") => Arc::new(InMemory { dir: dir.to_owned(), settings }),
        Ok(other) => panic!("{BACKEND}={other}"),
    }
}

/// A collection that stays in memory as if it were in a directory.
struct InMemory {
    dir: PathBuf,
    settings: CollectionSettings,
}

static KEPT: LazyLock<Mutex<HashMap<PathBuf, Arc<Memory>>>> = LazyLock::new(Mutex::default);

impl StoredCollection for InMemory {
    fn number(&self) -> u64 {
        0
    }

    fn settings(&self) -> &CollectionSettings {
        &self.settings
    }

    fn open(
        &self,
        opening: &Opening,
    ) -> Result<(Arc<dyn Backend>, CollectionSettings), BackendError> {
        let seeded = seeded(&self.settings, None)?;
        let scheme = Scheme::new(&seeded.scheme, &seeded.sketch);
        let estimator = scheme.estimator(&seeded.sketch);
        let new = || Arc::new(Memory::new(scheme, estimator, opening.clock.clone()));
        let memory = Arc::clone(KEPT.lock().unwrap().entry(self.dir.clone()).or_insert_with(new));
        Ok((memory, seeded))
    }

    fn replacement(
        self: Arc<Self>,
        _: &CollectionSettings,
    ) -> Result<Arc<dyn StoredCollection>, BackendError> {
        unreachable!("no test of one engine reindexes")
    }

    fn take_name(&self) -> Result<(), BackendError> {
        Ok(())
    }

    fn end_takeover(&self) -> Result<(), BackendError> {
        Ok(())
    }

    fn remove(&self) -> Result<Removal, BackendError> {
        Ok(Removal::Durable)
    }
}

/// Runs this binary's tests again.
#[test]
fn the_tests_pass_over_the_backend_in_memory() {
    let mut tests = Command::new(env::current_exe().unwrap());
    tests.env(BACKEND, "memory");
    for other in NOT_IN_MEMORY {
        tests.args(["--skip", other]);
    }
    let output = tests.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("running 4"), "some forty tests are of every backend: {told}");
}
