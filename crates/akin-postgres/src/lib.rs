//! Collections of documents in PostgreSQL: documents, sketches and postings in tables of the schema
//! `akin`, true by transactions. Any number of servers uses a database at the same time.
//!
//! In reading order:
//!
//! - `migrations/`: the tables, and the functions that change them.
//! - `database`, `error`, `pool`: the URL, connections, their failures and deadlines.
//! - `migration`, `checks`: the steps of a start.
//! - `coalescing`: requests that wait at the same time share a call.
//! - `shared`, `maintenance`: the connections of a process and the work on them.
//! - `collections`: the collections of a database.
//! - `backend`: a collection as the engine sees it; `lookup`, `rows`, `scan`, `view`, `removal`,
//!   `pausing` and `changes` have its operations, and `reading` the calls that lookups share.
//! - `adding`, `batch`, `arguments`: documents that are added together.

mod adding;
mod arguments;
mod backend;
mod batch;
mod changes;
mod checks;
mod coalescing;
mod collections;
mod database;
mod error;
mod found;
mod lookup;
mod maintenance;
mod migration;
mod pausing;
mod pool;
mod reading;
mod removal;
mod rows;
mod scan;
mod shared;
mod view;

pub use collections::PostgresStore;
pub use shared::ConnectionSettings;
