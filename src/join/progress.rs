//! How far the work has come, and how it is stopped.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Shared by who works and who watches.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    found: AtomicU64,
    stopped: AtomicBool,
}

/// What a join is doing; each stage counts its own steps. `reading`: documents; `counting`: how
/// often elements occur; `filing`: sets under keys; `joining`: sets that share keys; `giving`:
/// results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Stage {
    /// Documents are being read.
    Reading,
    /// Elements are being counted, of each set.
    Counting,
    /// Sets are being put into buckets.
    Filing,
    /// The neighbours of each set are being found.
    Joining,
    /// What was found is being given out.
    Giving,
}

/// The work was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

/// Why a join did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum JoinError<E> {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A set could not be read.
    #[error("{0}")]
    Sets(E),
}

impl Progress {
    pub fn begin(&self, stage: Stage, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// So much more is done.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn advance(&self, done: u64) -> Result<(), Stopped> {
        self.done.fetch_add(done, Ordering::Relaxed);
        self.go_on()
    }

    /// Another pair or cluster.
    pub fn add_found(&self, found: u64) {
        self.found.fetch_add(found, Ordering::Relaxed);
    }

    /// # Errors
    /// [`Stopped`], once [`Progress::stop`] was called.
    pub fn go_on(&self) -> Result<(), Stopped> {
        if self.stopped.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }

    /// Whoever works stops soon and leaves the rest undone.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::Reading,
            1 => Stage::Counting,
            2 => Stage::Filing,
            3 => Stage::Joining,
            _ => Stage::Giving,
        }
    }

    /// What is done of the stage, and how much that will be in the end (0 while unknown).
    pub fn get(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// Pairs or clusters found so far.
    pub fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }
}
