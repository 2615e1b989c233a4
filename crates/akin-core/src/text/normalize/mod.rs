//! Unicode normalisation: canonically or compatibly equivalent texts become equal.
//!
//! Most characters of most texts are inert: normalisation keeps them, regardless of their
//! neighbours. A text of inert characters is not copied. In other texts, each run between two inert
//! characters is rewritten, as the quick check of UAX #15 allows.

mod edits;
mod table;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::simd::decode;

pub(super) use self::edits::Edits;
use self::table::{CharacterEntry, CharacterTable};

/// The normalisation of a text before it is cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Normalize {
    /// NFKC without default-ignorable characters, and with full case folding where letter case is
    /// ignored: `NFKC_Casefold` of the Unicode standard.
    Nfkc,
    /// NFC.
    Nfc,
    /// Nothing.
    None,
}

/// Normalises texts. Where letter case is ignored, the result may have upper-case characters, which
/// are lowercased when words are hashed. The table is made for the first text beyond ASCII, as that
/// takes longer than most of what a small command does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Normalizer(Option<&'static LazyLock<CharacterTable>>);

impl Normalizer {
    pub(super) fn new(form: Normalize, lowercase: bool) -> Self {
        Self(match (form, lowercase) {
            (Normalize::Nfkc, true) => Some(&table::NFKC_CASEFOLD),
            (Normalize::Nfkc, false) => Some(&table::NFKC),
            (Normalize::Nfc, _) => Some(&table::NFC),
            (Normalize::None, _) => None,
        })
    }

    /// The replacement of a character, if it does not depend on the character before.
    pub(super) fn effect(self, character: char) -> Effect {
        let table = self.0.filter(|_| !character.is_ascii());
        match table.map_or(CharacterEntry::Inert, |table| table.entry(character)) {
            CharacterEntry::Inert => Effect::None,
            CharacterEntry::Mark(_) => Effect::Order,
            CharacterEntry::Image(image) if image.starts_run && !image.ends_with_mark => {
                Effect::Image(&image.text)
            }
            CharacterEntry::Image(_) | CharacterEntry::Composing => Effect::Unknown,
        }
    }

    /// `None` if the normalised text has more than `bytes_max` bytes: the work ends soon after that
    /// number of bytes. Records edits if there is a record to write to.
    pub(super) fn normalize_within<'t>(
        self,
        bytes_max: usize,
        text: &'t str,
        edits: Option<&mut Edits>,
    ) -> Option<Cow<'t, str>> {
        let normalized = match self.0 {
            // All of ASCII is inert.
            Some(table) if !text.is_ascii() => Rewrite::new(table, text, edits).run(bytes_max)?,
            _ => Cow::Borrowed(text),
        };
        (normalized.len() <= bytes_max).then_some(normalized)
    }
}

/// The effect of normalisation on a character.
pub(super) enum Effect {
    None,
    /// Nothing, unless marks are before it.
    Order,
    Image(&'static str),
    /// It depends on the character before.
    Unknown,
}

/// A pass over a text.
struct Rewrite<'t, 'e> {
    table: &'static CharacterTable,
    text: &'t str,
    edits: Option<&'e mut Edits>,
    /// The normalised text of the first `flushed` bytes.
    output: String,
    flushed: usize,
    boundary: Boundary,
    /// Canonical combining class of the last character.
    last_class: u8,
}

/// The start of the last character that does not depend on the characters before it.
#[derive(Clone, Copy)]
struct Boundary {
    input: usize,
    /// The difference between a position in the input and in the output, modulo 2⁶⁴.
    shift: usize,
}

impl<'t, 'e> Rewrite<'t, 'e> {
    fn new(table: &'static CharacterTable, text: &'t str, edits: Option<&'e mut Edits>) -> Self {
        let boundary = Boundary { input: 0, shift: 0 };
        Self { table, text, edits, output: String::new(), flushed: 0, boundary, last_class: 0 }
    }

    /// `None` if more than `bytes_max` bytes were written.
    fn run(mut self, bytes_max: usize) -> Option<Cow<'t, str>> {
        let mut at = 0;
        loop {
            at = self.skip_inert(at);
            let Some(character) = self.text[at..].chars().next() else { break };
            at = self.step(at, character);
            if self.output.len() > bytes_max {
                return None;
            }
        }
        if self.flushed == 0 {
            return Some(Cow::Borrowed(self.text));
        }
        self.flush(self.text.len());
        Some(Cow::Owned(self.output))
    }

    /// The end of the run of inert characters and ordered marks that begins at a place in the
    /// input. Most texts are a single run, so the speed of reading depends on this function.
    fn skip_inert(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let (mut at, mut last_inert, mut last_class) = (start, None, self.last_class);
        while let Some(&first) = bytes.get(at) {
            if first < 0x80 {
                at += count_leading_ascii(&bytes[at..]);
                (last_inert, last_class) = (Some(at - 1), 0);
                continue;
            }
            let (code_point, size) = decode(|number| bytes[at + number]);
            match self.table.packed_near(code_point) {
                Some(0) => (last_inert, last_class) = (Some(at), 0),
                Some(class) if class < 256 && class as u8 >= last_class => last_class = class as u8,
                _ => break,
            }
            at += size;
        }
        if let Some(last) = last_inert {
            self.set_boundary(last);
        }
        self.last_class = last_class;
        at
    }

    /// Reads the character at a place in the input, and returns the place of the next.
    fn step(&mut self, at: usize, character: char) -> usize {
        let end = at + character.len_utf8();
        match self.table.entry(character) {
            CharacterEntry::Inert => self.set_boundary(at),
            CharacterEntry::Mark(class) if class >= self.last_class => self.last_class = class,
            CharacterEntry::Mark(_) | CharacterEntry::Composing => return self.rewrite_run(end),
            CharacterEntry::Image(image) if image.text.is_empty() => self.replace(at..end, ""),
            CharacterEntry::Image(image) => {
                if image.starts_run {
                    self.flush(at);
                    self.set_boundary(at);
                }
                if !image.starts_run || image.ends_with_mark {
                    return self.rewrite_run(end);
                }
                self.replace(at..end, &image.text);
            }
        }
        end
    }

    #[inline]
    fn set_boundary(&mut self, at: usize) {
        self.boundary = Boundary { input: at, shift: self.shift() };
        self.last_class = 0;
    }

    #[inline]
    fn shift(&self) -> usize {
        self.flushed.wrapping_sub(self.output.len())
    }

    /// Copies the input up to a place.
    fn flush(&mut self, end: usize) {
        if self.output.capacity() == 0 {
            self.output.reserve(self.text.len());
        }
        self.output.push_str(&self.text[self.flushed..end]);
        self.flushed = end;
    }

    /// Writes a replacement for bytes of the input that are not in the output yet.
    fn replace(&mut self, input: Range<usize>, text: &str) {
        self.flush(input.start);
        let start = self.output.len();
        self.output.push_str(text);
        self.flushed = input.end;
        if let Some(edits) = &mut self.edits {
            edits.push(start..self.output.len(), input);
        }
    }

    /// Normalises from the last boundary up to the next, which is at `end` or later.
    fn rewrite_run(&mut self, end: usize) -> usize {
        let Boundary { input: start, shift } = self.boundary;
        if self.flushed > start {
            self.output.truncate(start.wrapping_sub(shift));
            self.flushed = start;
            if let Some(edits) = &mut self.edits {
                edits.truncate(start);
            }
        }
        let end = end + self.run_length(&self.text[end..]);
        let run = &self.text[start..end];
        match self.table.compose(run) {
            Some(composed) => self.replace(start..end, composed.encode_utf8(&mut [0; 4])),
            None => self.replace(start..end, &self.table.normalize_run(run)),
        }
        self.last_class = 0;
        end
    }

    /// The number of bytes of a text before its first boundary.
    fn run_length(&self, text: &str) -> usize {
        let is_boundary = |character| match self.table.entry(character) {
            CharacterEntry::Inert => true,
            CharacterEntry::Image(image) => image.starts_run,
            CharacterEntry::Mark(_) | CharacterEntry::Composing => false,
        };
        text.find(is_boundary).unwrap_or(text.len())
    }
}

/// The number of ASCII bytes at the start of a text: usually few in texts of other scripts, and
/// thousands in English.
#[inline(always)]
fn count_leading_ascii(bytes: &[u8]) -> usize {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk() {
        let beyond = u64::from_le_bytes(*eight) & HIGH_BITS;
        if beyond != 0 {
            return at + beyond.trailing_zeros() as usize / 8;
        }
        at += 8;
        while bytes[at..].first_chunk::<32>().is_some_and(|chunk| chunk.is_ascii()) {
            at += 32;
        }
    }
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii()).count()
}

#[cfg(test)]
mod tests;
