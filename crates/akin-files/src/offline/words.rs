//! The words of texts in a file, in the order of the documents: their number, then their hashes.

use std::io::{self, Read};
use std::ops::Range;

use super::rows::ContinuedFile;
use super::sets::{ELEMENT_BYTES, element_bytes, read_elements};

/// Encodes the words of a text.
pub(super) fn push_words(words: &[u64], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(words.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&element_bytes(words));
}

/// Reads the words of one text after another.
pub struct WordsReader<'w> {
    file: Box<dyn Read + 'w>,
    bytes: Vec<u8>,
    words: Vec<u64>,
}

impl<'w> WordsReader<'w> {
    pub(super) fn new(file: impl Read + 'w) -> Self {
        Self { file: Box::new(file), bytes: Vec::new(), words: Vec::new() }
    }

    /// The words of the next document.
    ///
    /// # Errors
    /// The file could not be read back.
    pub fn next_text(&mut self) -> io::Result<&[u64]> {
        let mut count = [0; ELEMENT_BYTES as usize];
        self.file.read_exact(&mut count)?;
        self.bytes.clear();
        let wanted = u64::from_le_bytes(count).saturating_mul(ELEMENT_BYTES);
        let read = self.file.by_ref().take(wanted).read_to_end(&mut self.bytes)?;
        if read as u64 != wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (words, _) = self.bytes.as_chunks();
        self.words.clear();
        self.words.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        Ok(&self.words)
    }
}

/// Reads the words of a document. `range`: their places among the words of all documents.
pub(super) fn read_words(
    file: &ContinuedFile,
    number: u32,
    range: Range<u64>,
    words: &mut Vec<u64>,
) -> io::Result<()> {
    // Each text before has its number of words, and so has this text.
    let begin = range.start + u64::from(number) + 1;
    words.resize((range.end - range.start) as usize, 0);
    read_elements(file, begin, words)
}
