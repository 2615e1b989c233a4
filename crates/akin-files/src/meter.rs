//! Progress on stderr: a bar on a terminal, a line every few seconds elsewhere.

use std::borrow::Cow;
use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{
    FormattedDuration, HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle,
};

use super::interrupt;

const REDRAW_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(5);
/// The rate is not known before.
const ESTIMATED_AFTER: Duration = Duration::from_secs(1);

/// What progress counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Bytes,
    /// The plural of a noun.
    Things(&'static str),
}

/// Shows the progress of work. Several threads may advance it.
pub struct Meter {
    doing: &'static str,
    quantity: Quantity,
    bar: ProgressBar,
    /// When the last line was written, if lines replace the bar.
    last_line: Option<Mutex<Instant>>,
    ended: AtomicBool,
}

impl Meter {
    /// `total`: 0 if it is not known.
    pub fn new(quiet: bool, doing: &'static str, quantity: Quantity, total: u64) -> Self {
        let terminal = stderr().is_terminal();
        let target = match terminal && !quiet {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target).with_prefix(doing);
        let last_line = (!terminal && !quiet).then(|| Mutex::new(Instant::now()));
        let meter = Self { doing, quantity, bar, last_line, ended: AtomicBool::new(false) };
        meter.set_total(total);
        if !meter.bar.is_hidden() {
            meter.bar.enable_steady_tick(REDRAW_EVERY);
        }
        let bar = meter.bar.clone();
        interrupt::show(Some(Box::new(move || line(doing, quantity, &bar))));
        meter
    }

    pub fn set_total(&self, total: u64) {
        let template = match (self.quantity, total) {
            (Quantity::Bytes, 0) => "{spinner} {prefix} {bytes} {bytes_per_sec} {msg}",
            (Quantity::Bytes, _) => {
                "{prefix} {wide_bar} {percent:>3}% {bytes_per_sec}, {eta} {msg}"
            }
            (Quantity::Things(_), 0) => "{spinner} {prefix} {human_pos} {per_sec} {msg}",
            (Quantity::Things(_), _) => {
                "{prefix} {wide_bar} {human_pos} of {human_len}, {eta} {msg}"
            }
        };
        let style = ProgressStyle::with_template(template).expect("the templates are well-formed");
        self.bar.set_style(style);
        if total > 0 {
            self.bar.set_length(total);
        }
    }

    pub fn add(&self, more: u64) {
        self.bar.inc(more);
        self.write_line_if_due();
    }

    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
        self.write_line_if_due();
    }

    fn write_line_if_due(&self) {
        let Some(last_line) = &self.last_line else { return };
        let mut last_line = last_line.lock().expect("nothing panics under the lock");
        if last_line.elapsed() >= LINE_EVERY && !self.has_ended() {
            *last_line = Instant::now();
            eprintln!("{}", self.line());
        }
    }

    /// The text after the count.
    pub fn set_message(&self, message: impl Into<Cow<'static, str>>) {
        self.bar.set_message(message);
    }

    /// Writes a line of its own to stderr, unless the meter has ended.
    pub fn print(&self, line: &str) {
        if !self.has_ended() {
            self.bar.suspend(|| eprintln!("{line}"));
        }
    }

    /// Removes the bar. Nothing is shown or printed afterwards, even if other threads go on.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        interrupt::show(None);
        self.bar.finish_and_clear();
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn line(&self) -> String {
        line(self.doing, self.quantity, &self.bar)
    }
}

fn line(doing: &str, quantity: Quantity, bar: &ProgressBar) -> String {
    let shown = |count| match quantity {
        Quantity::Bytes => HumanBytes(count).to_string(),
        Quantity::Things(_) => HumanCount(count).to_string(),
    };
    let mut line = format!("{doing}: {}", shown(bar.position()));
    if let Some(total) = bar.length() {
        line.push_str(" of ");
        line.push_str(&shown(total));
    }
    if let Quantity::Things(name) = quantity {
        line.push(' ');
        line.push_str(name);
    }
    if let Some(left) = time_left(bar.elapsed(), bar.position(), bar.length().unwrap_or(0)) {
        line.push_str(", ");
        line.push_str(&FormattedDuration(left).to_string());
        line.push_str(" left");
    }
    match bar.message() {
        message if message.is_empty() => line,
        message => format!("{line}: {message}"),
    }
}

/// The time that the rest takes at the average rate so far.
fn time_left(elapsed: Duration, done: u64, total: u64) -> Option<Duration> {
    if elapsed < ESTIMATED_AFTER || done == 0 || done > total {
        return None;
    }
    Some(elapsed.mul_f64((total - done) as f64 / done as f64))
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_lines_have_count_and_unit() {
        let meter = Meter::new(true, "exporting", Quantity::Things("documents"), 12_000);
        meter.add(1_500);
        assert_eq!(meter.line(), "exporting: 1,500 of 12,000 documents");
        let meter = Meter::new(true, "reading", Quantity::Bytes, 0);
        meter.set(2 << 20);
        assert_eq!(meter.line(), "reading: 2.00 MiB");
        meter.set_total(4 << 20);
        meter.set_message("7 failed");
        assert_eq!(meter.line(), "reading: 2.00 MiB of 4.00 MiB: 7 failed");
    }

    #[test]
    fn the_time_left_follows_from_the_average_rate() {
        let left = |seconds, done, total| {
            time_left(Duration::from_secs(seconds), done, total).map(|left| left.as_secs())
        };
        assert_eq!(left(30, 1_500, 6_000), Some(90));
        assert_eq!(left(30, 6_000, 6_000), Some(0));
        for (seconds, done, total) in [(0, 10, 20), (30, 0, 20), (30, 10, 0)] {
            assert_eq!(left(seconds, done, total), None);
        }
    }
}
