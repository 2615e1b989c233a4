//! Where in memory a key is at home, as it is needed twice: first to ask for the line, and then to
//! read or change it.

use super::group::Sought;
use super::line::Packed;
use super::pages::{LineNumber, PAGE_PAIRS, PageNumber};

/// The line where a key is at home, and what of the key is in its postings.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct Aim {
    pub(super) line: LineNumber,
    pub(super) entry_bits: u32,
    pub(super) key: Packed,
}

impl Aim {
    /// `page`: of the group.
    #[inline]
    pub(super) fn of(sought: &Sought, page: PageNumber) -> Self {
        let pair = (sought.first_pair() + sought.home.pair) as usize % PAGE_PAIRS;
        let line = LineNumber::of(page, pair * 2 + sought.home.line as usize);
        Self { line, entry_bits: sought.shape.entry_bits, key: sought.key }
    }
}
