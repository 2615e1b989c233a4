//! The documents that are being added or removed, in their order of arrival.
//!
//! A document gets an [`Arrival`] before its near-duplicates are looked up, and ends it once it is
//! in the index or withdrawn. So of two documents added concurrently, the later document finds the
//! earlier either here or in the index. Documents only wait for earlier documents, so there are no
//! deadlocks.

mod queue;
mod sets;

// The queue takes them from here, so that tests can substitute other types.
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

pub(crate) use queue::{Arrival, InFlight};

/// The outcome of a document in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Undecided,
    Stored,
    Withdrawn,
}

/// Waits until a document in flight is stored (`true`) or withdrawn.
pub(crate) async fn was_stored(mut outcome: watch::Receiver<Outcome>) -> bool {
    let decided = outcome.wait_for(|outcome| *outcome != Outcome::Undecided).await;
    decided.is_ok_and(|outcome| *outcome == Outcome::Stored)
}

#[cfg(test)]
mod tests;
