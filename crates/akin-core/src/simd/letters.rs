//! The classes of characters for cutting words, and the reading of blocks with characters beyond
//! ASCII.

use std::sync::atomic::{AtomicU8, Ordering};

use super::words::{BLOCK_BYTES, Block};

/// Code points of the basic multilingual plane.
const BMP: usize = 0x1_0000;

/// A flag next to the class: the lower case of the character is a different character.
const LOWERS: u8 = 4;

/// A flag next to the class: the character is respelled with the same number of bytes.
const RESPELLED: u8 = 8;

/// A flag next to the class: two marks with this flag side by side may be in the wrong order.
const ORDERED: u8 = 16;

/// A flag next to the class: normalising may change the words of a text with this character.
const UNSTABLE: u8 = 32;

/// A flag next to the class: the character has been looked up. A byte without it says nothing.
const KNOWN: u8 = 64;

/// All flags next to the class. (Masking with 3 instead would tell the compiler that there are four
/// cases, and it would use a jump table, which makes marks half as fast.)
const BESIDE: u8 = LOWERS | RESPELLED | ORDERED | UNSTABLE | KNOWN;

/// The role of a character when words are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Ends the token before it and belongs to none.
    Separator = 0,
    /// Extends a word, or begins a word.
    Word = 1,
    /// A letter of a script without spaces: opens a token of its own.
    Cut = 2,
    /// Extends the current token; without a current token, it separates.
    Mark = 3,
}

/// The effect of normalisation on the words of a text with a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// No effect.
    Stable,
    /// It is replaced by lower-case letters with the same number of bytes.
    Respelled,
    /// No effect, unless a mark with this flag is before it.
    Ordered,
    /// Any other effect.
    Unstable,
}

/// The classes of all characters. ASCII letters and digits must be [`Class::Word`], all other ASCII
/// [`Class::Separator`], and all of ASCII [`Stability::Stable`].
pub struct Letters {
    /// A byte for each code point of the basic multilingual plane, written when the first text has
    /// the character: most processes read few characters. The letters of a text are near each other
    /// there, so the bytes that are read stay in the nearest cache.
    bmp: [AtomicU8; BMP],
    letter: fn(char) -> (Class, Stability),
    respell: fn(char) -> &'static str,
}

impl Letters {
    /// An apostrophe (U+0027) between two characters of [`Class::Word`] belongs to their word.
    pub const fn new(class: fn(char) -> (Class, Stability)) -> Self {
        Self::of_raw_texts(class, |_| "")
    }

    /// The classes for texts that are not normalised, or need not be: `respell` gives the spelling
    /// of [`Stability::Respelled`] characters.
    pub const fn of_raw_texts(
        letter: fn(char) -> (Class, Stability),
        respell: fn(char) -> &'static str,
    ) -> Self {
        #[expect(clippy::large_stack_arrays, reason = "every value is a static")]
        let bmp = [const { AtomicU8::new(0) }; BMP];
        Self { bmp, letter, respell }
    }

    /// The class of a character.
    #[inline]
    pub fn class(&self, character: char) -> Class {
        match self.known(character as u32) & !BESIDE {
            0 => Class::Separator,
            1 => Class::Word,
            2 => Class::Cut,
            _ => Class::Mark,
        }
    }

    /// Whether the character at the start of these bytes belongs to a word.
    #[cold]
    pub(super) fn begins_with_word(&self, bytes: &[u8]) -> bool {
        let mut block = [0; BLOCK_BYTES];
        let size = bytes.len().min(4);
        block[..size].copy_from_slice(&bytes[..size]);
        let code_point =
            if block[0] < 0x80 { u32::from(block[0]) } else { decode(|number| block[number]).0 };
        self.known(code_point) & !BESIDE == Class::Word as u8
    }

    #[inline(always)]
    fn known(&self, code_point: u32) -> u8 {
        match self.bmp.get(code_point as usize).map(|byte| byte.load(Ordering::Relaxed)) {
            Some(known) if known & KNOWN != 0 => known,
            _ => self.look_up(code_point),
        }
    }

    #[cold]
    fn look_up(&self, code_point: u32) -> u8 {
        let known = char::from_u32(code_point).map_or(0, |it| known(it, (self.letter)(it))) | KNOWN;
        if let Some(byte) = self.bmp.get(code_point as usize) {
            byte.store(known, Ordering::Relaxed);
        }
        known
    }

    /// Reads the characters beyond ASCII of a block after its ASCII has been read. Stops at the end
    /// of the block, at a character that crosses it, or at a character with a lower case of another
    /// length, which must be read alone. If the text turns out to be unstable, the results must be
    /// discarded.
    #[inline(always)]
    pub(super) fn read(&self, bytes: &[u8; BLOCK_BYTES], lowercase: bool, block: &mut Block) {
        // Bit 63 is left for the break that follows the last character.
        block.settle(BLOCK_BYTES - 1);
        let (mut leads, mut word) = (block.leads, block.word);
        let (mut after_mark, mut side_by_side) = (block.after_mark, 0);
        let changing = UNSTABLE | RESPELLED | if lowercase { LOWERS } else { 0 };
        while leads != 0 {
            let at = leads.trailing_zeros() as usize;
            leads &= leads - 1;
            // Of a character that crosses the end of the block, only the size is valid.
            let (code_point, size) = decode(|number| bytes[(at + number) % BLOCK_BYTES]);
            if at + size >= BLOCK_BYTES {
                block.settle(at);
                break;
            }
            let known = self.known(code_point);
            if known & changing != 0 && !self.respell(known, at, size, code_point, block) {
                match at {
                    _ if block.is_unstable => return,
                    0 => return block.lower_alone(size, code_point),
                    _ => block.settle(at),
                }
                break;
            }
            let covered = ((1 << size) - 1) << at;
            match known & !BESIDE {
                0 => {}
                1 => word |= covered,
                2 => {
                    word |= covered;
                    block.breaks |= 1 << at | 1 << (at + size);
                }
                _ => {
                    let ordered = u64::from(known & ORDERED != 0);
                    side_by_side |= ordered & after_mark >> at;
                    after_mark |= ordered << (at + size);
                    if block.before(word) >> at & 1 != 0 {
                        // A mark belongs to the token before it, and a break after the token moves
                        // behind the mark.
                        word |= covered;
                        let breaks = block.breaks >> at & 1;
                        block.breaks ^= breaks << at | breaks << (at + size);
                    }
                }
            }
        }
        block.word = word;
        block.after_mark = after_mark;
        block.is_unstable = side_by_side != 0;
    }

    /// Replaces a character by its lower case or its other spelling. Returns whether the lengths
    /// are equal and the character is stable.
    #[inline]
    fn respell(
        &self,
        known: u8,
        at: usize,
        size: usize,
        code_point: u32,
        block: &mut Block,
    ) -> bool {
        if known & UNSTABLE != 0 {
            block.is_unstable = true;
            return false;
        }
        if known & RESPELLED == 0 {
            return block.lower(at, size, code_point);
        }
        let spelling = char::from_u32(code_point).map_or("", self.respell);
        block.folded[at..at + size].copy_from_slice(spelling.as_bytes());
        true
    }
}

fn known(character: char, (class, stability): (Class, Stability)) -> u8 {
    let lowers = class == Class::Word && !character.to_lowercase().eq([character]);
    let beside = match stability {
        Stability::Stable => 0,
        Stability::Respelled => RESPELLED,
        Stability::Ordered => ORDERED,
        Stability::Unstable => UNSTABLE,
    };
    class as u8 | beside | if lowers { LOWERS } else { 0 }
}

/// The character that begins at a byte beyond ASCII, and its size in bytes. `byte`: the byte with a
/// number, counted from there.
#[inline(always)]
pub(crate) fn decode(byte: impl Fn(usize) -> u8) -> (u32, usize) {
    let low = |number: usize| u32::from(byte(number) & 0x3f);
    match u32::from(byte(0)) {
        lead @ ..0xe0 => ((lead & 0x1f) << 6 | low(1), 2),
        lead @ ..0xf0 => ((lead & 0xf) << 12 | low(1) << 6 | low(2), 3),
        lead => ((lead & 7) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
    }
}
