//! Shows how far a command is, on stderr.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between two lines where there is no terminal to draw on.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    /// Things of this name.
    Things(&'static str),
}

/// How much is done of what there is to do. Several threads may add to it.
pub struct Meter {
    /// What is being done.
    doing: &'static str,
    unit: Unit,
    /// 0: not known.
    total: u64,
    done: AtomicU64,
    shown: Shown,
}

enum Shown {
    Nothing,
    Bar(ProgressBar),
    /// When the last line was written.
    Lines(Mutex<Instant>),
}

impl Meter {
    pub fn new(quiet: bool, doing: &'static str, unit: Unit, total: u64) -> Self {
        let shown = match (quiet, stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bar(bar(doing, unit, total)),
            (false, false) => Shown::Lines(Mutex::new(Instant::now())),
        };
        Self { doing, unit, total, done: AtomicU64::new(0), shown }
    }

    pub fn add(&self, more: u64) {
        self.set(self.done.fetch_add(more, Ordering::Relaxed) + more);
    }

    /// So much is done now, whatever was done before.
    pub fn set(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => bar.set_position(done),
            Shown::Lines(written_at) => {
                let mut written_at = written_at.lock().expect("nothing panics under the lock");
                if written_at.elapsed() >= LINE_EVERY {
                    *written_at = Instant::now();
                    eprintln!("{}", self.line(done));
                }
            }
        }
    }

    /// Something worth a line of its own, whatever else is shown.
    pub fn tell(&self, line: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.println(line),
            Shown::Nothing | Shown::Lines(_) => eprintln!("{line}"),
        }
    }

    fn line(&self, done: u64) -> String {
        let Self { doing, unit, total, .. } = *self;
        let of = if total > 0 { format!(" of {}", unit.shown(total)) } else { String::new() };
        let name = if let Unit::Things(name) = unit { format!(" {name}") } else { String::new() };
        format!("{doing}: {}{of}{name}", unit.shown(done))
    }
}

/// Whatever became of it, the bar goes.
impl Drop for Meter {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

impl Unit {
    fn shown(self, count: u64) -> String {
        match self {
            Self::Bytes => HumanBytes(count).to_string(),
            Self::Things(_) => HumanCount(count).to_string(),
        }
    }
}

fn bar(doing: &'static str, unit: Unit, total: u64) -> ProgressBar {
    let bar =
        ProgressBar::with_draw_target((total > 0).then_some(total), ProgressDrawTarget::stderr());
    let counted = match (unit, total) {
        (Unit::Bytes, 0) => "{spinner} {msg} {bytes} {bytes_per_sec}",
        (Unit::Bytes, _) => "{msg} {wide_bar} {percent:>3}% {bytes_per_sec}, {eta} left",
        (Unit::Things(_), 0) => "{spinner} {msg} {human_pos} {per_sec}",
        (Unit::Things(_), _) => "{msg} {wide_bar} {human_pos} of {human_len}, {eta} left",
    };
    bar.set_style(ProgressStyle::with_template(counted).expect("the templates are well-formed"));
    bar.set_message(doing);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_of_what() {
        let meter = Meter::new(true, "exporting", Unit::Things("documents"), 12_000);
        assert_eq!(meter.line(1_500), "exporting: 1,500 of 12,000 documents");
        let meter = Meter::new(true, "reading", Unit::Bytes, 0);
        assert_eq!(meter.line(2 << 20), "reading: 2.00 MiB");
    }
}
