//! The games over PostgreSQL, in a process of their own.

use crate::postgres_server::PostgresServer;
use crate::store_under_test::run_again;

/// What PostgreSQL does not have.
const NOT_IN_POSTGRES: &[&str] = &["backends::", "prefix_filter", "passages_of_texts"];

#[test]
fn the_games_are_won_over_postgresql() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let told = run_again(&server.url("postgres"), &[], NOT_IN_POSTGRES);
    assert!(told.contains("running 6 tests"), "{told}");
}
