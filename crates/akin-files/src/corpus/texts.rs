//! The texts of a corpus, for the commands that compare words.

use std::path::PathBuf;

use clap::Args;

use super::document::NotCompared;
use super::reading::ReadOptions;
use crate::failure::Failure;
use crate::input::{ColumnNames, Item, Record, Selection, refuse_url};
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
    pub read: ReadOptions,
}

impl TextOptions {
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
        let documents = self.read.selection(paths)?;
        others.iter().try_for_each(|path| refuse_url(path))?;
        let mut others = self.read.input.texts_of(others)?;
        others.reading.columns_mut().rename(ColumnNames::all(text), id);
        self.read.refuse_stdin_twice([&documents, &others], what)?;
        Ok([documents, others])
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
    pub fn cut(&self, item: &Item) -> Result<WordedText, NotCompared> {
        let record = item.record().map_err(NotCompared::Invalid)?;
        let has_messages = item.has_messages(&record);
        let (id, text) = text_of(record).map_err(NotCompared::Invalid)?;
        let words = self.shingler.words(&text);
        let words = words.map_err(|error| NotCompared::Invalid(error.to_string()))?;
        let is_short = || words.readers_words(&text, 0..words.len()) < self.min_words;
        match self.min_words > 0 && !words.is_empty() && is_short() {
            true => Err(NotCompared::Short),
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
