//! The sets that were dropped while a corpus was read, and that a join reads.

use std::sync::atomic::AtomicU64;

use super::gather::{GatheredCorpus, Gathering, RecordOutcome, changed, disk_failed, numbered};
use super::pipeline::work_in_order;
use super::with_progress;
use crate::failure::Failure;
use crate::input::{Emit, Event, Item, Selection, read_inputs};
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
        let reading = &self.options.analysis.read;
        let to_read = with_progress(reading.quiet, |progress| {
            corpus.documents_to_read(mode, threshold, progress)
        })?;
        let Some(to_read) = to_read else { return Ok(()) };
        let meter = reading.meter("reading again", []);
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
                    // Items between are left out, so that each item may be from another block.
                    Event::Item(item) => match of_records.next().flatten() {
                        Some(_) => emit(Event::Item(item.detached())),
                        None => Ok(()),
                    },
                    _ => Ok(()),
                })
            };
            work_in_order(read, reading.threads(), &meter, set_of, |_, set| {
                let set = wanted.next().zip(set.flatten());
                let added = set.map(|(number, set)| corpus.add_set(number, &set));
                match added.transpose().map_err(|error| disk_failed(&error))? {
                    Some(true) => Ok(()),
                    Some(false) | None => Err(changed()),
                }
            })?;
            if wanted.next().is_some() {
                return Err(changed());
            }
            first = corpus.first_new();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;
    use crate::corpus::{CorpusOptions, Keep, SourceOptions};
    use akin_model::settings::CollectionSettings;

    #[derive(Parser)]
    struct Parsed {
        #[command(flatten)]
        options: CorpusOptions,
    }

    #[test]
    fn an_input_that_became_shorter_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("docs.jsonl");
        let words = |n: usize| {
            (0..60).map(|word| format!("f{}w{word} ", n / 2)).collect::<Vec<_>>().concat()
        };
        let line = |n| format!("{{\"id\":\"{n}\",\"text\":\"{}end{}\"}}\n", words(n), n % 2);
        let lines: Vec<String> = (0..600).map(line).collect();
        let parsed = Parsed::parse_from(["akin", "--quiet", "--memory-max-mib", "1"]);
        let (settings, sources) = (CollectionSettings::default(), SourceOptions::default());
        let gathering = Gathering {
            keep: &Keep::First,
            drops_sets: true,
            ..Gathering::new(&settings, &parsed.options, &sources, None)
        };
        let selection = Selection { paths: vec![path.clone()], ..Selection::default() };
        let judged = (Mode::Verified, Threshold::new(0.8).unwrap());
        for (left, is_changed) in [(600, false), (300, true), (0, true)] {
            fs::write(&path, lines.concat()).unwrap();
            let mut gathered = gathering.gather(None, &selection).unwrap();
            fs::write(&path, lines[..left].concat()).unwrap();
            let added = gathering.add_dropped(&mut gathered, None, &selection, judged);
            assert_eq!(added.is_err(), is_changed, "{left}: {added:?}");
        }
    }
}
