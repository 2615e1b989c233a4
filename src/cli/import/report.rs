//! The counts of an import.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::cli::input::{Origin, Skip};

/// Failures beyond these are only counted.
const FAILURES_SHOWN_MAX: usize = 10;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Files read to their end.
    pub files: u64,
    pub files_skipped: FilesSkipped,
    pub documents: Documents,
    /// Documents that have a near-duplicate among those before them.
    pub with_duplicates: u64,
    /// Before decompression.
    pub bytes: u64,
    pub seconds: f64,
    /// The first few.
    pub failures: Vec<Failed>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct FilesSkipped {
    /// In no format that is read.
    pub not_read: u64,
    pub empty: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Documents {
    pub created: u64,
    pub replaced: u64,
    pub unchanged: u64,
    /// Not stored because of a near-duplicate.
    pub skipped: u64,
    /// Including files that could not be read.
    pub failed: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub reason: String,
}

impl Documents {
    /// Documents that the server accepted.
    pub fn accepted(&self) -> u64 {
        self.created + self.replaced + self.unchanged + self.skipped
    }
}

impl Report {
    /// Counts an accepted document. The status is one of the API's.
    pub fn accept(&mut self, status: &str, has_duplicates: bool) {
        let documents = &mut self.documents;
        match status {
            "created" => documents.created += 1,
            "replaced" => documents.replaced += 1,
            "unchanged" => documents.unchanged += 1,
            _ => documents.skipped += 1,
        }
        self.with_duplicates += u64::from(has_duplicates);
    }

    pub fn fail(&mut self, origin: &Origin, reason: &str) {
        self.documents.failed += 1;
        if self.failures.len() < FAILURES_SHOWN_MAX {
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

    /// Nothing was found that could be a document.
    pub fn is_empty(&self) -> bool {
        self.documents.accepted() + self.documents.failed == 0
    }

    /// Something failed, or nothing was imported.
    pub fn is_failure(&self) -> bool {
        self.documents.failed > 0 || self.documents.accepted() == 0
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
        let Documents { created, replaced, unchanged, skipped, failed } = self.documents;
        let rate = self.bytes as f64 / self.seconds.max(1e-3);
        let files = HumanCount(self.files);
        let (bytes, rate) = (HumanBytes(self.bytes), HumanBytes(rate as u64));
        writeln!(out, "files      {files} ({bytes} in {:.1} s, {rate}/s)", self.seconds)?;
        let FilesSkipped { not_read, empty } = self.files_skipped;
        if not_read + empty > 0 {
            writeln!(
                out,
                "           {not_read} in no known format and {empty} empty were skipped"
            )?;
        }
        writeln!(out, "documents  {} accepted", HumanCount(self.documents.accepted()))?;
        let kinds = [
            (created, "created"),
            (replaced, "replaced"),
            (unchanged, "unchanged"),
            (skipped, "skipped because of a near-duplicate"),
            (failed, "failed"),
        ];
        for (count, kind) in kinds.iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "           {} {kind}", HumanCount(*count))?;
        }
        writeln!(out, "duplicates {} have one before them", HumanCount(self.with_duplicates))
    }

    /// The first failures, with file and line.
    pub fn write_failures(&self, out: &mut impl Write) -> io::Result<()> {
        for Failed { file, line, reason } in &self.failures {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            writeln!(out, "failed: {file}{line}: {reason}")?;
        }
        match self.documents.failed - self.failures.len() as u64 {
            0 => Ok(()),
            more => writeln!(out, "failed: … and {} more", HumanCount(more)),
        }
    }
}
