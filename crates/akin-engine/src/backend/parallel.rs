//! Work shared by all CPU cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The number of CPU cores.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` with each number below `pieces`, on all cores, each of which has a `state` of its
/// own. After a failure no further pieces are started.
///
/// # Errors
/// One of the errors returned by `work`.
pub(crate) fn share_out<S, E: Send>(
    pieces: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let do_some = || {
        let mut state = state();
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return Ok(());
            }
            if let Err(error) = work(&mut state, piece) {
                next.store(pieces, Ordering::Relaxed);
                return Err(error);
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores().min(pieces)).map(|_| scope.spawn(do_some)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).fold(Ok(()), Result::and)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_piece_is_done_once() {
        let done = Mutex::new(Vec::new());
        share_out::<_, ()>(
            100,
            || (),
            |(), piece| {
                done.lock().unwrap().push(piece);
                Ok(())
            },
        )
        .unwrap();
        let done = done.into_inner().unwrap();
        assert_eq!(done.len(), 100);
        assert_eq!(done.into_iter().collect::<BTreeSet<_>>(), (0..100).collect());
    }

    #[test]
    fn a_failure_is_returned_and_ends_the_work() {
        let done = AtomicUsize::new(0);
        let outcome = share_out(
            1_000_000,
            || (),
            |(), piece| {
                done.fetch_add(1, Ordering::Relaxed);
                if piece == 10 { Err(piece) } else { Ok(()) }
            },
        );
        assert_eq!(outcome, Err(10));
        assert!(done.into_inner() < 1_000_000);
    }
}
