//! Whether the system clock is believed when expired documents are removed for good.
//!
//! The clock is compared with the time that has really passed since it was last believed. Across a
//! restart that time is unknown, so the clock is compared with the last believed time alone, which
//! is noted in the file `clock` of the data directory: after a long stop removal waits, too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use crate::storage::read_small;

/// The file has a single number.
const NOTE_BYTES_MAX: u64 = 64;

/// The name of the file with the last believed time, in milliseconds since the epoch.
const NOTE: &str = "clock";

/// Times are milliseconds since the epoch, durations milliseconds.
#[derive(Debug)]
pub(super) struct ClockCheck {
    /// A clock that is further ahead has jumped; 0: it is always believed.
    jump_max_ms: i64,
    /// A clock that stays jumped for so long is believed.
    confirm_ms: i64,
    note: PathBuf,
    /// The last believed time, and the instant of the check.
    believed: (i64, Instant),
    /// How far the clock has jumped, and when the jump was found.
    jump: Option<(i64, Instant)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Believed,
    /// The clock was just found to be ahead by this time.
    Jumped(i64),
    /// The clock is still ahead by this time.
    Waits(i64),
}

impl ClockCheck {
    /// Reads the last believed time. Blocks.
    pub fn start(data_dir: &Path, jump_max_s: u64, confirm_s: u64, now_ms: i64) -> Self {
        let note = data_dir.join(NOTE);
        let noted = read_small(&note, NOTE_BYTES_MAX).ok();
        let noted = noted.and_then(|bytes| str::from_utf8(&bytes).ok()?.trim().parse().ok());
        let ms = |seconds: u64| i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
        Self {
            jump_max_ms: ms(jump_max_s),
            confirm_ms: ms(confirm_s),
            note,
            believed: (noted.unwrap_or(now_ms), Instant::now()),
            jump: None,
        }
    }

    pub fn check(&mut self, now_ms: i64) -> Verdict {
        let now = Instant::now();
        let passed = |since: Instant| now.duration_since(since).as_millis() as i64;
        let (believed_ms, at) = self.believed;
        let ahead_ms = now_ms.saturating_sub(believed_ms).saturating_sub(passed(at));
        let verdict = match self.jump {
            _ if self.jump_max_ms == 0 || ahead_ms <= self.jump_max_ms => Verdict::Believed,
            Some((seen_ms, since)) if ahead_ms.saturating_sub(seen_ms) <= self.jump_max_ms => {
                match passed(since) >= self.confirm_ms {
                    true => Verdict::Believed,
                    false => return Verdict::Waits(ahead_ms),
                }
            }
            _ if self.confirm_ms == 0 => Verdict::Believed,
            _ => Verdict::Jumped(ahead_ms),
        };
        match verdict {
            Verdict::Believed => (self.believed, self.jump) = ((now_ms, now), None),
            Verdict::Jumped(ahead_ms) | Verdict::Waits(ahead_ms) => {
                self.jump = Some((ahead_ms, now));
            }
        }
        verdict
    }

    /// A function that writes down the last believed time. It blocks.
    pub fn note(&self) -> impl FnOnce() -> io::Result<()> + Send + 'static {
        let (note, (believed_ms, _)) = (self.note.clone(), self.believed);
        move || {
            let new = note.with_extension("new");
            fs::write(&new, format!("{believed_ms}\n"))?;
            fs::rename(new, note)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    const HOUR: i64 = 3_600_000;

    fn start(dir: &Path, now_ms: i64) -> ClockCheck {
        ClockCheck::start(dir, 3_600, 1_800, now_ms)
    }

    async fn pass(ms: i64) {
        advance(Duration::from_millis(ms as u64)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_goes_as_time_passes_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let mut check = start(dir.path(), 0);
        pass(100 * HOUR).await;
        assert_eq!(check.check(100 * HOUR), Verdict::Believed);
        // Small corrections, and any backwards.
        assert_eq!(check.check(101 * HOUR), Verdict::Believed);
        assert_eq!(check.check(HOUR), Verdict::Believed);
        assert_eq!(check.check(2 * HOUR), Verdict::Believed);
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_is_believed_only_once_it_has_lasted() {
        let dir = tempfile::tempdir().unwrap();
        let mut check = start(dir.path(), 0);
        assert_eq!(check.check(HOUR + 1), Verdict::Jumped(HOUR + 1));
        pass(HOUR / 4).await;
        assert_eq!(check.check(5 * HOUR / 4 + 1), Verdict::Waits(HOUR + 1));
        // A further jump starts a new confirmation.
        assert_eq!(check.check(9 * HOUR), Verdict::Jumped(9 * HOUR - HOUR / 4));
        pass(HOUR / 2 - 1).await;
        assert!(matches!(check.check(9 * HOUR + HOUR / 2 - 1), Verdict::Waits(_)));
        pass(1).await;
        assert_eq!(check.check(9 * HOUR + HOUR / 2), Verdict::Believed);
        assert_eq!(check.check(10 * HOUR), Verdict::Believed);
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_back_is_believed_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut check = start(dir.path(), 0);
        assert!(matches!(check.check(2 * HOUR), Verdict::Jumped(_)));
        assert_eq!(check.check(1_000), Verdict::Believed);
        assert!(matches!(check.check(2 * HOUR), Verdict::Jumped(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_restart_does_not_make_a_jumped_clock_believed() {
        let dir = tempfile::tempdir().unwrap();
        let mut check = start(dir.path(), 5);
        assert_eq!(check.check(HOUR), Verdict::Believed);
        check.note()().unwrap();
        assert!(matches!(check.check(9 * HOUR), Verdict::Jumped(_)));
        check.note()().unwrap();
        let mut check = start(dir.path(), 9 * HOUR);
        assert_eq!(check.check(9 * HOUR), Verdict::Jumped(8 * HOUR));
        // The operator may say that it is right.
        let mut believing = ClockCheck::start(dir.path(), 3_600, 0, 9 * HOUR);
        assert_eq!(believing.check(9 * HOUR), Verdict::Believed);
        let mut off = ClockCheck::start(dir.path(), 0, 3_600, 9 * HOUR);
        assert_eq!(off.check(90 * HOUR), Verdict::Believed);
    }
}
