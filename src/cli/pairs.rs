//! `akin pairs`: every pair of near-duplicates of a corpus, without a server.

use std::io::{self, BufWriter, Write, stdout};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use indicatif::HumanCount;

use super::corpus::{Gathered, Mode, Reading, Shaping, gather, watched};
use super::failure::Failure;
use super::import;
use crate::document::DocumentId;
use crate::engine::OfflineCorpus;
use crate::scheme::Threshold;

/// A document of a set, and its number.
type Member = (DocumentId, u32);

/// Write every pair of near-duplicates in files: id, id, resemblance; needs no server
///
/// A pair a line, its columns separated by tabs, the lower id first; each pair once.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them, or - for stdin
    #[arg(required = true, value_name = "IN")]
    paths: Vec<PathBuf>,
    /// The resemblance from which documents count as near-duplicates [default: the configuration's]
    #[arg(long, value_name = "0..1", value_parser = import::threshold)]
    threshold: Option<Threshold>,
    /// How pairs are found
    #[arg(long, value_name = "MODE", default_value = "exact")]
    mode: Mode,
    /// Of documents with equal sets only the one with the lowest id
    #[arg(long)]
    distinct: bool,
    #[command(flatten)]
    shaping: Shaping,
    #[command(flatten)]
    reading: Reading,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let settings = arguments.shaping.settings(arguments.threshold)?;
    let (reading, threshold) = (&arguments.reading, settings.scheme.threshold);
    let selection = reading.selection(arguments.paths);
    let gathered = gather(&selection, &settings, reading.threads(), reading.quiet)?;
    let Gathered { mut corpus, failed, .. } = gathered;
    let mut writer = Writer { out: BufWriter::new(stdout().lock()), pairs: 0 };
    if !arguments.distinct {
        writer.write_equal(&corpus)?;
    }
    let mut written = Ok(());
    let joined = watched(reading.quiet, |progress| {
        corpus.pairs(arguments.mode.into(), threshold, progress, |documents, pair| {
            let [a, b] = [pair.a, pair.b].map(|set| match arguments.distinct {
                true => &documents.of(set)[..1],
                false => documents.of(set),
            });
            written = writer.write_across(a, b, pair.resemblance);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    // A pair that cannot be written is why the join broke off.
    written?;
    joined?;
    writer.out.flush()?;
    eprintln!("pairs: {}", HumanCount(writer.pairs));
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Writes pairs of documents.
struct Writer<W> {
    out: W,
    pairs: u64,
}

impl<W: Write> Writer<W> {
    /// The pairs of documents with equal sets.
    fn write_equal(&mut self, corpus: &OfflineCorpus) -> io::Result<()> {
        for set in 0..corpus.sets() {
            let members = corpus.documents().of(set);
            for (at, (a, _)) in members.iter().enumerate() {
                members[at + 1..].iter().try_for_each(|(b, _)| self.write(a, b, 1.0))?;
            }
        }
        Ok(())
    }

    fn write_across(&mut self, a: &[Member], b: &[Member], resemblance: f64) -> io::Result<()> {
        for (a, _) in a {
            b.iter().try_for_each(|(b, _)| self.write(a, b, resemblance))?;
        }
        Ok(())
    }

    fn write(&mut self, a: &DocumentId, b: &DocumentId, resemblance: f64) -> io::Result<()> {
        self.pairs += 1;
        writeln!(self.out, "{}\t{}\t{resemblance:.9}", a.min(b), a.max(b))
    }
}
