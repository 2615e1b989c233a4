//! These tests over PostgreSQL, in a process of its own.

use crate::postgres_server::PostgresServer;
use crate::store_under_test::run_again;

/// The tests that run over PostgreSQL, too, begin so: those of answers that a backend makes, of
/// documents that are added, changed, removed, read, listed, looked up and compared, of collections
/// and their keys, of costs, and of a list whose memory is that of what a backend reads. What is
/// decided before a backend is called is the same code over each of them and tested over local
/// collections alone: bodies, options, refusals, limits, connections, the memory of requests, logs,
/// the console.
const IN_POSTGRES: &[&str] = &[
    "access::a_key_is_valid_in_its_own_collections_only",
    "bulk::",
    "changes::",
    "collections::",
    "conformance::",
    "containment::options_that_contradict_a_measure_are_refused",
    "containment::without_an_index_of_passages_containment_is_refused",
    "costs::",
    "curve::the_default_curve_is_that_of_the_collection",
    "decoys::",
    "discovery::",
    "documents::",
    "failing::an_export_names_damaged_documents_and_is_incomplete",
    "fuzz::",
    "highlights::",
    "lifecycle::",
    "lookups::",
    "measures::",
    "memory::long_lists_are_written_while_they_are_sent",
    "nearest::",
    "operating::stats_have_all_fields",
    "places::the_places_of_an_explanation_are_code_points_of_each_text",
    "previous::",
    "recall::",
    "records::",
    "reindex::",
    "signatures::",
    "thresholds::",
];

/// Of these, the tests of what PostgreSQL lacks.
const NOT_IN_POSTGRES: &[&str] = &[
    // Backups and snapshots, which only local collections have.
    "changes::changes_are_kept_as_long_as_the_setting_says",
    "collections::snapshots_are_of_one_collection",
    // Clusters that are kept up to date.
    "changes::a_reader_knows_the_cluster_of_each_document_also_over_a_restart",
    "changes::a_reader_that_waits_hears_of_a_cluster",
    // Prefix filters.
    "lookups::in_a_prefix_collection_lookups_are_exact",
    // The files of a collection, which are read.
    "bulk::documents_are_stored_in_the_order_of_their_ordinals",
];

#[test]
fn the_tests_pass_over_postgresql() {
    let Some(server) = PostgresServer::start(&["fsync=off", "max_connections=800"]) else { return };
    run_again(&server.url("postgres"), IN_POSTGRES, NOT_IN_POSTGRES);
}
