//! The documents of each source, and the alarm about a source that loses too many.

use std::collections::HashMap;
use std::io;
use std::ops::AddAssign;
use std::process::ExitCode;

use indicatif::HumanCount;
use serde::Serialize;

use super::clusters::Representatives;
use crate::corpus::Sources;

/// The sources that are shown on stderr.
const SHOWN_MAX: usize = 20;

/// The documents of a source.
#[derive(Serialize)]
pub struct SourceCounts {
    pub source: String,
    pub documents: u64,
    pub removed: u64,
    /// The documents of the largest cluster with a document of this source.
    largest_cluster: u32,
    #[serde(flatten)]
    pub lost: LostShingles,
}

/// The shingles of removed documents.
#[derive(Clone, Copy, Default, Serialize)]
pub struct LostShingles {
    #[serde(rename = "shingles_removed")]
    pub all: u64,
    /// The shingles that the documents kept in their place lack.
    #[serde(rename = "shingles_lost")]
    pub lost: u64,
}

impl AddAssign for LostShingles {
    fn add_assign(&mut self, further: Self) {
        self.all += further.all;
        self.lost += further.lost;
    }
}

impl SourceCounts {
    /// The share of the documents that are removed.
    pub fn share(&self) -> f64 {
        self.removed as f64 / self.documents.max(1) as f64
    }

    /// The counts of each source of the new documents, in the order of the input.
    ///
    /// # Errors
    /// A temporary file could not be read.
    pub fn of(clusters: &mut Representatives<'_>, sources: &Sources<'_>) -> io::Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        let mut known = HashMap::new();
        for number in clusters.new_documents() {
            let Some(representative) = clusters.representative(number) else { continue };
            let source = sources.of(number);
            let at = *known.entry(source).or_insert_with(|| {
                let (source, lost) = (source.to_owned(), LostShingles::default());
                all.push(Self { source, documents: 0, removed: 0, largest_cluster: 0, lost });
                all.len() - 1
            });
            let counts = &mut all[at];
            counts.documents += 1;
            counts.largest_cluster = counts.largest_cluster.max(clusters.size(representative));
            if !clusters.is_kept(number) {
                counts.removed += 1;
                counts.lost += clusters.lost(number)?;
            }
        }
        Ok(all)
    }
}

/// Prints the sources that lose most.
pub fn print_sources(sources: &[SourceCounts]) {
    let mut order: Vec<&SourceCounts> = sources.iter().collect();
    order.sort_by(|a, b| b.share().total_cmp(&a.share()));
    for counts in order.iter().take(SHOWN_MAX) {
        let SourceCounts { source, documents, removed, largest_cluster, lost } = counts;
        let percent = counts.share() * 100.0;
        let [documents, removed, largest, lost] =
            [*documents, *removed, u64::from(*largest_cluster), lost.lost].map(HumanCount);
        eprintln!(
            "source {source}: documents: {documents}; removed: {removed} ({percent:.1} %); largest \
             cluster: {largest}; shingles lost: {lost}"
        );
    }
    if let Some(more) = sources.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        eprintln!("further sources: {}", HumanCount(more as u64));
    }
}

/// The exit code of a run that would remove too much.
const REMOVES_TOO_MUCH: u8 = 3;

/// The exit code, and a message, if a source would lose more than is allowed.
pub fn refuse_removing(max: Option<f64>, counts: &[SourceCounts]) -> Option<ExitCode> {
    let max = max?;
    let worst = counts.iter().max_by(|a, b| a.share().total_cmp(&b.share()))?;
    if worst.share() <= max {
        return None;
    }
    print_sources(counts);
    let [share, max] = [worst.share(), max].map(|share| share * 100.0);
    eprintln!(
        "error: {share:.1} % of {} would be removed, more than the {max} % of --max-removed: \
         nothing is written",
        worst.source
    );
    Some(ExitCode::from(REMOVES_TOO_MUCH))
}
