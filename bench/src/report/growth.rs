//! How the time for all pairs grows with the corpus.

use super::numbers::thousands;
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

/// How fast the time for all pairs grows: as the documents to this power, from the least to the
/// most of them.
pub fn exponents(results: &Results) -> String {
    let mut all: Vec<&Outcome> = results.of("growth").filter(|it| it.error.is_none()).collect();
    all.sort_by_key(|outcome| (name(outcome), outcome.documents));
    let told = all.chunk_by(|a, b| name(a) == name(b)).filter_map(|same| {
        let (least, most) = (same.first()?, same.last()?);
        let times = most.get("seconds")? / least.get("seconds")?;
        let exponent = times.ln() / (most.documents as f64 / least.documents as f64).ln();
        Some(format!(
            "{}: from {} to {} documents as their number to the power of {exponent:.2}.\n",
            name(most),
            thousands(least.documents as u64),
            thousands(most.documents as u64),
        ))
    });
    told.collect()
}

pub fn name(outcome: &Outcome) -> String {
    format!("{}: {}", outcome.participant, outcome.setting)
}
