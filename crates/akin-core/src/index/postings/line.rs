//! The postings of a cache line, and their packing.

use crate::simd::equal_words;

/// Postings per line.
pub(super) const LINE_POSTINGS: usize = 10;

/// A posting has 48 bits: the tag in the highest, the entry in the lowest.
pub(super) const POSTING_BITS: u32 = 48;

/// `tags[LINE_POSTINGS]` contains the number of postings, and these flags.
const LENGTH: u16 = 0xf;
const CROWDED: u16 = 1 << 4;

/// `tags[OVERFLOWED]` has a bit for each class of tags with postings in later lines.
const OVERFLOWED: usize = LINE_POSTINGS + 1;

/// Ten postings: the upper 16 of their 48 bits, the lower 32, and the extras.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line<X> {
    tags: [u16; LINE_POSTINGS + 2],
    words: [u32; LINE_POSTINGS],
    extras: [X; LINE_POSTINGS],
}

/// The bits of a key that a segment stores, at the top of 48, and the mask of the entry's bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    bits: u64,
    entry_mask: u32,
}

impl Tag {
    /// `rest`: the key's bits that distinguish it within its segment, left-aligned.
    #[inline]
    pub fn new(rest: u32, key_mask: u32, entry_mask: u32) -> Self {
        Self { bits: u64::from(rest & key_mask) << (POSTING_BITS - u32::BITS), entry_mask }
    }

    /// The stored bits of the key, left-aligned.
    #[inline]
    pub fn rest(self) -> u32 {
        (self.bits >> (POSTING_BITS - u32::BITS)) as u32
    }

    #[inline]
    fn high(self) -> u16 {
        (self.bits >> u32::BITS) as u16
    }

    #[inline]
    fn word(self, entry: u32) -> u32 {
        self.bits as u32 | entry
    }

    #[inline]
    fn overflow_bit(self) -> u16 {
        1 << (self.high() % 16)
    }
}

impl<X: Copy + Default> Line<X> {
    pub fn empty() -> Self {
        let extras = [X::default(); LINE_POSTINGS];
        Self { tags: [0; LINE_POSTINGS + 2], words: [0; LINE_POSTINGS], extras }
    }

    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.tags[LINE_POSTINGS] & LENGTH)
    }

    /// Whether a key with this first line may have postings in the page's crowds.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.tags[LINE_POSTINGS] & CROWDED != 0
    }

    pub fn mark_crowded(&mut self) {
        self.tags[LINE_POSTINGS] |= CROWDED;
    }

    /// Whether postings of this tag, or of another of its class, may be in the next line.
    #[inline]
    pub fn has_overflowed(&self, tag: Tag) -> bool {
        self.tags[OVERFLOWED] & tag.overflow_bit() != 0
    }

    /// Calls `each` with the slot and the entry of each posting with the tag.
    #[inline]
    pub fn each(&self, tag: Tag, mut each: impl FnMut(usize, u32)) {
        let mut left = equal_words(&self.tags, tag.high()) & ((1 << self.len()) - 1);
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            if (self.words[at] ^ tag.word(0)) & !tag.entry_mask == 0 {
                each(at, self.words[at] & tag.entry_mask);
            }
            left &= left - 1;
        }
    }

    #[inline]
    pub fn extra(&self, at: usize) -> X {
        self.extras[at]
    }

    /// The key bits, entry and extra of each posting.
    pub fn all(&self, entry_mask: u32) -> impl Iterator<Item = (u32, u32, X)> {
        let postings = self.tags.iter().zip(&self.words).zip(&self.extras).take(self.len());
        postings.map(move |((tag, word), extra)| {
            let bits = u64::from(*tag) << u32::BITS | u64::from(word & !entry_mask);
            ((bits >> (POSTING_BITS - u32::BITS)) as u32, word & entry_mask, *extra)
        })
    }

    /// Adds a posting; `false` if the line is full, which is then marked as overflowed.
    #[inline]
    pub fn push(&mut self, tag: Tag, entry: u32, extra: X) -> bool {
        let at = self.len();
        if at == LINE_POSTINGS {
            self.tags[OVERFLOWED] |= tag.overflow_bit();
            return false;
        }
        self.tags[at] = tag.high();
        self.words[at] = tag.word(entry);
        self.extras[at] = extra;
        self.tags[LINE_POSTINGS] += 1;
        true
    }

    pub fn remove(&mut self, at: usize) {
        let last = self.len() - 1;
        self.tags[at] = self.tags[last];
        self.words[at] = self.words[last];
        self.extras[at] = self.extras[last];
        self.tags[LINE_POSTINGS] -= 1;
    }
}
