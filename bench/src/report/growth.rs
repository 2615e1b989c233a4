//! How the time for all pairs grows with the corpus.

use crate::outcome::{Outcome, Results};

pub fn csv(results: &Results) -> String {
    let mut csv = "name,documents,seconds,pairs,peak_bytes\n".to_owned();
    for outcome in results.of("join").filter(|outcome| outcome.error.is_none()) {
        let figure = |name| outcome.get(name).unwrap_or_default();
        let [seconds, pairs, peak] = ["seconds", "found", "peak_bytes"].map(figure);
        let (name, documents) = (name(outcome), outcome.documents);
        csv.push_str(&format!("{name},{documents},{seconds:.4},{pairs},{peak}\n"));
    }
    csv
}

pub fn name(outcome: &Outcome) -> String {
    format!("{}: {}", outcome.participant, outcome.setting)
}
