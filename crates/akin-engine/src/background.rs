//! Work on threads of lower priority than the threads that answer requests, so that requests find a
//! core while long work is running.
//!
//! Bulk imports, measurements of recall, discoveries and the linking of kept clusters run on the
//! background's runtime as a whole. Long computations of a request run there, too, as many at a
//! time as there are cores; clients take [turns] for them.

pub mod request;
pub mod turns;

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::{AbortHandle, JoinError, JoinHandle};

use turns::Turns;

/// The priority of these threads, from 0 (the usual priority) to 19: while threads of the usual
/// priority have work, a background thread gets a tenth of the time of one of them.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

struct Background {
    runtime: Runtime,
    /// A permit for each core.
    computations: Arc<Turns>,
}

/// How long an idle thread is kept: always, as the system may refuse a new thread later.
const KEPT: Duration = Duration::from_secs(u64::MAX >> 32);

/// Starts the threads of tasks and one thread for blocking work. With these threads the background
/// works on, though slower, when the system has no more threads.
pub fn start() {
    drop(background().runtime.spawn_blocking(|| ()));
}

/// The background of the process, created on first use.
fn background() -> &'static Background {
    static BACKGROUND: OnceLock<Background> = OnceLock::new();
    BACKGROUND.get_or_init(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(cores)
            .thread_name("akin-background")
            .on_thread_start(lower_priority)
            .thread_keep_alive(KEPT)
            .enable_all()
            .build();
        let runtime = runtime.expect("the runtime of the process could be made, too");
        Background { runtime, computations: Turns::new(cores) }
    })
}

/// Only Linux has a priority for each thread; new threads inherit the priority of their parent.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "cannot lower the priority of a background thread");
    }
}

/// Runs a task in the background, on behalf of the client and the request of the current task.
pub fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let task = request::within(request::current(), task);
    background().runtime.spawn(turns::on_behalf_of(turns::current(), task))
}

/// Runs long work that may block on a thread of the background.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    background().runtime.spawn_blocking(request::handed_over(work))
}

/// Runs a task in the background, and stops it when the future is dropped.
///
/// # Errors
/// The task panicked, or the process is ending.
pub async fn run<T: Send + 'static>(
    task: impl Future<Output = T> + Send + 'static,
) -> Result<T, JoinError> {
    let running = spawn(task);
    let _stop = AbortOnDrop(running.abort_handle());
    running.await
}

/// Computes on a thread of the background. The work must not wait for other work, because it holds
/// one of as many permits as there are cores. Clients take turns for the permits.
///
/// # Errors
/// The work panicked, or the process is ending.
pub async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let background = background();
    let turn = background.computations.take().await;
    let work = request::handed_over(work);
    let computed = background.runtime.spawn_blocking(move || {
        // Held until the work has ended, even if the caller has gone.
        let _turn = turn;
        work()
    });
    computed.await
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    #[cfg(target_os = "linux")]
    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn background_threads_have_a_lower_priority() {
        let own = niceness();
        let lowered = own.max(NICENESS);
        assert_eq!(spawn(async { niceness() }).await.unwrap(), lowered);
        assert_eq!(spawn_blocking(niceness).await.unwrap(), lowered);
        assert_eq!(compute(niceness).await.unwrap(), lowered);
        let started = || thread::spawn(niceness).join().unwrap();
        assert_eq!(compute(started).await.unwrap(), lowered, "they inherit it");
        assert_eq!(niceness(), own);
    }

    #[tokio::test]
    async fn no_more_computations_than_cores_run_at_once() {
        let cores = thread::available_parallelism().unwrap().get();
        let running = Arc::new(AtomicUsize::new(0));
        let computed = (0..cores * 8).map(|_| {
            let running = Arc::clone(&running);
            compute(move || {
                let at_once = running.fetch_add(1, Ordering::SeqCst) + 1;
                thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                at_once
            })
        });
        let most = futures_util::future::join_all(computed).await.into_iter().map(Result::unwrap);
        assert!(most.max().unwrap() <= cores);
    }

    #[tokio::test]
    async fn a_dropped_task_stops() {
        let (never, stopped) = oneshot::channel::<()>();
        let waiting = run(async move {
            std::future::pending::<()>().await;
            drop(never);
        });
        drop(tokio::time::timeout(std::time::Duration::ZERO, waiting).await);
        assert!(stopped.await.is_err(), "its sender is dropped with it");
    }
}
