//! Finds the words of a text, and hashes them.

use super::hash::Hashing;
use super::letters::Letters;
use super::{Instructions, Level, WordMix, portable, prefetch};

/// The number of bytes that are classed at once: a bit for each in a register.
pub(super) const BLOCK_BYTES: usize = 64;

/// Prefetch distance, in bytes.
const AHEAD_BYTES: usize = 1_024;

/// Bytes of a batch: the batch and the data derived from it stay in the nearest cache.
const BATCH_BYTES: usize = 4_096;

/// The end of a batch in a text that turned out to be unstable: no batch ends there.
const UNSTABLE_END: usize = 0;

/// Hashing a word loads this many bytes from its start on.
const SLACK: [u8; super::SHORT_BYTES_MAX] = [0; super::SHORT_BYTES_MAX];

/// The hashes of a text's words in order: of runs of [`super::Class::Word`] with the marks among
/// them, optionally lowercased, and of single letters of scripts without spaces with the marks
/// after them.
///
/// Adds the range of bytes of each word in the text to `ranges`, if there are any.
///
/// `None` if the letters are for texts that are not normalised, and this text needs normalisation;
/// with ranges also if lowercasing changes the length of a character: the ranges would be shifted
/// then. The ranges are incomplete in both cases.
///
/// # Panics
/// If the text has 2 GiB or more. (Texts that are normalised are bounded below that.)
pub fn hash_words(
    level: Level,
    letters: &Letters,
    text: &str,
    lowercase: bool,
    mix: WordMix,
    mut ranges: Option<&mut Vec<[u32; 2]>>,
) -> Option<Vec<u64>> {
    assert!(text.len() < 1 << 31, "places are 32 bits wide, and lowercasing makes texts longer");
    let mut scan = WordScan::new(letters, text, lowercase);
    // English has a word in six bytes; a guess that is too low costs another allocation.
    let mut hashes = Vec::with_capacity(text.len() / 6 + 16);
    while scan.read < text.len() {
        scan.begin_batch();
        mark(level, &mut scan);
        if scan.batch_end == UNSTABLE_END {
            return None;
        }
        scan.end_batch();
        if let Some(ranges) = &mut ranges {
            let origin = scan.origin? as u32;
            let ends = scan.starts.iter().zip(&scan.ends);
            ranges.extend(ends.map(|(start, end)| [origin + start, origin + end]));
        }
        hash(level, mix, &mut scan, &mut hashes);
    }
    Some(hashes)
}

fn mark(level: Level, scan: &mut WordScan<'_>) {
    match level.0 {
        Instructions::Portable => portable::mark(scan),
        // SAFETY: a level is only made if the machine has its instructions.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => unsafe { super::avx2::mark(scan) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => unsafe { super::avx512::mark(scan) },
    }
}

fn hash(level: Level, mix: WordMix, scan: &mut WordScan<'_>, hashes: &mut Vec<u64>) {
    let (words_count, starts_count) = (scan.ends.len(), scan.starts.len());
    scan.folded.extend_from_slice(&SLACK);
    scan.starts.resize(starts_count.next_multiple_of(8), 0);
    scan.ends.resize(words_count.next_multiple_of(8), 0);
    level.run(Hashing {
        mix,
        text: &scan.folded,
        starts: &scan.starts,
        ends: &scan.ends,
        count: words_count,
        hashes,
    });
    scan.folded.truncate(scan.folded.len() - SLACK.len());
    scan.starts.truncate(starts_count);
    scan.ends.truncate(words_count);
}

/// The state of reading a text. A single batch is lowercased and marked at a time; a word that is
/// open at its end is carried over to the next batch.
pub(super) struct WordScan<'t> {
    letters: &'t Letters,
    lowercase: bool,
    text: &'t [u8],
    read: usize,
    folded: Vec<u8>,
    /// The place in the text of the first folded byte; `None` once lowercasing has changed the
    /// length of a character.
    origin: Option<usize>,
    /// [`UNSTABLE_END`] if normalising may change the words, so that reading them has ended.
    batch_end: usize,
    /// Places in `folded`. An open word has a start and no end yet.
    pub starts: Vec<u32>,
    pub ends: Vec<u32>,
    /// The last byte belongs to a token.
    is_open: bool,
    /// A token ends with the last byte, regardless of the next byte.
    breaks: bool,
    /// 1 if the last character is a mark, and the next character may have to be moved before it.
    after_mark: u64,
}

/// A block with its ASCII already read: a bit for each byte.
pub(super) struct AsciiBlock {
    /// The text with its ASCII letters lowercased, if that is wanted.
    pub folded: [u8; BLOCK_BYTES],
    /// An ASCII letter or digit.
    pub word: u64,
    /// Begins a character beyond ASCII.
    pub leads: u64,
    pub apostrophes: u64,
}

/// A block as it is read: a bit for each byte.
pub(super) struct Block {
    /// The text as it is hashed.
    pub folded: [u8; BLOCK_BYTES],
    /// Belongs to a token.
    pub word: u64,
    /// Begins a character beyond ASCII.
    pub leads: u64,
    /// Begins a token even if the byte before belongs to a token.
    pub breaks: u64,
    /// A mark that may have to be reordered ends before the byte.
    pub after_mark: u64,
    /// Normalising may change the words.
    pub is_unstable: bool,
    was_open: bool,
    /// The number of bytes of the text that were read.
    read: usize,
    /// The number of bytes of `folded` that resulted.
    made: usize,
}

/// The starts and ends of tokens in a block.
pub(super) struct Edges {
    pub starts: u64,
    pub ends: u64,
    /// The place of the block.
    pub at: u32,
}

impl<'t> WordScan<'t> {
    fn new(letters: &'t Letters, text: &'t str, lowercase: bool) -> Self {
        let bytes = text.len().min(BATCH_BYTES) + 2 * BLOCK_BYTES;
        Self {
            letters,
            lowercase,
            text: text.as_bytes(),
            read: 0,
            folded: Vec::with_capacity(bytes),
            origin: Some(0),
            batch_end: 0,
            starts: Vec::with_capacity(bytes / 4),
            ends: Vec::with_capacity(bytes / 4),
            is_open: false,
            breaks: false,
            after_mark: 0,
        }
    }

    /// Drops everything except the open word. A word that began with the batch stays in its place,
    /// so that a word of any length is moved only once.
    fn begin_batch(&mut self) {
        let open = self.starts.get(self.ends.len()).copied();
        let dropped = open.map_or(self.folded.len(), |start| start as usize);
        self.folded.drain(..dropped);
        self.origin = self.origin.map(|origin| origin + dropped);
        self.starts.clear();
        self.starts.extend(open.map(|_| 0));
        self.ends.clear();
        self.batch_end = self.folded.len() + BATCH_BYTES;
    }

    /// A word at the end of the text has no separator after it.
    fn end_batch(&mut self) {
        if self.is_open && self.read == self.text.len() {
            self.ends.push(self.folded.len() as u32);
        }
    }

    /// The next 64 bytes of the text, padded with separators at its end.
    #[inline(always)]
    pub(super) fn next_block<'b>(
        &self,
        padded: &'b mut [u8; BLOCK_BYTES],
    ) -> Option<&'b [u8; BLOCK_BYTES]>
    where
        't: 'b,
    {
        if self.folded.len() >= self.batch_end {
            return None;
        }
        let text = self.text;
        if let Some(ahead) = text.get(self.read + AHEAD_BYTES) {
            prefetch(ahead);
        }
        let rest = &text[self.read..];
        let whole = rest.first_chunk();
        if whole.is_some() || rest.is_empty() {
            return whole;
        }
        padded.fill(0);
        padded[..rest.len()].copy_from_slice(rest);
        Some(padded)
    }

    /// The ASCII letters to lowercase: all bits or none.
    #[inline(always)]
    pub(super) fn cases(&self) -> u64 {
        if self.lowercase { u64::MAX } else { 0 }
    }

    /// Takes a block after its ASCII has been read. A block never begins within a character.
    #[inline(always)]
    pub(super) fn take(&mut self, bytes: &[u8; BLOCK_BYTES], ascii: &AsciiBlock) -> Edges {
        let AsciiBlock { ref folded, word, leads, apostrophes } = *ascii;
        let at = self.folded.len();
        if leads == 0 && !self.breaks {
            let next = self.begins_word(apostrophes >> (BLOCK_BYTES - 1) != 0, BLOCK_BYTES);
            let (before, after) = (word << 1 | u64::from(self.is_open), word >> 1 | next << 63);
            let word = word | apostrophes & before & after;
            let before = word << 1 | u64::from(self.is_open);
            self.is_open = word >> (BLOCK_BYTES - 1) != 0;
            self.after_mark = 0;
            self.folded.extend_from_slice(folded);
            self.read = self.text.len().min(self.read + BLOCK_BYTES);
            return Edges { starts: word & !before, ends: before & !word, at: at as u32 };
        }
        let mut block = Block {
            folded: *folded,
            word,
            leads,
            breaks: u64::from(self.breaks),
            after_mark: self.after_mark,
            is_unstable: false,
            was_open: self.is_open,
            read: 0,
            made: 0,
        };
        self.letters.read(bytes, self.lowercase, &mut block);
        self.origin = self.origin.filter(|_| block.read == block.made);
        if block.is_unstable {
            self.batch_end = UNSTABLE_END;
        }
        if apostrophes != 0 && block.read == block.made {
            block.word |= self.joining(apostrophes, &block);
        }
        let before = block.before(block.word);
        let made = (1 << block.made) - 1;
        self.is_open = block.word << 1 >> block.made & 1 != 0;
        self.breaks = block.breaks >> block.made & 1 != 0;
        self.after_mark = block.after_mark >> block.made & 1;
        self.folded.extend_from_slice(&block.folded);
        self.folded.truncate(at + block.made);
        self.read = self.text.len().min(self.read + block.read);
        Edges {
            starts: block.word & (!before | block.breaks) & made,
            ends: before & (!block.word | block.breaks) & made,
            at: at as u32,
        }
    }

    /// The apostrophes in a block that belong to words.
    #[inline]
    fn joining(&self, apostrophes: u64, block: &Block) -> u64 {
        let last = block.made - 1;
        let next = self.begins_word(apostrophes >> last & 1 != 0, block.read);
        let before = block.before(block.word) & !block.breaks;
        let after = (block.word & !block.breaks) >> 1 & !(1 << last) | next << last;
        apostrophes & before & after
    }

    /// 1 if the character `ahead` bytes from here belongs to a word and `matters` is true,
    /// otherwise 0.
    #[inline(always)]
    fn begins_word(&self, matters: bool, ahead: usize) -> u64 {
        let rest = || self.text.get(self.read + ahead..).unwrap_or_default();
        u64::from(matters && self.letters.begins_with_word(rest()))
    }
}

impl Block {
    /// For bits of bytes in tokens: a bit for each byte with the byte before it in a token.
    #[inline(always)]
    pub(super) fn before(&self, word: u64) -> u64 {
        word << 1 | u64::from(self.was_open)
    }

    /// Sets the bytes that were read, with none added or dropped.
    #[inline(always)]
    pub(super) fn settle(&mut self, bytes: usize) {
        (self.read, self.made) = (bytes, bytes);
    }

    /// Lowercases a character in its place. Returns whether the result has the same length.
    #[inline]
    pub(super) fn lower(&mut self, at: usize, size: usize, code_point: u32) -> bool {
        let mut lowered = char::from_u32(code_point).into_iter().flat_map(char::to_lowercase);
        let (first, second) = (lowered.next(), lowered.next());
        match first {
            Some(first) if second.is_none() && first.len_utf8() == size => {
                first.encode_utf8(&mut self.folded[at..at + size]);
                true
            }
            _ => false,
        }
    }

    /// Reads only the first character of the block, which is a letter.
    #[cold]
    pub(super) fn lower_alone(&mut self, size: usize, code_point: u32) {
        self.made = 0;
        for lowered in char::from_u32(code_point).into_iter().flat_map(char::to_lowercase) {
            self.made += lowered.encode_utf8(&mut self.folded[self.made..]).len();
        }
        self.word = (1 << self.made) - 1;
        self.read = size;
    }
}
