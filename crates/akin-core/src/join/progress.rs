//! Progress and cancellation of a join.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Shared by the working thread and its observers.
#[derive(Debug, Default)]
pub struct JoinProgress {
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    found: AtomicU64,
    stopped: AtomicBool,
}

/// The stage of a join; each stage counts its own steps. `reading`: documents; `counting`:
/// occurrences of elements; `filing`: sets by keys; `joining`: sets that share keys; `giving`:
/// results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Stage {
    /// Reading documents.
    Reading,
    /// Counting the elements of each set.
    Counting,
    /// Putting sets into buckets.
    Filing,
    /// Finding the neighbours of each set.
    Joining,
    /// Returning the results.
    Giving,
}

/// The join was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

/// Why a join failed.
#[derive(Debug, thiserror::Error)]
pub enum JoinError<E> {
    /// The join was cancelled.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A set could not be read.
    #[error("{0}")]
    Sets(E),
}

impl JoinProgress {
    /// Begins a stage with a total number of steps.
    pub fn begin(&self, stage: Stage, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// Adds to the steps done.
    ///
    /// # Errors
    /// [`Stopped`], once the join was cancelled.
    #[inline]
    pub fn advance(&self, done: u64) -> Result<(), Stopped> {
        self.done.fetch_add(done, Ordering::Relaxed);
        self.go_on()
    }

    /// Adds to the pairs or clusters found.
    #[inline]
    pub fn add_found(&self, found: u64) {
        self.found.fetch_add(found, Ordering::Relaxed);
    }

    /// # Errors
    /// [`Stopped`], once [`JoinProgress::stop`] was called.
    #[inline]
    pub fn go_on(&self) -> Result<(), Stopped> {
        if self.stopped.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }

    /// Cancels the join, which ends soon afterwards.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The current stage.
    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::Reading,
            1 => Stage::Counting,
            2 => Stage::Filing,
            3 => Stage::Joining,
            _ => Stage::Giving,
        }
    }

    /// The steps done in this stage, and their total (0 while unknown).
    pub fn get(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// The number of pairs or clusters found so far.
    pub fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }
}
