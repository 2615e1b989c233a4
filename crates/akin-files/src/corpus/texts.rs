//! The texts of a corpus, for the commands that compare words.

use clap::Args;

use super::gather::read;
use super::pipeline::{Analysed, work_in_order};
use super::uncompared::Uncompared;
use crate::failure::Failure;
use crate::input::{Event, Item, Origin, Record, Selection};
use crate::meter::Meter;
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
