//! The lines that a process wrote so far.

use std::sync::{Condvar, Mutex};

#[derive(Default)]
pub struct Log {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Default)]
struct Lines {
    all: Vec<String>,
    /// Those before were searched.
    next: usize,
    is_ended: bool,
}

impl Log {
    pub fn push(&self, line: String) {
        self.lines.lock().unwrap().all.push(line);
        self.changed.notify_all();
    }

    pub fn end(&self) {
        self.lines.lock().unwrap().is_ended = true;
        self.changed.notify_all();
    }

    pub fn text(&self) -> String {
        self.lines.lock().unwrap().all.join("\n")
    }

    /// What the next line that has it has; `None` once no more lines come.
    pub fn find_map<T>(&self, what: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut lines = self.lines.lock().unwrap();
        loop {
            while let Some(line) = lines.all.get(lines.next) {
                let found = what(line);
                lines.next += 1;
                if found.is_some() {
                    return found;
                }
            }
            if lines.is_ended {
                return None;
            }
            lines = self.changed.wait(lines).unwrap();
        }
    }
}
