//! Failures of documents: the first of each reason is shown, all are counted.

use std::collections::HashSet;

/// Failures beyond these are only counted.
const SHOWN_MAX: usize = 10;

#[derive(Clone, Debug, Default)]
pub struct Failures {
    count: u64,
    reasons: HashSet<String>,
}

impl Failures {
    /// Counts a failure, and returns whether to show it: a directory may have thousands of files
    /// that fail alike, and need one piece of advice.
    pub fn add(&mut self, reason: &str) -> bool {
        self.count += 1;
        // The fault differs from file to file; the advice comes last.
        let advice = reason.rsplit_once("; ").map_or(reason, |(_, advice)| advice);
        if self.reasons.len() == SHOWN_MAX || self.reasons.contains(advice) {
            return false;
        }
        self.reasons.insert(advice.to_owned())
    }

    /// The number of failures that were not shown.
    pub fn more(&self) -> u64 {
        self.count - self.reasons.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_failures_are_shown_once() {
        let mut failures = Failures::default();
        let missing = |has: &str| format!("there is no column 'text' but {has}; name the column");
        assert!(failures.add(&missing("a")) && !failures.add(&missing("b")));
        assert!(failures.add("it is empty") && !failures.add("it is empty"));
        let shown = (0..20).filter(|n| failures.add(&n.to_string())).count();
        assert_eq!((shown, failures.more()), (8, 14));
    }
}
