//! The sets that were dropped while a corpus was read, and that a join reads.

use std::sync::atomic::AtomicU64;

use super::gather::{GatheredCorpus, Gathering, RecordOutcome, changed, disk_failed, numbered};
use super::pipeline::work_in_order;
use super::with_progress;
use crate::failure::Failure;
use crate::input::{Emit, Event, Item, Selection, read_inputs};
use crate::meter::{Meter, Quantity};
use akin_core::scheme::Threshold;
use akin_model::analysis::Mode;

impl Gathering<'_> {
    /// Reads documents again for the sets that a join reads, if sets were dropped.
    ///
    /// # Errors
    /// The input has changed; or a temporary file cannot be read or written.
    pub fn add_dropped(
        &self,
        GatheredCorpus { corpus, outcomes, old_outcomes, .. }: &mut GatheredCorpus,
        old: Option<&Selection>,
        selection: &Selection,
        (mode, threshold): (Mode, Threshold),
    ) -> Result<(), Failure> {
        let quiet = self.options.analysis.quiet;
        let to_read =
            with_progress(quiet, |progress| corpus.documents_to_read(mode, threshold, progress))?;
        let Some(to_read) = to_read else { return Ok(()) };
        let meter = Meter::new(quiet, "reading again", Quantity::Bytes, 0);
        let analyser = self.analyser();
        let set_of = |item: &Item| {
            let content = item.record().ok()?.content;
            Some(analyser.shingler.shingle(&content).ok()?.set)
        };
        let mut first = 0;
        for (selection, outcomes) in
            old.map(|old| (old, old_outcomes)).into_iter().chain([(selection, outcomes)])
        {
            let wanted = |(outcome, number): (RecordOutcome, u32)| {
                (outcome == RecordOutcome::Numbered && to_read[number as usize]).then_some(number)
            };
            let mut of_records = numbered(outcomes, first).map(wanted);
            let mut wanted = of_records.clone().flatten();
            let read = |bytes_read: &AtomicU64, emit: &mut Emit<'_>| {
                read_inputs(selection, bytes_read, &mut |event| match event {
                    Event::Item(_) if of_records.next().flatten().is_some() => emit(event),
                    _ => Ok(()),
                })
            };
            let threads = self.options.analysis.threads();
            work_in_order(read, threads, &meter, set_of, |_, set| {
                let set = wanted.next().zip(set.flatten());
                let added = set.map(|(number, set)| corpus.add_set(number, &set));
                match added.transpose().map_err(|error| disk_failed(&error))? {
                    Some(true) => Ok(()),
                    Some(false) | None => Err(changed()),
                }
            })?;
            first = corpus.first_new();
        }
        Ok(())
    }
}
