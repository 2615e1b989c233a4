//! The counts of an import.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use akin_files::failures::Failures;
use akin_files::input::{OnInvalid, Origin, Skip};
use akin_model::answer::AddStatus;

#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportReport {
    /// Files read to their end.
    pub files: u64,
    pub files_skipped: FilesSkipped,
    pub documents: DocumentOutcomes,
    /// Documents that are near-duplicates of earlier documents.
    pub with_duplicates: u64,
    /// Pages without an article, of which the whole text was read.
    pub without_article: u64,
    /// Bytes before decompression.
    pub bytes: u64,
    pub seconds: f64,
    /// The first failure of each reason.
    pub failures: Vec<Failed>,
    #[serde(skip)]
    reasons: Failures,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct FilesSkipped {
    /// Files in an unknown format.
    pub not_read: u64,
    pub empty: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct DocumentOutcomes {
    pub created: u64,
    pub replaced: u64,
    pub unchanged: u64,
    /// Documents not stored because of a near-duplicate.
    pub skipped: u64,
    /// Documents left out, since they have nothing to compare.
    pub empty: u64,
    /// Documents left out, since they have fewer words than `--min-words`.
    pub short: u64,
    /// Failed documents and files.
    pub failed: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub reason: String,
}

impl DocumentOutcomes {
    /// Documents that the server accepted.
    pub fn accepted(&self) -> u64 {
        self.created + self.replaced + self.unchanged + self.skipped
    }
}

impl ImportReport {
    /// Counts an accepted document.
    pub fn accept(&mut self, status: AddStatus, has_duplicates: bool) {
        let documents = &mut self.documents;
        match status {
            AddStatus::Created => documents.created += 1,
            AddStatus::Replaced => documents.replaced += 1,
            AddStatus::Unchanged => documents.unchanged += 1,
            AddStatus::Skipped => documents.skipped += 1,
        }
        self.with_duplicates += u64::from(has_duplicates);
    }

    pub fn fail(&mut self, origin: &Origin, reason: &str) {
        self.documents.failed += 1;
        if self.reasons.add(reason) {
            let (file, reason) = (origin.file.to_string(), reason.to_owned());
            self.failures.push(Failed { file, line: origin.line, reason });
        }
    }

    pub fn skip(&mut self, why: &Skip) {
        match why {
            Skip::NotRead(_) => self.files_skipped.not_read += 1,
            Skip::Empty => self.files_skipped.empty += 1,
        }
    }

    /// Whether the inputs had no records.
    pub fn is_empty(&self) -> bool {
        let DocumentOutcomes { empty, short, failed, .. } = self.documents;
        self.documents.accepted() + empty + short + failed == 0
    }

    /// Whether a failure counts by `--on-invalid`, or nothing was imported.
    pub fn is_failure(&self, on_invalid: OnInvalid) -> bool {
        let fails = on_invalid != OnInvalid::Skip;
        (fails && self.documents.failed > 0) || self.documents.accepted() == 0
    }

    pub fn finish(&mut self, bytes: u64, took: Duration) {
        self.bytes = bytes;
        self.seconds = took.as_secs_f64();
    }

    /// One line for a progress meter.
    pub fn counts(&self) -> String {
        let failed = match self.documents.failed {
            0 => String::new(),
            some => format!(", {} failed", HumanCount(some)),
        };
        format!(
            "{} files, {} documents, {} with near-duplicates{failed}",
            HumanCount(self.files),
            HumanCount(self.documents.accepted()),
            HumanCount(self.with_duplicates)
        )
    }

    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let DocumentOutcomes { created, replaced, unchanged, skipped, empty, short, failed } =
            self.documents;
        let rate = self.bytes as f64 / self.seconds.max(1e-3);
        let files = HumanCount(self.files);
        let (bytes, rate) = (HumanBytes(self.bytes), HumanBytes(rate as u64));
        writeln!(out, "files      {files} ({bytes} in {:.1} s, {rate}/s)", self.seconds)?;
        let FilesSkipped { not_read, empty: no_bytes } = self.files_skipped;
        if not_read + no_bytes > 0 {
            writeln!(out, "           skipped: {not_read} in an unknown format, {no_bytes} empty")?;
        }
        if self.without_article > 0 {
            let pages = HumanCount(self.without_article);
            writeln!(out, "           {pages} pages without an article, read as a whole")?;
        }
        writeln!(out, "documents  {} accepted", HumanCount(self.documents.accepted()))?;
        let kinds = [
            (created, "created"),
            (replaced, "replaced"),
            (unchanged, "unchanged"),
            (skipped, "skipped because of a near-duplicate"),
            (empty, "left out, with nothing to compare"),
            (short, "left out, with too few words"),
            (failed, "failed"),
        ];
        for (count, kind) in kinds.iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "           {} {kind}", HumanCount(*count))?;
        }
        writeln!(
            out,
            "duplicates {} are near-duplicates of earlier documents",
            HumanCount(self.with_duplicates)
        )
    }

    /// The first failures, with file and line.
    pub fn write_failures(&self, out: &mut impl Write) -> io::Result<()> {
        for Failed { file, line, reason } in &self.failures {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            writeln!(out, "failed: {file}{line}: {reason}")?;
        }
        match self.reasons.more() {
            0 => Ok(()),
            more => writeln!(out, "failed: {} more", HumanCount(more)),
        }
    }
}
