//! The directories of local collections, for commands that read or build them while no server has
//! them open.

pub(crate) use super::local::files;
pub use crate::storage::{
    DirectoryLock, Expected, Finding, Inspection, StorageError, StorageSettings, Store, check_room,
    inspect, lock_directory, lock_existing, read_small, stored_identity,
};
