//! Log lines on their way to stderr. To write each by itself, as requests end, is a system call
//! under a lock that all threads share: so they are gathered for a moment and written together.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// How long a line waits for others.
const GATHERING: Duration = Duration::from_millis(10);

/// From so many bytes on, whoever adds a line writes all of them, so that they don't pile up.
const WAITING_BYTES_MAX: usize = 256 << 10;

/// Where lines are gathered; a clone is another handle on the same. A warning or an error is
/// written at once, with all before it; and what waits when the process is killed is lost.
pub(super) struct Lines<W>(Arc<Gathered<W>>);

impl<W> Clone for Lines<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Gathered<W> {
    waiting: Mutex<Waiting<W>>,
    added: Condvar,
}

struct Waiting<W> {
    bytes: Vec<u8>,
    out: W,
}

impl<W: Write> Waiting<W> {
    /// If it cannot be written there is nobody to tell.
    fn write_out(&mut self) {
        let _ = self.out.write_all(&self.bytes);
        self.bytes.clear();
    }
}

impl<W: Write + Send + 'static> Lines<W> {
    /// Starts the thread that writes, which ends with the process.
    ///
    /// # Panics
    /// If no thread can be started.
    pub fn start(out: W) -> Self {
        let waiting = Mutex::new(Waiting { bytes: Vec::new(), out });
        let lines = Self(Arc::new(Gathered { waiting, added: Condvar::new() }));
        let written = lines.clone();
        let writing = move || {
            loop {
                written.0.write_next();
            }
        };
        let thread = thread::Builder::new().name("akin-log".to_owned()).spawn(writing);
        thread.expect("a process that has just begun may start a thread");
        lines
    }

    /// Writes what waits.
    pub fn flush(&self) {
        self.0.waiting().write_out();
    }
}

impl<W: Write> Gathered<W> {
    fn write_next(&self) {
        let is_idle = |waiting: &mut Waiting<W>| waiting.bytes.is_empty();
        drop(self.added.wait_while(self.waiting(), is_idle));
        thread::sleep(GATHERING);
        self.waiting().write_out();
    }

    fn add(&self, line: &[u8], at_once: bool) {
        let mut waiting = self.waiting();
        let is_first = waiting.bytes.is_empty();
        waiting.bytes.extend_from_slice(line);
        if at_once || waiting.bytes.len() > WAITING_BYTES_MAX {
            waiting.write_out();
        } else if is_first {
            drop(waiting);
            self.added.notify_one();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<W>> {
        // At worst a line is written twice.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes one event, which comes in one piece.
pub(super) struct Line<'a, W> {
    lines: &'a Gathered<W>,
    at_once: bool,
}

impl<W: Write> Write for Line<'_, W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.add(line, self.at_once);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a, W: Write + 'a> MakeWriter<'a> for Lines<W> {
    type Writer = Line<'a, W>;

    fn make_writer(&'a self) -> Line<'a, W> {
        Line { lines: &self.0, at_once: true }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> Line<'a, W> {
        Line { lines: &self.0, at_once: *event.level() <= Level::WARN }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    struct Sent(mpsc::Sender<Vec<u8>>);

    impl Write for Sent {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_owned()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_though_none_follows_and_a_warning_with_all_before_it() {
        let (sender, written) = mpsc::channel();
        let lines = Lines::start(Sent(sender));
        lines.0.add(b"one\n", false);
        assert_eq!(written.recv().unwrap(), b"one\n");
        lines.0.add(b"two\n", false);
        lines.0.add(b"warning\n", true);
        let rest = written.recv().unwrap();
        assert!(rest.starts_with(b"two\n"));
        lines.flush();
    }
}
