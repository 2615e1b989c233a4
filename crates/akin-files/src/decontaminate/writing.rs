//! Takes scanned documents in the order of the input, and writes them.

use super::options::{ContaminationAction, DecontaminationPlan};
use super::report::{ContaminationCounts, ContaminationReport};
use super::training::ScannedDocument;
use crate::corpus::{NotCompared, Uncompared};
use crate::dedup::KeptWriter;
use crate::failure::Failure;
use crate::input::{Event, Item, OnInvalid, Screening};
use crate::meter::Meter;
use akin_core::passages::contamination::GramShare;

/// The pass over the training documents that writes documents and the report.
pub struct Pass<'p> {
    plan: &'p DecontaminationPlan,
    meter: &'p Meter,
    /// `None` if documents are only reported, or once a record is invalid and nothing is to be
    /// written.
    writer: Option<KeptWriter>,
    report: ContaminationReport<'p>,
    found: ContaminationCounts,
    uncompared: Uncompared,
}

impl<'p> Pass<'p> {
    pub fn new(
        plan: &'p DecontaminationPlan,
        meter: &'p Meter,
        writer: Option<KeptWriter>,
        report: ContaminationReport<'p>,
    ) -> Self {
        let (found, uncompared) = (ContaminationCounts::default(), Uncompared::default());
        Self { plan, meter, writer, report, found, uncompared }
    }

    /// # Errors
    /// An output cannot be written.
    pub fn take(
        &mut self,
        event: Event,
        scanned: Option<Result<ScannedDocument, NotCompared>>,
    ) -> Result<(), Failure> {
        if let (Event::Item(item), Some(writer)) = (&event, &mut self.writer) {
            // A shard is written even if none of its documents is.
            writer.begin(&item.origin.file)?;
        }
        match (event, scanned) {
            (Event::Item(item), Some(Ok(scanned))) => self.document(&item, scanned),
            (event, scanned) => self.left_out(event, scanned.and_then(Result::err)),
        }
    }

    fn screening(&self) -> Screening {
        self.plan.options.texts.read.screening
    }

    fn document(&mut self, item: &Item, scanned: ScannedDocument) -> Result<(), Failure> {
        match scanned {
            ScannedDocument::Clean { words } => {
                self.found.documents += 1;
                self.found.words += words as u64;
                self.uncompared.counts.empty += u64::from(words == 0);
                if words == 0 && self.screening().drop_empty {
                    return Ok(());
                }
                self.found.written += u64::from(self.writer.is_some());
                let writer = self.writer.as_mut();
                writer.map_or(Ok(()), |writer| writer.copy(item))
            }
            ScannedDocument::Contaminated(contaminated) => {
                self.found.add(&contaminated.found);
                self.report.training(&contaminated)?;
                let is_left = contaminated.found.covered < contaminated.found.words;
                let keeps = is_left || !self.screening().drop_empty;
                if self.plan.options.action != ContaminationAction::Cut || !keeps {
                    return Ok(());
                }
                let line = contaminated.line.ok_or_else(|| item.cannot_be_cut())?;
                let Some(writer) = &mut self.writer else { return Ok(()) };
                self.found.written += 1;
                writer.copy_cut(item, &line, contaminated.bytes)
            }
        }
    }

    /// Counts a record or file that is not scanned. Nothing more is written if that is a failure.
    fn left_out(&mut self, event: Event, why: Option<NotCompared>) -> Result<(), Failure> {
        let screening = self.screening();
        let copied = match (&event, &why, &mut self.writer) {
            (Event::Item(item), Some(why), Some(writer)) if why.is_copied(screening) => {
                writer.copy(item)
            }
            _ => Ok(()),
        };
        let fails = match (&event, &why) {
            (_, Some(NotCompared::Invalid(_))) => screening.on_invalid == OnInvalid::Fail,
            (Event::Failed { .. }, _) => screening.on_invalid != OnInvalid::Skip,
            _ => false,
        };
        self.uncompared.take(event, why, self.meter);
        if fails {
            self.writer = None;
        }
        copied
    }

    /// Finishes the outputs. `seen`: the share of each evaluation document in the training
    /// documents.
    ///
    /// # Errors
    /// A record is invalid, there is no document, or an output cannot be written.
    pub fn finish(
        mut self,
        seen: &[GramShare],
    ) -> Result<(ContaminationCounts, Uncompared), Failure> {
        self.uncompared.check(self.screening(), self.meter)?;
        if self.found.documents == 0 && self.uncompared.counts.failed == 0 {
            return Err(self.uncompared.nothing_else());
        }
        self.found.seen = self.report.finish(seen)?;
        self.writer.map_or(Ok(()), KeptWriter::finish)?;
        Ok((self.found, self.uncompared))
    }
}
