//! Words of a passage → bytes and code points of the text.

use std::ops::Range;

use super::blocks::BlockPlace;
use crate::text::{CharOffsets, ShingleError, Shingler, WordSequence};

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The numbers of its words.
    pub words: Range<usize>,
    /// Its bytes.
    pub bytes: Range<usize>,
    /// Its Unicode code points.
    pub chars: Range<usize>,
}

/// The words of a block of a text, or of the whole text without a block. `None` if the text has no
/// such block, because it is another version than the version that was indexed.
///
/// # Errors
/// [`ShingleError::TooLong`]
pub fn block_words(
    shingler: &Shingler,
    text: &str,
    block: Option<&BlockPlace>,
) -> Result<Option<WordSequence>, ShingleError> {
    let part = block.map_or(Some(text), |block| text.get(block.bytes()));
    part.map(|part| shingler.words(part)).transpose()
}

/// The spans of ranges of words of a text. `blocks`: the blocks of a text with several blocks;
/// only the blocks with the ranges are cut. `None` if the text does not have the words, because it
/// is another version than the version that was indexed.
///
/// # Errors
/// [`ShingleError::TooLong`]
pub fn locate(
    shingler: &Shingler,
    text: &str,
    blocks: Option<&[BlockPlace]>,
    words: &[Range<usize>],
) -> Result<Option<Vec<Span>>, ShingleError> {
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by_key(|number| words[*number].start);
    let mut spans = vec![None; words.len()];
    let mut part: Option<TextPart<'_>> = None;
    for number in order {
        let range = &words[number];
        let place = blocks.map(|blocks| BlockPlace::covering(blocks, range));
        let known = part.take().filter(|part| part.place == place);
        let Some(cut) =
            known.map_or_else(|| TextPart::new(shingler, text, place), |it| Ok(Some(it)))?
        else {
            return Ok(None);
        };
        spans[number] = cut.span(range);
        part = Some(cut);
    }
    Ok(spans.into_iter().collect())
}

/// A part of a text that was cut into words.
struct TextPart<'t> {
    place: Option<BlockPlace>,
    words: WordSequence,
    chars: CharOffsets<'t>,
}

impl<'t> TextPart<'t> {
    fn new(
        shingler: &Shingler,
        text: &'t str,
        place: Option<BlockPlace>,
    ) -> Result<Option<Self>, ShingleError> {
        let Some(part) = place.map_or(Some(text), |place| text.get(place.bytes())) else {
            return Ok(None);
        };
        let words = shingler.words(part)?;
        Ok(Some(Self { place, words, chars: CharOffsets::new(part) }))
    }

    fn span(&self, words: &Range<usize>) -> Option<Span> {
        let before = self.place.unwrap_or_default();
        let first = before.words().start;
        let here = words.start.checked_sub(first)?..words.end.checked_sub(first)?;
        if here.is_empty() || here.end > self.words.len() {
            return None;
        }
        let bytes = self.words.bytes(here);
        let chars = self.chars.range(bytes.clone());
        let (bytes_before, chars_before) = (before.bytes().start, before.chars_before());
        Some(Span {
            words: words.clone(),
            bytes: bytes.start + bytes_before..bytes.end + bytes_before,
            chars: chars.start + chars_before..chars.end + chars_before,
        })
    }
}
