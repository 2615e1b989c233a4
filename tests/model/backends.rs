//! Games over PostgreSQL, in a process of their own: two of them, each of which takes some ten seconds
//! of processor time, or with `AKIN_MODEL_SECONDS` all that PostgreSQL has the operations for.

use crate::postgres_server::PostgresServer;
use crate::store_under_test::run_again;

const FEW: &[&str] = &["multisets_of_shingles", "records"];

/// What PostgreSQL does not have.
const NOT_IN_POSTGRES: &[&str] = &["backends::", "prefix_filter", "passages_of_texts"];

#[test]
fn the_games_are_won_over_postgresql() {
    let Some(server) = PostgresServer::start(&["fsync=off"]) else { return };
    let is_long = std::env::var_os("AKIN_MODEL_SECONDS").is_some();
    let selected = if is_long { &[][..] } else { FEW };
    run_again(&server.url("postgres"), selected, NOT_IN_POSTGRES);
}
