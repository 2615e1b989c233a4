//! Shows how far a join is, from a thread beside it.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::cli::failure::Failure;
use crate::cli::meter::{Meter, Unit};
use crate::join::{JoinError, Progress, Stage};

const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Does the work, which tells its progress.
///
/// # Errors
/// A set could not be read back.
pub fn watched<T>(
    quiet: bool,
    work: impl FnOnce(&Progress) -> Result<T, JoinError<io::Error>>,
) -> Result<T, Failure> {
    let progress = Progress::default();
    let done = thread::scope(|scope| {
        let (over, waiting) = channel::<()>();
        scope.spawn(|| {
            let mut shown = None;
            while waiting.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                show(&progress, quiet, &mut shown);
            }
            drop(waiting);
        });
        let done = work(&progress);
        drop(over);
        done
    });
    done.map_err(|error| Failure::new(format!("the sets cannot be read back: {error}")))
}

/// Each stage has a meter of its own.
fn show(progress: &Progress, quiet: bool, shown: &mut Option<(Stage, Meter)>) {
    let (stage, (done, total)) = (progress.stage(), progress.get());
    if shown.as_ref().is_none_or(|(known, _)| *known != stage) {
        let (doing, unit) = match stage {
            Stage::Reading => ("reading", "documents"),
            Stage::Counting => ("counting shingles", "sets"),
            Stage::Filing => ("filing", "keys"),
            Stage::Joining => ("comparing", "sets"),
            Stage::Giving => ("writing", "documents"),
        };
        *shown = Some((stage, Meter::new(quiet, doing, Unit::Things(unit), total)));
    }
    if let Some((_, meter)) = shown {
        meter.set(done);
    }
}
