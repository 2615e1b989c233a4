//! These tests over PostgreSQL, in a process of its own.

use crate::postgres_server::PostgresServer;
use crate::store_under_test::run_again;

/// What is not tested over PostgreSQL: the names of these tests begin so.
const NOT_IN_POSTGRES: &[&str] = &[
    "backends::",
    // Backups and snapshots, which only local collections have.
    "access::a_key_is_valid_in_its_own_collections_only",
    "backup::",
    "changes::changes_are_kept_as_long_as_the_setting_says",
    "collections::snapshots_are_of_one_collection",
    "fuzz::every_request_is_answered_or_refused_by_a_problem",
    "operating::a_snapshot_is_listed_once_it_is_taken",
    "operating::log_rows_are_what_a_start_would_replay",
    // Passages, which are refused when a collection is created.
    "contained::",
    "containment::documents_that_contain_the_probe_or_are_contained_are_found",
    "containment::options_that_contradict_a_measure_are_refused",
    "containment::without_an_index_of_passages_containment_is_refused",
    "passages::",
    "places::the_places_of_an_explanation_are_code_points_of_each_text",
    "places::the_places_of_passages_are_code_points_of_both_texts",
    // Clusters that are kept up to date.
    "changes::a_reader_knows_the_cluster_of_each_document_also_over_a_restart",
    "changes::a_reader_that_waits_hears_of_a_cluster",
    "clusters::a_change_of_metadata_or_expiry_renames_no_cluster",
    "clusters::additions_and_documents_name_their_cluster",
    "clusters::an_import_of_near_copies_is_complete",
    "clusters::kept_clusters_equal_discovered_clusters",
    "clusters::other_thresholds_are_discovered",
    "memory::long_lists_are_written_while_they_are_sent",
    "thresholds::clusters_are_kept_at_indexed_thresholds_only",
    // Prefix filters.
    "lookups::in_a_prefix_collection_lookups_are_exact",
    // Each operation over each kind of collection, also over the kinds that are named above.
    "conformance::every_operation_answers_as_documented",
    // A change is seen once no older transaction runs, also in the databases of other tests.
    "changes::what_was_stored_and_removed_is_told_in_order",
    // The files of a collection: they are read, damaged, or full.
    "bulk::documents_are_stored_in_the_order_of_their_ordinals",
    "connections::a_slow_export_is_aborted_and_frees_the_log",
    "discovery::a_failed_discovery_aborts_its_stream",
    "documents::hashes_made_with_a_secret_seed_are_disguised",
    "failing::a_failed_store_acknowledges_nothing_and_still_reads",
    "failing::an_export_names_damaged_documents_and_is_incomplete",
    "failing::bulk_import_into_a_failed_store_reports_errors",
    "operating::refused_documents_are_counted_by_reason",
];

#[test]
fn the_tests_pass_over_postgresql() {
    let Some(server) = PostgresServer::start(&["fsync=off", "max_connections=800"]) else { return };
    let told = run_again(&server.url("postgres"), NOT_IN_POSTGRES);
    assert!(told.contains("running 23"), "some 230 tests are of PostgreSQL, too: {told}");
}
