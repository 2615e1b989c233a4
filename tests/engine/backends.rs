//! What the tests run over: the backend in this process, or, in a process of its own, another
//! backend.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use akin::backend::testing::Memory;
use akin::backend::{
    Backend, BackendError, LocalCollection, Opening, Removal, StoredCollection, seeded,
};
use akin::engine::CollectionSettings;
use akin::storage::StorageSettings;
use akin_core::scheme::Scheme;

use crate::postgres_server::PostgresServer;
use crate::store_under_test::{BACKEND, blocking, run_again, server_url, store_of};

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
    // How much an index finds: this backend looks at all documents, and finds everything.
    "recall::verified_lookups_find_what_brute_force_finds",
    "records::a_record_edited_in_every_field_is_found",
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

/// What PostgreSQL does not have: the names of these tests begin so.
const NOT_IN_POSTGRES: &[&str] = &[
    "backends::",
    // Files, and what a start makes of them.
    "format::",
    "restart::",
    // Passages, and prefix filters.
    "contained::",
    "containment::",
    "passages::",
    "exact::a_prefix_collection_reports_all_near_duplicates_of_additions",
    "exact::concurrent_skip_in_a_prefix_collection_stores_exactly_one",
    // A write that was sent may happen, although nobody waits for it.
    "arrival::an_aborted_addition_leaves_nothing_in_flight",
    "arrival::the_search_repeats_once_all_rivals_are_withdrawn",
    // A removal and an addition that are sent at the same time have no order there.
    "arrival::a_document_that_an_earlier_write_removes_is_no_reason_to_skip",
];

/// Tests of thousands of lookups, each of which takes PostgreSQL a round trip: they take four
/// minutes of processor time together, and are run by hand (CONTRIBUTING.md).
const LONG_OVER_POSTGRES: &[&str] = &[
    "arrival::a_document_read_from_disk_is_found_during_replacement",
    "conditions::a_filter_finds_its_only_match_among_near_copies",
    "crowd::truncated_crowd_lookups_say_so_and_find_equals",
    "discovery::discoveries_do_not_depend_on_arrival_order",
    "exact::exact_lookups_equal_brute_force_across_a_restart",
    "nearest::the_nearest_are_those_of_brute_force",
    "pages::pages_of_a_crowd_make_up_its_list",
    "recall::verified_lookups_find_what_brute_force_finds",
    "records::a_record_edited_in_every_field_is_found",
    "records::lookups_equal_brute_force_over_a_shared_field",
    "records_crowd::a_crowd_is_looked_up_as_by_brute_force",
    "records_crowd::records_in_flight_are_found_among_others_of_their_city",
];

/// The collection of a directory.
pub fn stored(
    dir: &Path,
    settings: CollectionSettings,
    storage: &StorageSettings,
) -> Arc<dyn StoredCollection> {
    let (dir, storage) = (dir.to_owned(), storage.clone());
    if server_url().is_some() {
        let open = move |settings: &CollectionSettings, opening: &Opening| {
            let store = store_of(&dir, storage.clone());
            blocking(|| store.default_collection(settings))?.open(opening)
        };
        return Arc::new(Unnamed { settings, open });
    }
    match env::var(BACKEND).as_deref() {
        Err(_) => Arc::new(LocalCollection::new(dir, settings, storage)),
        Ok("memory") => {
            let open = move |settings: &_, opening: &_| open_in_memory(&dir, settings, opening);
            Arc::new(Unnamed { settings, open })
        }
        Ok(other) => panic!("{BACKEND}={other}"),
    }
}

/// A collection that is opened, and never gets another name or settings.
struct Unnamed<F> {
    settings: CollectionSettings,
    open: F,
}

type Opened = Result<(Arc<dyn Backend>, CollectionSettings), BackendError>;

impl<F> StoredCollection for Unnamed<F>
where
    F: Fn(&CollectionSettings, &Opening) -> Opened + Send + Sync,
{
    fn number(&self) -> u64 {
        0
    }

    fn settings(&self) -> &CollectionSettings {
        &self.settings
    }

    fn open(&self, opening: &Opening) -> Opened {
        (self.open)(&self.settings, opening)
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

/// Data stays in memory as if it were in the directory.
fn open_in_memory(dir: &Path, settings: &CollectionSettings, opening: &Opening) -> Opened {
    static KEPT: LazyLock<Mutex<HashMap<PathBuf, Arc<Memory>>>> = LazyLock::new(Mutex::default);
    let seeded = seeded(settings, None)?;
    let scheme = Scheme::new(&seeded.scheme, &seeded.sketch);
    let estimator = scheme.estimator(&seeded.sketch);
    let new = || Arc::new(Memory::new(scheme, estimator, opening.clock.clone()));
    let memory = Arc::clone(KEPT.lock().unwrap().entry(dir.to_owned()).or_insert_with(new));
    Ok((memory, seeded))
}

#[test]
fn the_tests_pass_over_the_backend_in_memory() {
    run_again("memory", &[], NOT_IN_MEMORY);
}

#[test]
fn the_tests_pass_over_postgresql() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let skipped = [NOT_IN_POSTGRES, LONG_OVER_POSTGRES].concat();
    run_again(&server.url("postgres"), &[], &skipped);
}
