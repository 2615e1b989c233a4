//! The memory and the work of the request on whose behalf a task works. Code that takes memory or
//! causes work counts it here, wherever it is called from; on behalf of no request nothing is
//! counted.
//!
//! Threads of their own do not know the request of the task that waits for them: `handed_over`.

use std::sync::Arc;

use crate::budget::{Exhausted, Reservation};

tokio::task_local! {
    static MEMORY: Option<Arc<Reservation>>;
}

/// Works on behalf of the request of a reservation, or of no request.
pub async fn within<F: Future>(memory: Option<Arc<Reservation>>, work: F) -> F::Output {
    MEMORY.scope(memory, work).await
}

/// Works with a reservation beside the request's, which ends with the work.
///
/// # Errors
/// [`Exhausted`], and the errors of the work.
pub async fn apart<T, E: From<Exhausted>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    within(another(0)?.map(Arc::new), work).await
}

/// The reservation of the current task's request.
#[must_use]
pub fn current() -> Option<Arc<Reservation>> {
    MEMORY.try_with(Clone::clone).ok().flatten()
}

/// Work on behalf of the current task's request, for another thread.
pub(crate) fn handed_over<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let memory = current();
    move || MEMORY.sync_scope(memory, work)
}

/// Counts work that is about to be caused.
///
/// # Errors
/// [`Exhausted`]
pub fn charge(units: usize) -> Result<(), Exhausted> {
    with(|memory| memory.charge(units))
}

/// Reserves further bytes.
///
/// # Errors
/// [`Exhausted`]
pub fn reserve(bytes: usize) -> Result<(), Exhausted> {
    with(|memory| memory.grow(bytes))
}

/// Reserves bytes that are held for a shorter time.
///
/// # Errors
/// [`Exhausted`]
pub fn another(bytes: usize) -> Result<Option<Reservation>, Exhausted> {
    current().map(|memory| memory.another(bytes)).transpose()
}

fn with(count: impl FnOnce(&Reservation) -> Result<(), Exhausted>) -> Result<(), Exhausted> {
    let counted = MEMORY.try_with(|memory| memory.as_deref().map_or(Ok(()), count));
    counted.unwrap_or(Ok(()))
}
