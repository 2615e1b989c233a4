//! The texts of a corpus, for the commands that compare words.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::cores;
use super::gather::read;
use super::pipeline::{Analysed, work_in_order};
use super::uncompared::Uncompared;
use crate::failure::Failure;
use crate::input::{
    ColumnNames, Event, InputOptions, Item, Origin, Record, Screening, Selection,
    refuse_stdin_twice, refuse_url,
};
use crate::meter::{Meter, Quantity};
use crate::output::Inputs;
use akin_core::text::{Fold, ShingleSettings, Shingler, WordSequence};
use akin_model::document::{Content, DocumentId};

/// A document with a text, cut into words.
pub struct WordedText {
    pub id: DocumentId,
    pub text: String,
    pub words: WordSequence,
    /// Whether the text is made of chat messages.
    pub has_messages: bool,
}

/// Why a record is not compared.
pub enum NoText {
    /// The text has too few words.
    Short,
    /// The record is not a document with a text: the reason.
    Invalid(String),
}

impl NoText {
    /// The record for the count of records that are not compared.
    pub fn of(self, origin: Origin) -> Analysed {
        match self {
            Self::Short => Analysed::Short,
            Self::Invalid(reason) => Analysed::Invalid { origin, reason },
        }
    }
}

/// Differences of spelling that a command ignores.
#[derive(Args, Debug)]
pub struct FoldOptions {
    /// Differences of spelling that do not count, several with commas between
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    fold: Vec<Fold>,
}

impl FoldOptions {
    /// The settings with these differences ignored, too.
    pub fn shingles(&self, mut settings: ShingleSettings) -> ShingleSettings {
        settings.fold.extend(&self.fold);
        settings
    }
}

/// How texts are read that are compared word by word with the texts of other files.
#[derive(Args)]
pub struct TextOptions {
    #[command(flatten)]
    fold: FoldOptions,
    #[command(flatten)]
    input: InputOptions,
    /// Threads that cut texts into words [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl TextOptions {
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(cores, NonZeroUsize::get)
    }

    pub fn screening(&self) -> Screening {
        self.input.screening()
    }

    /// # Errors
    /// Invalid records are to be kept, where none are written.
    pub fn refuse_keeping(&self) -> Result<(), Failure> {
        self.input.refuse_keeping()
    }

    /// Texts with fewer words than `min_words`, but some, are short.
    pub fn cutter(&self, min_words: usize) -> TextCutter {
        TextCutter::new(self.fold.shingles(ShingleSettings::default()), min_words)
    }

    /// The documents of these files and of the list of files, and those of other files, which may
    /// have other columns.
    ///
    /// # Errors
    /// A file does not exist; or stdin would be read twice: `what` says so.
    pub fn selections(
        &self,
        paths: Vec<PathBuf>,
        others: Vec<PathBuf>,
        (text, id): (&[ColumnNames], Option<String>),
        what: &str,
    ) -> Result<[Selection; 2], Failure> {
        let documents = self.input.texts_of(self.input.files(paths)?)?;
        others.iter().try_for_each(|path| refuse_url(path))?;
        let mut others = self.input.texts_of(others)?;
        others.reading.columns_mut().rename(ColumnNames::all(text), id);
        refuse_stdin_twice(&documents, &others, self.input.list(), what)?;
        Ok([documents, others])
    }

    /// The files that the command reads, with these further files.
    pub fn inputs<'a>(
        &'a self,
        selections: [&Selection; 2],
        further: impl IntoIterator<Item = &'a Path>,
    ) -> Inputs {
        let paths = selections.into_iter().flat_map(|selection| selection.paths.clone());
        let further = self.input.list().into_iter().chain(further).map(Path::to_owned);
        paths.chain(further).collect()
    }

    pub fn meter(&self, doing: &'static str, selection: &Selection) -> Meter {
        Meter::new(self.quiet, doing, Quantity::Bytes, selection.bytes(|| true).unwrap_or(0))
    }
}

/// Cuts texts into words.
pub struct TextCutter {
    shingler: Shingler,
    /// Texts with fewer words, but some, are short.
    min_words: usize,
}

impl TextCutter {
    /// Words are normalised by these settings, with any unit and size of shingles.
    pub fn new(settings: ShingleSettings, min_words: usize) -> Self {
        Self { shingler: Shingler::new(settings, 0, usize::MAX), min_words }
    }

    /// The words of a text that is no document.
    ///
    /// # Errors
    /// The text is too long.
    pub fn words(&self, text: &str) -> Result<WordSequence, Failure> {
        self.shingler.words(text).map_err(|error| Failure::new(error.to_string()))
    }

    /// # Errors
    /// The record has no text, or too short a text.
    pub fn cut(&self, item: &Item) -> Result<WordedText, NoText> {
        let record = item.record().map_err(NoText::Invalid)?;
        let has_messages = item.has_messages(&record);
        let (id, text) = text_of(record).map_err(NoText::Invalid)?;
        let words = self.shingler.words(&text);
        let words = words.map_err(|error| NoText::Invalid(error.to_string()))?;
        let is_short = || words.readers_words(&text, 0..words.len()) < self.min_words;
        match self.min_words > 0 && !words.is_empty() && is_short() {
            true => Err(NoText::Short),
            false => Ok(WordedText { id, text, words, has_messages }),
        }
    }
}

/// The id and the text of a document.
///
/// # Errors
/// The document has no text.
pub fn text_of(record: Record<'_>) -> Result<(DocumentId, String), String> {
    match record.content {
        Content::Text(text) => Ok((record.id, text)),
        _ => Err("the document has no text: only texts are compared".to_owned()),
    }
}

/// Visits the texts of a selection in their order, each with the result of `work`, which runs in
/// several threads. All other records are counted and reported.
///
/// # Errors
/// The first error of `visit`.
pub fn each_text<T: Send>(
    selection: &Selection,
    threads: usize,
    meter: &Meter,
    uncompared: &mut Uncompared,
    work: impl Fn(&Item) -> Result<T, NoText> + Sync,
    mut visit: impl FnMut(Item, T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    work_in_order(read(selection), threads, meter, work, |event, worked| {
        let analysed = match (event, worked) {
            (Event::Item(item), Some(Ok(text))) => return visit(item, text),
            (Event::Item(item), Some(Err(reason))) => Some(reason.of(item.origin)),
            (event, _) => Analysed::without_document(event),
        };
        if let Some(analysed) = analysed {
            uncompared.take(analysed, meter);
        }
        Ok(())
    })
}
