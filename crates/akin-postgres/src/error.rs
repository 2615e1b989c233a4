//! The failures of the database as errors of a backend.

use akin_engine::backend::BackendError;
use tokio_postgres::error::SqlState;

use crate::database::reason;

/// Whether a connection can be used after this error: the server answered, and goes on.
pub(crate) fn is_answer(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().map(tokio_postgres::error::DbError::severity);
    !error.is_closed() && severity.is_some_and(|severity| severity == "ERROR")
}

/// The error of a failed call. Nothing is known of a write on a failed connection: it is repeated
/// by the client, and then stored once.
#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
pub(crate) fn failed(error: tokio_postgres::Error) -> BackendError {
    let of_database = |reason| BackendError::OutOfService { reason };
    let message = reason(&error);
    let Some(state) = error.code() else {
        return of_database(format!("the database cannot be reached: {message}"));
    };
    match state.code() {
        "AK001" => BackendError::Closed,
        // Another server was first to take a name, or to give it away.
        "AK002" | "23505" => BackendError::Superseded,
        _ if *state == SqlState::DISK_FULL => {
            let reason = "the disk of the database is full".to_owned();
            BackendError::NoRoom { reason }
        }
        _ if *state == SqlState::OUT_OF_MEMORY => of_database(format!(
            "the database has no memory for the locks of a write: raise its \
             max_locks_per_transaction ({message})"
        )),
        "2200H" => BackendError::OrdinalsExhausted,
        // A connection, resources, an operator, or another transaction was in the way.
        code if ["08", "40", "53", "55", "57"].contains(&&code[..2]) => {
            of_database(format!("the database refuses the request for now: {message}"))
        }
        "25006" => of_database("the database accepts no writes: it is a standby".to_owned()),
        "28P01" | "28000" | "3D000" => of_database(message),
        code => BackendError::Store { reason: format!("the database: {message} ({code})") },
    }
}

/// A call that waited for a connection as long as it may.
pub(crate) fn busy() -> BackendError {
    let reason = "all connections to the database are taken (storage.scans_max limits those that \
                  read whole collections)";
    BackendError::OutOfService { reason: reason.to_owned() }
}

/// A call that took longer than it may.
pub(crate) fn late() -> BackendError {
    let reason = "the database did not answer in time (postgres.timeout_ms)".to_owned();
    BackendError::OutOfService { reason }
}
