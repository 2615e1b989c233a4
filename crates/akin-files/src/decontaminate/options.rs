//! The options of the command, and their checks.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::corpus::TextOptions;
use crate::dedup::{KeptWriter, OutputPlace, refuse_mixing};
use crate::failure::Failure;
use crate::input::{self, ColumnNames, Selection};
use crate::output::{Destination, Inputs, Output};
use akin_core::scheme::Threshold;

/// Remove an evaluation set from training texts (decontamination); needs no server
///
/// The command finds all runs of 13 words (--words) of the training texts that a text of the
/// evaluation set has, too: word for word, without regard to case, punctuation, line breaks and the
/// words around them. It leaves out the contaminated documents, or cuts the found words out of
/// their texts, or only reports them; all other documents are written unchanged, in the order of
/// the input, as `akin dedup` writes them. The evaluation set is kept in memory, the training texts
/// are not. Evaluation documents of fewer words are compared as a whole: with training documents
/// that have these words and no others.
///
/// Words are counted as a reader counts them: 1.6 letters of Han, 2 of kana, 2.8 of Thai, 3.1 of
/// Lao and Khmer, 2.2 of Burmese, 2 to 2.3 of Tai scripts, 1.4 of Yi and 3 of Javanese are a word.
///
/// Exit code 0: success, also if documents are contaminated; 1: failure; 2: wrong arguments; 130:
/// interrupted.
#[derive(Args)]
pub struct Arguments {
    /// Files or directories of training documents, as `akin import` takes them, or - for stdin
    #[arg(required_unless_present = "files_from", value_name = "TRAIN")]
    paths: Vec<PathBuf>,
    /// Files or directories of evaluation documents, in the same formats
    #[arg(long, required = true, num_args = 1.., value_name = "EVALS")]
    against: Vec<PathBuf>,
    /// The column with the texts of the evaluation documents [default: that of the training
    /// documents]
    #[arg(long, value_name = "NAME,NAME")]
    against_text_column: Vec<ColumnNames>,
    /// The column with the ids of the evaluation documents [default: that of the training
    /// documents]
    #[arg(long, value_name = "NAME")]
    against_id_column: Option<String>,
    /// The number of words in a row that have to be equal
    #[arg(long, value_name = "N", default_value = "13",
          value_parser = clap::value_parser!(u8).range(1..=100))]
    words: u8,
    /// What to do with contaminated documents
    #[arg(long, value_name = "WHAT", default_value = "drop")]
    pub action: ContaminationAction,
    /// A document is contaminated if at least this share of its words is in the evaluation set
    /// [default: any]
    #[arg(long, value_name = "0..1", value_parser = input::threshold)]
    pub threshold: Option<Threshold>,
    /// A document is contaminated if at least this many of its words in a row are in the evaluation
    /// set [default: any]; with --threshold either suffices
    #[arg(long, value_name = "N")]
    pub longest: Option<NonZeroUsize>,
    /// Ignore runs of --words words that more than this many training documents have: boilerplate.
    /// The training files are read twice
    #[arg(long, value_name = "N")]
    pub frequent: Option<u32>,
    /// Phrases that are no contamination, one on each line of this file: their words do not count
    #[arg(long, value_name = "FILE")]
    pub ignore: Option<PathBuf>,
    #[command(flatten)]
    destination: Destination,
    /// Write a file for each input, under its name, into this directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "output")]
    output_dir: Option<PathBuf>,
    /// Write a line of JSON for each contaminated document, and at the end for each evaluation
    /// document that was seen, to this file; - is stdout
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a summary as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub texts: TextOptions,
}

/// What to do with contaminated documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContaminationAction {
    /// Leave them out
    Drop,
    /// Cut the words that are in the evaluation set out of their texts
    Cut,
    /// Report them, and write no documents
    Report,
}

/// The checked options.
pub struct DecontaminationPlan {
    pub training: Selection,
    pub against: Selection,
    pub words: usize,
    pub options: Arguments,
    /// Where the documents are written; `None` if they are only reported.
    place: Option<OutputPlace>,
}

impl DecontaminationPlan {
    /// # Errors
    /// An input does not exist, or would be read twice; an output is an input, exists, or would be
    /// written twice.
    pub fn new(options: Arguments) -> Result<Self, Failure> {
        let (text, id) = (&options.against_text_column, options.against_id_column.clone());
        let what = "stdin has either evaluation documents or training documents, or their list";
        let paths = (options.paths.clone(), options.against.clone());
        let [mut training, against] =
            options.texts.selections(paths.0, paths.1, (text, id), what)?;
        if options.action == ContaminationAction::Cut {
            training.reading.columns.refuse_cutting()?;
        }
        // Rows are copied whole, so further columns need not be read; lines are made of the columns
        // read.
        let is_copied = options.output_dir.is_none() && options.destination.is_parquet();
        training.reading.columns_mut().prunes =
            is_copied || options.action == ContaminationAction::Report;
        let inputs = options.texts.read.inputs([&training, &against], options.ignore.as_deref());
        let place = options.place(&training, &inputs)?;
        Ok(Self { training, against, words: options.words.into(), options, place })
    }

    /// The writer of the documents, and the file of the report, if they are wanted.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn outputs(&self) -> Result<(Option<KeptWriter>, Option<Output>), Failure> {
        let Arguments { report, destination, .. } = &self.options;
        let place = self.place.clone();
        let writer = place.map(|place| KeptWriter::new(place, &self.training, false));
        let report = report.as_deref().map(|path| Output::create(path, destination.force));
        Ok((writer.transpose()?, report.transpose()?))
    }
}

impl Arguments {
    /// Where the documents are written; `None` if they are only reported.
    fn place(&self, training: &Selection, inputs: &Inputs) -> Result<Option<OutputPlace>, Failure> {
        let (destination, report) = (&self.destination, self.report.as_deref());
        if self.action != ContaminationAction::Report {
            let (destination, directory) = (destination.clone(), self.output_dir.clone());
            let place =
                OutputPlace::new(destination, directory, report, self.json, training, inputs)?;
            return place.check(training, false).map(|()| Some(place));
        }
        refuse_mixing(report, self.json)?;
        if self.output_dir.is_some() || !destination.is_stdout() {
            return Err(Failure::with_hint(
                "--action report writes no documents",
                "--report names the file of the report",
            ));
        }
        destination.check_beside(report, inputs)?;
        Ok(None)
    }
}
