//! What is printed and checked.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use crate::client::{Call, Calls};
use crate::memory::Memory;

/// Of the client that sends more than the rate of its key.
pub const GREEDY: &str = "more than its rate";

#[derive(Default)]
pub struct Figures {
    pub seconds: u64,
    pub memory: Memory,
    pub calls: Calls,
}

impl Figures {
    pub fn add(&mut self, calls: Calls) {
        for (operation, mut calls) in calls {
            self.calls.entry(operation).or_default().append(&mut calls);
        }
    }

    /// No answer but successes, documents that are not there, and refusals for a while.
    pub fn check(&self) {
        let (mut refused, mut limited) = (0, false);
        for (operation, calls) in &self.calls {
            for call in calls {
                match call.status {
                    200..300 => {}
                    404 if ["get", "remove"].contains(operation) => {}
                    // Its time came before the server read it.
                    422 if *operation == "add expiring" => {}
                    429 | 503 => {
                        assert!(call.says_when_to_retry, "{operation}: {call:?}");
                        refused += 1;
                        limited |= *operation == GREEDY && call.status == 429;
                    }
                    status => panic!("{operation} was answered {status}"),
                }
            }
            assert!(calls.iter().copied().any(is_served), "{operation} was never served");
        }
        assert!(refused > 0 && limited, "the limits were reached");
    }
}

fn is_served(call: Call) -> bool {
    call.status < 300
}

impl Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:24} {:>8} {:>9} {:>9}  statuses",
            "operation", "served", "p50 ms", "p99 ms"
        )?;
        for (operation, calls) in &self.calls {
            let served = calls.iter().filter(|call| is_served(**call));
            let mut times: Vec<u32> = served.map(|call| call.microseconds).collect();
            times.sort_unstable();
            let at = |share: f64| {
                let time = times.get((times.len() as f64 * share) as usize).copied();
                f64::from(time.unwrap_or_default()) / 1_000.0
            };
            let mut statuses = BTreeMap::<u16, usize>::new();
            for call in calls {
                *statuses.entry(call.status).or_default() += 1;
            }
            let count = times.len();
            let (p50, p99) = (at(0.5), at(0.99));
            writeln!(f, "{operation:24} {count:>8} {p50:>9.2} {p99:>9.2}  {statuses:?}")?;
        }
        let (memory, seconds) = (&self.memory, self.seconds);
        let (most, slope) = (memory.most_kib(), memory.slope());
        writeln!(f, "{seconds} s; memory by tenths, KiB: {:.0?}", memory.series_kib())?;
        writeln!(f, "at most {most:.0} KiB; in the second half {slope:+.2} KiB/s")
    }
}
