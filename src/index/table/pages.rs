//! Memory for lines: pages of them, cut from large blocks.
//!
//! Blocks are mapped by huge pages where the system has them, so they are shared by several tables,
//! and a table is a list of pages. A page that a table gives back is given out again; once much
//! lies idle, the last page moves to where an idle one is, so that blocks come to be empty.

use std::mem::size_of;

use super::line::Line;
use super::pair::Pair;
use crate::simd::prefer_huge_pages;

/// Of lines, two by two: as many as are whole groups of two, three or four.
pub(super) const PAGE_PAIRS: usize = 48;

/// The page that nothing is ever put on: where a table has no page yet, it reads this one.
pub(super) const NO_PAGE: PageNumber = 0;

const BLOCK_PAGES_MIN: usize = 16;
const BLOCK_PAGES_MAX: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 12;

/// A block's number, and in the lowest bits the page's within it.
pub(super) type PageNumber = u32;

/// The number of a line's block, and of the line within it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineNumber {
    block: u32,
    line: u32,
}

impl LineNumber {
    /// Of a line of a page, for as long as the page is where it is.
    #[inline]
    pub fn of(page: PageNumber, at: usize) -> Self {
        Self { block: page >> BLOCK_BITS, line: (start_of(page) * 2 + at) as u32 }
    }
}

/// Which page of which table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub table: u32,
    pub at: u32,
}

#[derive(Debug)]
struct Block {
    /// Whole pages; the capacity is set aside, but not in memory before it is used.
    pairs: Vec<Pair>,
    owners: Vec<Option<Owner>>,
}

#[derive(Debug)]
pub(super) struct Pages {
    blocks: Vec<Block>,
    /// Idle pages, and some that are no more.
    idle: Vec<PageNumber>,
    idle_count: usize,
    count: usize,
}

impl Default for Pages {
    fn default() -> Self {
        let mut pages = Self { blocks: Vec::new(), idle: Vec::new(), idle_count: 0, count: 0 };
        assert_eq!(pages.add(None), NO_PAGE);
        pages
    }
}

impl Pages {
    /// Pairs that are all on one page.
    #[inline]
    pub fn pairs(&self, page: PageNumber, at: usize, count: usize) -> &[Pair] {
        let start = start_of(page) + at;
        &self.blocks[(page >> BLOCK_BITS) as usize].pairs[start..start + count]
    }

    #[inline]
    pub fn pairs_mut(&mut self, page: PageNumber, at: usize, count: usize) -> &mut [Pair] {
        let start = start_of(page) + at;
        &mut self.blocks[(page >> BLOCK_BITS) as usize].pairs[start..start + count]
    }

    #[inline]
    pub fn line(&self, LineNumber { block, line }: LineNumber) -> &Line {
        &self.blocks[block as usize].pairs[line as usize / 2].0[line as usize % 2]
    }

    /// The line's pair, and which of the two it is.
    #[inline]
    pub fn pair_mut(&mut self, LineNumber { block, line }: LineNumber) -> (&mut Pair, usize) {
        (&mut self.blocks[block as usize].pairs[line as usize / 2], line as usize % 2)
    }

    /// An empty page.
    pub fn take(&mut self, owner: Owner) -> PageNumber {
        while let Some(page) = self.idle.pop() {
            if self.is_idle(page) {
                self.idle_count -= 1;
                *self.owner_mut(page) = Some(owner);
                self.page_mut(page).fill(Pair::EMPTY);
                return page;
            }
        }
        self.add(Some(owner))
    }

    pub fn give_back(&mut self, page: PageNumber) {
        *self.owner_mut(page) = None;
        self.idle.push(page);
        self.idle_count += 1;
    }

    /// If much lies idle: the last page's owner, and where its page is from now on.
    pub fn pull_in(&mut self) -> Option<(Owner, PageNumber)> {
        while self.idle_count > BLOCK_PAGES_MIN && self.idle_count > self.count / 8 {
            let last = self.last();
            if let Some(owner) = *self.owner_mut(last) {
                let page = self.take(owner);
                let pairs: [Pair; PAGE_PAIRS] =
                    self.page_mut(last).try_into().expect("a page has so many");
                self.page_mut(page).copy_from_slice(&pairs);
                self.drop_last();
                return Some((owner, page));
            }
            self.idle_count -= 1;
            self.drop_last();
        }
        None
    }

    pub fn bytes(&self) -> usize {
        self.count * PAGE_PAIRS * size_of::<Pair>()
            + self.count * size_of::<Option<Owner>>()
            + self.idle.capacity() * size_of::<PageNumber>()
    }

    /// A new page with these pairs.
    pub fn add_filled(&mut self, owner: Owner, pairs: &[Pair; PAGE_PAIRS]) -> PageNumber {
        self.add_pairs(Some(owner), pairs)
    }

    /// A new page at the end.
    fn add(&mut self, owner: Option<Owner>) -> PageNumber {
        self.add_pairs(owner, &[Pair::EMPTY; PAGE_PAIRS])
    }

    fn add_pairs(&mut self, owner: Option<Owner>, pairs: &[Pair; PAGE_PAIRS]) -> PageNumber {
        if self.blocks.last().is_none_or(Block::is_full) {
            self.blocks.push(Block::new(self.count));
        }
        let block = self.blocks.last_mut().expect("one was added if there was none");
        block.pairs.extend_from_slice(pairs);
        block.owners.push(owner);
        self.count += 1;
        self.last()
    }

    fn last(&self) -> PageNumber {
        let block = self.blocks.last().expect("the page that is no page is never dropped");
        ((self.blocks.len() - 1) << BLOCK_BITS | (block.owners.len() - 1)) as PageNumber
    }

    fn drop_last(&mut self) {
        let block = self.blocks.last_mut().expect("there is a last page");
        block.owners.pop();
        block.pairs.truncate(block.owners.len() * PAGE_PAIRS);
        self.count -= 1;
        if block.owners.is_empty() {
            self.blocks.pop();
            // The numbers of pages that are gone must not meet new pages of theirs.
            let end = (self.blocks.len() << BLOCK_BITS) as PageNumber;
            self.idle.retain(|page| *page < end);
            self.idle.shrink_to_fit();
        }
    }

    /// Not so of a page that is no more.
    fn is_idle(&self, page: PageNumber) -> bool {
        let block = self.blocks.get((page >> BLOCK_BITS) as usize);
        let owner = block.and_then(|block| block.owners.get(page as usize % BLOCK_PAGES_MAX));
        owner.is_some_and(Option::is_none)
    }

    fn owner_mut(&mut self, page: PageNumber) -> &mut Option<Owner> {
        &mut self.blocks[(page >> BLOCK_BITS) as usize].owners[page as usize % BLOCK_PAGES_MAX]
    }

    fn page_mut(&mut self, page: PageNumber) -> &mut [Pair] {
        self.pairs_mut(page, 0, PAGE_PAIRS)
    }
}

impl Block {
    /// As large as all others together, within bounds.
    fn new(pages_before: usize) -> Self {
        let pages = pages_before.clamp(BLOCK_PAGES_MIN, BLOCK_PAGES_MAX);
        let mut pairs = Vec::with_capacity(pages * PAGE_PAIRS);
        prefer_huge_pages(pairs.spare_capacity_mut());
        Self { pairs, owners: Vec::with_capacity(pages) }
    }

    fn is_full(&self) -> bool {
        self.pairs.capacity() < self.pairs.len() + PAGE_PAIRS
            || self.owners.len() == BLOCK_PAGES_MAX
    }
}

#[inline]
fn start_of(page: PageNumber) -> usize {
    page as usize % BLOCK_PAGES_MAX * PAGE_PAIRS
}
