//! `akin passages`: which documents of a corpus share passages with documents, and where.

mod corpus;
mod found;
mod room;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use indicatif::HumanCount;

use self::corpus::PassageCorpus;
use self::found::{FoundLine, SearchedDocument, WantedPassages};
use self::room::PassagesRoom;
use super::corpus::{TextOptions, memory_max};
use super::failure::Failure;
use super::input::{ColumnNames, Item, Selection};
use super::output::{Destination, Output, write_json};
use akin_core::passages::{PassageLimits, PassageSettings};

/// Write which documents of a corpus share passages with documents, and where; needs no server
///
/// For each document of FILES the command finds the documents of CORPUS that share a run of 32
/// words (--words) with it, and lists the passages that they share, with their places in Unicode
/// code points. Case, punctuation and line breaks do not matter. Passages with some changed words
/// are often found, too. Words are counted as a reader counts them, also in scripts without spaces.
/// A document is not compared with itself: with the document of the same file and line. The corpus
/// is kept in memory, the documents are not.
///
/// The documents with the most shared words come first. If a search reached a limit of work, so
/// that documents or passages may be missing, the document and the last line say so.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of documents, as `akin import` takes them, or - for stdin
    #[arg(required_unless_present = "files_from", value_name = "FILES")]
    paths: Vec<PathBuf>,
    /// Files or directories with the documents of the corpus, in the same formats
    #[arg(long = "in", required = true, num_args = 1.., value_name = "CORPUS")]
    corpus: Vec<PathBuf>,
    /// The column with the texts of the corpus [default: that of the documents]
    #[arg(long, value_name = "NAME,NAME")]
    in_text_column: Vec<ColumnNames>,
    /// The column with the ids of the corpus [default: that of the documents]
    #[arg(long, value_name = "NAME")]
    in_id_column: Option<String>,
    #[command(flatten)]
    destination: Destination,
    /// Every run of this many words is found; a lower number takes more memory
    #[arg(long, value_name = "N", default_value = "32",
          value_parser = clap::value_parser!(u8).range(13..=100))]
    words: u8,
    /// The fewest equal words of a passage [default: that of --words]
    #[arg(long, value_name = "N")]
    words_min: Option<NonZeroUsize>,
    /// List only documents that share at least this part of the words
    #[arg(long, value_name = "0..1", default_value = "0", hide_default_value = true,
          value_parser = share)]
    containment_min: f64,
    /// Whose words --containment-min is a part of
    #[arg(long, value_name = "WHOSE", default_value = "probe")]
    of: Whose,
    /// The most documents of the corpus that are listed for a document
    #[arg(long, value_name = "N", default_value = "10")]
    limit: NonZeroUsize,
    /// Write a line of JSON for each document
    #[arg(long)]
    json: bool,
    /// The most memory that the corpus and the searches may take, in MiB [default: half of the
    /// available memory]
    #[arg(long, value_name = "MIB")]
    memory_max_mib: Option<u64>,
    #[command(flatten)]
    texts: TextOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Whose {
    /// The document of FILES
    Probe,
    /// The document of CORPUS
    Match,
}

fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    (0.0..=1.0)
        .contains(&value)
        .then_some(value)
        .ok_or_else(|| format!("{text} is not from 0 to 1"))
}

/// # Errors
/// An option is invalid, or a file cannot be read or written.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let plan = PassagesPlan::new(arguments)?;
    let corpus = PassageCorpus::read(&plan)?;
    let output = plan.destination.create()?;
    let mut listing =
        PassageListing { corpus: &corpus, plan: &plan, output, counts: PassageCounts::default() };
    let search = |item: &Item| corpus.search(item, &plan.wanted);
    let take = |item: Item, searched: SearchedDocument| listing.take(&item, &searched);
    let of = (&plan.probes, plan.room.threads);
    let mut uncompared = plan.texts.read.each_text("searching", of, search, take)?;
    uncompared.counts.empty = listing.counts.empty;
    if listing.counts.documents == listing.counts.empty && uncompared.counts.failed == 0 {
        return Err(uncompared.nothing_else());
    }
    let counts = listing.finish()?;
    counts.print(&plan);
    uncompared.print(uncompared.counts, "left out");
    Ok(ExitCode::SUCCESS)
}

/// The checked options.
struct PassagesPlan {
    probes: Selection,
    corpus: Selection,
    settings: PassageSettings,
    wanted: WantedPassages,
    room: PassagesRoom,
    destination: Destination,
    json: bool,
    texts: TextOptions,
}

impl PassagesPlan {
    /// # Errors
    /// An input does not exist, or would be read twice; the output is an input, or exists.
    fn new(arguments: Arguments) -> Result<Self, Failure> {
        let Arguments { texts, destination, json, .. } = arguments;
        texts.read.screening.refuse_keeping()?;
        let columns = (arguments.in_text_column.as_slice(), arguments.in_id_column);
        let what = "stdin has either documents, or the documents of the corpus, or a list of files";
        let [probes, corpus] =
            texts.selections(arguments.paths, arguments.corpus, columns, what)?;
        destination.check(&texts.read.inputs([&probes, &corpus], None))?;
        let settings = PassageSettings::new(arguments.words.into());
        let settings = settings.map_err(|error| Failure::new(error.to_string()))?;
        let words_min = arguments.words_min.map(NonZeroUsize::get);
        let room = PassagesRoom::new(memory_max(arguments.memory_max_mib), texts.read.threads());
        let wanted = WantedPassages {
            limits: PassageLimits { words_min, ..room.limits },
            containment_min: arguments.containment_min,
            of: arguments.of,
            count_max: arguments.limit.get(),
        };
        Ok(Self { probes, corpus, settings, wanted, room, destination, json, texts })
    }
}

/// Writes the found passages, in the order of the documents.
struct PassageListing<'l> {
    corpus: &'l PassageCorpus,
    plan: &'l PassagesPlan,
    output: Output,
    counts: PassageCounts,
}

#[derive(Default)]
struct PassageCounts {
    documents: u64,
    empty: u64,
    /// Documents that share a passage with the corpus.
    sharing: u64,
    /// Documents of which matches may be missing.
    truncated: u64,
}

impl PassageListing<'_> {
    fn take(&mut self, item: &Item, searched: &SearchedDocument) -> Result<(), Failure> {
        self.counts.documents += 1;
        self.counts.empty += u64::from(searched.text.words.is_empty());
        self.counts.sharing += u64::from(!searched.matches.is_empty());
        self.counts.truncated += u64::from(searched.is_truncated);
        let found = FoundLine::new(item, searched, self.corpus);
        match self.plan.json {
            true => write_json(&mut self.output, &found),
            false => Ok(found.print(&searched.text.text, &mut self.output)?),
        }
    }

    fn finish(self) -> Result<PassageCounts, Failure> {
        self.output.finish()?;
        Ok(self.counts)
    }
}

impl PassageCounts {
    fn print(&self, plan: &PassagesPlan) {
        let [documents, sharing] = [self.documents, self.sharing].map(HumanCount);
        let words = plan.settings.run_words();
        eprintln!("documents: {documents}; sharing a passage with the corpus: {sharing}");
        eprintln!("every shared run of {words} words is found");
        if self.truncated > 0 {
            let truncated = HumanCount(self.truncated);
            eprintln!("except for documents whose search reached a limit of work: {truncated}");
        }
    }
}
