//! Documents that are written while something happens.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::servers::{Servers, add};

const WRITERS: usize = 8;
/// Before a document that was refused is sent again.
const PAUSE: Duration = Duration::from_millis(50);

/// What became of the documents.
#[derive(Default)]
pub struct Tally {
    /// The ids of those that were acknowledged.
    pub acknowledged: Vec<String>,
    /// Those that were refused when the load ended: they may be there or not.
    pub open: Vec<String>,
    /// Refusals. Each document is sent again until it is acknowledged.
    pub refused: usize,
    /// The longest time in which nothing was acknowledged.
    pub outage: Duration,
}

impl Tally {
    pub fn print(&self, what: &str, lost: usize) {
        eprintln!(
            "{what}: {} acknowledged, {lost} lost; {} refusals, for {} ms none was acknowledged",
            self.acknowledged.len(),
            self.refused,
            self.outage.as_millis()
        );
    }
}

/// A writer, which ends once it is told to.
struct Load<'s> {
    servers: &'s Servers,
    /// What the ids begin with.
    name: &'s str,
    ends: AtomicBool,
    written: AtomicUsize,
    tally: Mutex<(Tally, Instant)>,
}

/// Writes through all servers while `meanwhile` runs, which gets a function that waits for so many
/// further documents to be acknowledged.
///
/// # Panics
/// If a document is neither acknowledged nor refused with 503 and a time to retry.
pub fn under_load(servers: &Servers, name: &str, meanwhile: impl FnOnce(&dyn Fn(usize))) -> Tally {
    let tally = Mutex::new((Tally::default(), Instant::now()));
    let (ends, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let load = Load { servers, name, ends, written, tally };
    let load = &load;
    thread::scope(|scope| {
        let writers: Vec<_> =
            (0..WRITERS).map(|number| scope.spawn(move || load.write(number))).collect();
        let more = |count: usize| {
            let until = load.written.load(Ordering::Relaxed) + count;
            crate::valkey_nodes::poll("documents are acknowledged", || {
                let has_failed = writers.iter().any(thread::ScopedJoinHandle::is_finished);
                assert!(!has_failed, "a writer has failed");
                load.written.load(Ordering::Relaxed) >= until
            });
        };
        // The writers end also if it fails.
        let _end = Ends(&load.ends);
        meanwhile(&more);
    });
    let tally = &mut load.tally.lock().unwrap().0;
    std::mem::take(tally)
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Load<'_> {
    fn write(&self, writer: usize) {
        let caller = &self.servers.callers[writer % self.servers.callers.len()];
        for number in 0.. {
            let id = format!("{}w{writer}n{number}", self.name);
            loop {
                let ends = self.ends.load(Ordering::Relaxed);
                let answer = add(caller, &id);
                if matches!(answer.status, 200 | 201) {
                    self.acknowledge(id);
                    break;
                }
                let may_refuse = answer.status == 503 && answer.says_when_to_retry;
                assert!(may_refuse, "{}: {}", answer.status, answer.body);
                let tally = &mut self.tally.lock().unwrap().0;
                tally.refused += 1;
                if ends {
                    tally.open.push(id);
                    return;
                }
                thread::sleep(PAUSE);
            }
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    fn acknowledge(&self, id: String) {
        self.written.fetch_add(1, Ordering::Relaxed);
        let (tally, last) = &mut *self.tally.lock().unwrap();
        tally.acknowledged.push(id);
        tally.outage = tally.outage.max(last.elapsed());
        *last = Instant::now();
    }
}
