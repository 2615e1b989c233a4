//! `akin dedup --spans`: cuts spans that occur earlier out of the texts.

use std::ops::Range;
use std::process::ExitCode;

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use super::cuts::without;
use super::report::CutReport;
use super::write::KeptWriter;
use super::{Arguments, DedupPlan};
use crate::corpus::{
    NotCompared, TextCutter, Uncompared, UncomparedCounts, WordedText, changed, each_text, read,
    work_in_order,
};
use crate::failure::Failure;
use crate::input::{Event, Item, OnInvalid};
use crate::meter::Meter;
use crate::output::{Output, print_json};
use akin_core::passages::repeats::{RepeatedGrams, Repeats};
use akin_core::text::WordSequence;

/// Cuts spans of at least `span_words` words.
///
/// # Errors
/// A file cannot be read or written, a record is invalid, or the memory does not suffice.
pub fn run(plan: &DedupPlan, span_words: usize) -> Result<ExitCode, Failure> {
    let room = plan.options().room(plan.place.path().as_deref());
    let screening = plan.screening();
    let passes = SpanPasses {
        cutter: TextCutter::new(plan.settings.shingles.clone(), screening.min_words),
        memory_max: room.memory,
        span_words,
        plan,
    };
    let grams = RepeatedGrams::new(span_words);
    let grams = grams.map_err(|error| Failure::new(error.to_string()))?;
    let (grams, size, mut uncompared) = passes.first(grams)?;
    let counts = passes.second(grams, size)?;
    uncompared.counts.short += counts.short;
    match plan.arguments.json {
        true => print_json(&SpansSummary { counts, span_words, uncompared: uncompared.counts })?,
        false => {
            counts.print(span_words);
            let is_dropped = screening.drop_empty;
            uncompared.print(uncompared.counts, if is_dropped { "left out" } else { "kept" });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The two passes over the corpus.
struct SpanPasses<'p> {
    plan: &'p DedupPlan,
    cutter: TextCutter,
    memory_max: usize,
    /// The fewest words of a span, as a reader counts them.
    span_words: usize,
}

impl SpanPasses<'_> {
    /// Reads every text, and reports records that cannot be compared.
    fn first(
        &self,
        mut grams: RepeatedGrams,
    ) -> Result<(RepeatedGrams, PassSize, Uncompared), Failure> {
        let DedupPlan { selection, old, .. } = self.plan;
        let (meter, screening) = (self.meter("reading"), self.plan.screening());
        let mut read = |selection, is_old: bool| {
            let cut = |item: &Item| {
                let text = self.cutter.cut(item)?;
                // A text of which nothing can be cut out is refused before anything is written.
                Ok((text.words, !is_old && text.has_messages))
            };
            let (mut size, mut empty) = (PassSize::default(), 0);
            let take = |item: Item, (words, is_uncut): (WordSequence, bool)| {
                if is_uncut {
                    return Err(item.cannot_be_cut());
                }
                size.add(words.len());
                empty += u64::from(words.is_empty());
                grams.add(words.hashes());
                self.check_memory(grams.bytes())
            };
            let mut uncompared = each_text(selection, self.threads(), &meter, cut, take)?;
            uncompared.counts.empty = empty;
            Ok::<_, Failure>((size, uncompared))
        };
        if let Some(old) = old {
            let (_, uncompared) = read(old, true)?;
            uncompared.check(screening, &meter)?;
        }
        let (size, uncompared) = read(selection, false)?;
        let UncomparedCounts { empty, failed, .. } = uncompared.counts;
        let dropped = if screening.drop_empty { empty } else { 0 };
        let is_copied = screening.on_invalid == OnInvalid::Keep && failed > 0;
        if size.documents == dropped && !is_copied {
            return Err(uncompared.nothing_else());
        }
        uncompared.check(screening, &meter)?;
        Ok((grams, size, uncompared))
    }

    /// Reads every text again, and writes the rest of each text. `size`: of the first pass.
    fn second(&self, grams: RepeatedGrams, size: PassSize) -> Result<CutCounts, Failure> {
        let DedupPlan { selection, old, place, arguments, .. } = self.plan;
        let Arguments { report, destination, .. } = arguments;
        let report = report.as_ref().map(|path| Output::create(path, destination.force));
        let report = report.transpose()?;
        let (meter, threads) = (self.meter("writing"), self.threads());
        let cut = |item: &Item| self.cutter.cut(item);
        let mut writing = SpanWriting {
            passes: self,
            repeats: grams.into_repeats(),
            report: report.map(CutReport::new),
            writer: KeptWriter::new(place.clone(), selection, false)?,
            counts: CutCounts::default(),
        };
        if let Some(old) = old {
            work_in_order(read(old), threads, &meter, cut, |event, text| match (event, text) {
                (Event::Item(item), Some(Ok(text))) => writing.find(&item, &text, true).map(drop),
                _ => Ok(()),
            })?;
        }
        work_in_order(read(selection), threads, &meter, cut, |event, text| {
            writing.take(event, text)
        })?;
        if writing.counts.size != size {
            return Err(changed());
        }
        writing.report.map_or(Ok(()), CutReport::finish)?;
        writing.writer.finish()?;
        Ok(writing.counts)
    }

    fn meter(&self, doing: &'static str) -> Meter {
        let selections = self.plan.old.iter().chain([&self.plan.selection]);
        self.plan.options().analysis.read.meter(doing, selections)
    }

    fn threads(&self) -> usize {
        self.plan.options().analysis.read.threads()
    }

    fn check_memory(&self, bytes: usize) -> Result<(), Failure> {
        if bytes <= self.memory_max {
            return Ok(());
        }
        let allowed = HumanBytes(self.memory_max as u64);
        Err(Failure::with_hint(
            format!("finding the spans takes more than the {allowed} of memory that are allowed"),
            "allow more by --memory-max-mib; a higher --spans takes less",
        ))
    }
}

/// Writes documents while the input is read for the second time.
struct SpanWriting<'w> {
    passes: &'w SpanPasses<'w>,
    repeats: Repeats,
    report: Option<CutReport>,
    writer: KeptWriter,
    counts: CutCounts,
}

impl SpanWriting<'_> {
    fn take(
        &mut self,
        event: Event,
        text: Option<Result<WordedText, NotCompared>>,
    ) -> Result<(), Failure> {
        let screening = self.passes.plan.screening();
        match (event, text) {
            (Event::Item(item), Some(text)) => {
                // A shard is written even if none of its documents is.
                self.writer.begin(&item.origin.file)?;
                match text {
                    Ok(text) => self.document(&item, &text),
                    Err(why) if why.is_copied(screening) => self.writer.copy(&item),
                    Err(_) => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// The ranges of words to cut out of the next text. Cuts of old documents are not reported.
    fn find(
        &mut self,
        item: &Item,
        text: &WordedText,
        is_old: bool,
    ) -> Result<Vec<Range<usize>>, Failure> {
        let Self { repeats, report, .. } = self;
        let kept_before = repeats.kept();
        let number = report.as_ref().map_or(0, CutReport::next);
        let mut found = repeats.find(number, text.words.hashes());
        let readers_words =
            |words: &Range<usize>| text.words.readers_words(&text.text, words.clone());
        found.retain(|repeat| readers_words(&repeat.words) >= self.passes.span_words);
        if let Some(report) = report {
            if repeats.kept() > kept_before {
                report.add(&text.id, &item.origin);
            }
            if !found.is_empty() && !is_old {
                report.write(text, &found)?;
            }
        }
        let report_bytes = report.as_ref().map_or(0, |report| report.bytes);
        self.passes.check_memory(repeats.bytes() + report_bytes)?;
        Ok(found.into_iter().map(|repeat| repeat.words).collect())
    }

    fn document(&mut self, item: &Item, text: &WordedText) -> Result<(), Failure> {
        let cuts = self.find(item, text, false)?;
        let screening = self.passes.plan.screening();
        let words_cut: usize = cuts.iter().map(Range::len).sum();
        let words_left = text.words.len() - words_cut;
        let readers_left = || {
            let readers_words = |range| text.words.readers_words(&text.text, range);
            let readers_cut: usize = cuts.iter().cloned().map(readers_words).sum();
            readers_words(0..text.words.len()) - readers_cut
        };
        let is_cut = !cuts.is_empty();
        self.counts.add(text.words.len(), words_cut, cuts.len());
        let is_emptied = is_cut && words_left == 0;
        let is_short = is_cut
            && words_left > 0
            && screening.min_words > 0
            && readers_left() < screening.min_words;
        self.counts.emptied += u64::from(is_emptied);
        self.counts.short += u64::from(is_short);
        if is_emptied || is_short || text.words.is_empty() && screening.drop_empty {
            return Ok(());
        }
        self.counts.written += 1;
        if !is_cut {
            return self.writer.copy(item);
        }
        let bytes: Vec<_> = cuts.into_iter().map(|cut| text.words.bytes(cut)).collect();
        let line = without(&text.text, &bytes).and_then(|left| item.with_text(&left));
        let line = line.ok_or_else(|| item.cannot_be_cut())?;
        self.writer.copy_cut(item, &line, bytes)
    }
}

/// The documents and words of a pass.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct PassSize {
    documents: u64,
    words: u64,
}

impl PassSize {
    fn add(&mut self, words: usize) {
        self.documents += 1;
        self.words += words as u64;
    }
}

#[derive(Clone, Copy, Default, Serialize)]
struct CutCounts {
    #[serde(flatten)]
    size: PassSize,
    /// Documents that were written, also without a part of their text.
    written: u64,
    /// Documents with a cut.
    cut: u64,
    /// Documents that were left out because all their words were cut.
    emptied: u64,
    /// Documents that were left out because too few words are left.
    #[serde(skip)]
    short: u64,
    spans_cut: u64,
    words_cut: u64,
}

impl CutCounts {
    fn add(&mut self, words: usize, words_cut: usize, spans_cut: usize) {
        self.size.add(words);
        self.cut += u64::from(spans_cut > 0);
        self.spans_cut += spans_cut as u64;
        self.words_cut += words_cut as u64;
    }

    fn print(&self, span_words: usize) {
        let Self { size: PassSize { documents, words }, written, cut, emptied, .. } = *self;
        let [documents, cut, written] = [documents, cut, written].map(HumanCount);
        eprintln!("documents: {documents}; with cuts: {cut}; written: {written}");
        let [words, words_cut, spans_cut] = [words, self.words_cut, self.spans_cut].map(HumanCount);
        eprintln!(
            "words: {words}; cut: {words_cut}, in {spans_cut} spans of at least {span_words} words"
        );
        if emptied > 0 {
            eprintln!("documents without a word left, left out: {}", HumanCount(emptied));
        }
    }
}

/// The summary of the command.
#[derive(Serialize)]
struct SpansSummary {
    #[serde(flatten)]
    counts: CutCounts,
    span_words: usize,
    #[serde(flatten)]
    uncompared: UncomparedCounts,
}
