//! Where in memory a key is at home, as it is needed twice: first to ask for the line, and then to
//! read or change it.

use super::group::Sought;
use super::line::{PACKED, PACKED_BITS, Packed};
use super::pages::{LineNumber, PAGE_PAIRS, PageNumber};

/// The line where a key is at home, and what of the key is in its postings.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct Aim {
    pub(super) line: LineNumber,
    /// In the lowest [`PACKED_BITS`] the key's posting with entry 0; above, how many bits an entry
    /// has. So all of it is 16 bytes, which stay in registers.
    key_and_bits: u64,
}

impl Aim {
    /// `page`: of the group; its pairs are all on that.
    #[inline]
    pub(super) fn of(sought: &Sought, page: PageNumber) -> Self {
        let pair = sought.first_pair() as usize % PAGE_PAIRS + sought.home.pair as usize;
        let line = LineNumber::of(page, pair * 2 + sought.home.line as usize);
        Self { line, key_and_bits: sought.key | u64::from(sought.shape.entry_bits) << PACKED_BITS }
    }

    #[inline]
    pub(super) fn key(self) -> Packed {
        self.key_and_bits & PACKED
    }

    #[inline]
    pub(super) fn entry_bits(self) -> u32 {
        (self.key_and_bits >> PACKED_BITS) as u32
    }
}
