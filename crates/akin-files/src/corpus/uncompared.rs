//! Counts the records and files that are not compared.

use std::sync::Arc;

use indicatif::HumanCount;
use serde::Serialize;

use super::document::NotCompared;
use crate::failure::Failure;
use crate::failures::Failures;
use crate::input::{Event, OnInvalid, Origin, Screening, Skip};
use crate::meter::Meter;

#[derive(Default)]
pub struct Uncompared {
    pub counts: UncomparedCounts,
    failures: Failures,
    /// Failures of files, or of records without a boundary that could be recognised.
    unread: u64,
    /// The first skipped file, with the reason.
    skipped: Option<(Arc<str>, String)>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct UncomparedCounts {
    /// Documents with nothing to make a set of.
    pub empty: u64,
    /// Documents that were left out because of `--min-words`.
    pub short: u64,
    /// Records and files that could not be read as documents.
    pub failed: u64,
    /// Files in directories that have an unknown format.
    pub files_skipped: u64,
    /// Pages without an article, of which the whole text was read.
    #[serde(skip_serializing_if = "is_zero")]
    pub without_article: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Uncompared {
    /// Counts a record that is not compared, for this reason, or a file; and reports failures.
    pub fn take(&mut self, event: Event, why: Option<NotCompared>, meter: &Meter) {
        match (event, why) {
            (Event::Item(item), Some(NotCompared::Invalid(reason))) => {
                self.invalid(&item.origin, &reason, meter);
            }
            (Event::Item(_), Some(NotCompared::Empty)) => self.counts.empty += 1,
            (Event::Item(_), Some(NotCompared::Short)) => self.counts.short += 1,
            (Event::Failed { origin, reason }, _) => {
                self.unread += 1;
                self.invalid(&origin, &reason, meter);
            }
            (Event::Skipped { file, why: Skip::NotRead(reason) }, _) => {
                self.counts.files_skipped += 1;
                self.skipped.get_or_insert((file, reason));
            }
            (Event::WithoutArticle, _) => self.counts.without_article += 1,
            (Event::Skipped { why: Skip::Empty, .. } | Event::FileRead | Event::Item(_), _) => {}
        }
    }

    /// Counts a record that is not a document.
    fn invalid(&mut self, origin: &Origin, reason: &str, meter: &Meter) {
        self.counts.failed += 1;
        if self.failures.add(reason) {
            meter.print(&format!("failed: {origin}: {reason}"));
        }
    }

    /// # Errors
    /// There were invalid records with `--on-invalid fail`, or with `keep` uncopied records.
    pub fn check(&self, screening: Screening, meter: &Meter) -> Result<(), Failure> {
        if self.failures.more() > 0 {
            meter.print(&format!("failed: {} more", HumanCount(self.failures.more())));
        }
        let (failed, keep) = match screening.on_invalid {
            OnInvalid::Fail if self.unread == 0 => {
                (self.counts.failed, ", and with dedup --on-invalid keep copies them")
            }
            // Files and broken records that were not read cannot be copied.
            OnInvalid::Fail => (self.counts.failed, ""),
            OnInvalid::Skip => (0, ""),
            OnInvalid::Keep => (self.unread, ""),
        };
        if failed == 0 {
            return Ok(());
        }
        let failed = HumanCount(failed);
        Err(Failure::with_hint(
            format!("records or files that cannot be read as documents: {failed}"),
            format!("--on-invalid skip leaves them out{keep}"),
        ))
    }

    /// The error of a corpus without any document.
    pub fn nothing_else(&self) -> Failure {
        const WHAT: &str = "there is no document in the inputs";
        let UncomparedCounts { empty, short, failed, .. } = self.counts;
        match &self.skipped {
            _ if failed > 0 => {
                let failed = HumanCount(failed);
                Failure::new(format!("no record could be read as a document, of {failed}"))
            }
            _ if empty + short > 0 => Failure::with_hint(
                format!("{WHAT}, but {} that are left out", HumanCount(empty + short)),
                "--drop-empty and --min-words leave documents out",
            ),
            Some((file, reason)) => Failure::with_hint(
                format!("{WHAT}: no file is in a format that is read"),
                format!("the first is {file}: {reason}"),
            ),
            None => Failure::with_hint(WHAT, "the files are empty, or there is no file"),
        }
    }

    /// Prints the counts on stderr. `kept`: the fate of empty documents.
    pub fn print(&self, counts: UncomparedCounts, kept: &str) {
        let UncomparedCounts { empty, short, failed, without_article, .. } = counts;
        for (count, what) in [
            (empty, format!("documents with nothing to compare, {kept}")),
            (short, "texts with too few words, left out".to_owned()),
            (without_article, "pages without an article, read as a whole".to_owned()),
            (failed, "records or files that cannot be read as documents".to_owned()),
        ] {
            if count > 0 {
                eprintln!("{what}: {}", HumanCount(count));
            }
        }
        if let Some((file, reason)) = &self.skipped {
            let files = HumanCount(self.counts.files_skipped);
            eprintln!("files in an unknown format: {files}; the first is {file}: {reason}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Quantity;

    #[test]
    fn copies_are_offered_only_if_all_that_failed_can_be_copied() {
        let meter = Meter::new(true, "reading", Quantity::Bytes, 0);
        let origin = || Origin { file: "links".into(), line: None };
        let mut uncompared = Uncompared::default();
        let offers_keep = |uncompared: &Uncompared| {
            let failure = uncompared.check(Screening::default(), &meter).unwrap_err();
            format!("{failure:?}").contains("--on-invalid keep")
        };
        uncompared.invalid(&origin(), "there is no text", &meter);
        assert!(offers_keep(&uncompared));
        let reason = "it is a link to a directory".to_owned();
        uncompared.take(Event::Failed { origin: origin(), reason }, None, &meter);
        assert!(!offers_keep(&uncompared));
    }
}
