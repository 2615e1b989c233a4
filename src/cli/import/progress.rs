//! Shows how far an import is, on stderr.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::report::Report;

/// Between two lines where there is no terminal to draw on.
const LINE_EVERY: Duration = Duration::from_secs(5);

pub struct Progress {
    shown: Shown,
    verbose: bool,
    /// Nothing is shown or told any more.
    ended: AtomicBool,
}

enum Shown {
    Nothing,
    Bar(ProgressBar),
    /// When the last line was written, and the bytes there are, if known.
    Lines(Mutex<(Instant, Option<u64>)>),
}

impl Progress {
    pub fn new(quiet: bool, verbose: bool) -> Self {
        let shown = match (quiet, stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bar(bar()),
            (false, false) => Shown::Lines(Mutex::new((Instant::now(), None))),
        };
        Self { shown, verbose, ended: AtomicBool::new(false) }
    }

    /// The bytes to read are known now.
    pub fn set_bytes_total(&self, total: u64) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                bar.set_style(style("{wide_bar} {percent:>3}% {bytes_per_sec}, {eta} left"));
                bar.set_length(total);
            }
            Shown::Lines(state) => {
                state.lock().expect("nothing panics under the lock").1 = Some(total);
            }
        }
    }

    pub fn update(&self, report: &Report, bytes_read: u64) {
        if self.ended.load(Ordering::Relaxed) {
            return;
        }
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                bar.set_position(bytes_read);
                bar.set_message(counts(report));
            }
            Shown::Lines(state) => {
                let mut state = state.lock().expect("nothing panics under the lock");
                if state.0.elapsed() < LINE_EVERY {
                    return;
                }
                state.0 = Instant::now();
                let total = state.1.map_or(String::new(), |t| format!(" of {}", HumanBytes(t)));
                eprintln!("{}{total}: {}", HumanBytes(bytes_read), counts(report));
            }
        }
    }

    /// Something worth a line of its own, whatever else is shown.
    pub fn tell(&self, line: &str) {
        if self.ended.load(Ordering::Relaxed) {
            return;
        }
        match &self.shown {
            Shown::Bar(bar) => bar.println(line),
            Shown::Nothing | Shown::Lines(_) => eprintln!("{line}"),
        }
    }

    /// Something that only those who ask for it want to know.
    pub fn tell_if_verbose(&self, line: impl FnOnce() -> String) {
        if self.verbose {
            self.tell(&line());
        }
    }

    /// Whatever an import that goes on has to say, nobody wants to know any more.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style("{spinner} {bytes} {bytes_per_sec}"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn style(first_line: &str) -> ProgressStyle {
    ProgressStyle::with_template(&format!("{first_line}\n{{msg}}"))
        .expect("the templates in this file are well-formed")
}

fn counts(report: &Report) -> String {
    let documents = &report.documents;
    let failed = match documents.failed {
        0 => String::new(),
        some => format!(", {} failed", HumanCount(some)),
    };
    format!(
        "{} files, {} documents, {} with near-duplicates{failed}",
        HumanCount(report.files),
        HumanCount(documents.taken()),
        HumanCount(report.with_duplicates)
    )
}
