//! Postings of a group on their way into the pairs that it has when the table is of another shape.

use smallvec::SmallVec;

use super::group::Sought;
use super::line::{LANES, packed};
use super::pair::Pair;
use super::shape::Shape;
use crate::simd::Loop;

/// Keys and entries that look for room last.
pub(super) type Late = SmallVec<[(u32, u32); 16]>;

/// Pairs that a group has, or the groups that it is made of or becomes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub shape: Shape,
    pub first_group: u32,
    pub pairs: u32,
}

impl Span {
    pub fn first_pair(&self) -> u32 {
        self.first_group * self.shape.pairs
    }

    /// Files a posting in its group, one of these. `false` if there is no room.
    fn put(&self, pairs: &mut [Pair], key: u32, entry: u32) -> bool {
        let sought = Sought::new(self.shape, key);
        let first = (sought.first_pair() - self.first_pair()) as usize;
        sought.put(&mut pairs[first..first + self.shape.pairs as usize], entry)
    }
}

/// Puts all postings into the pairs that there are from now on, whatever is in those.
pub(super) struct Moving<'a> {
    pub pairs: &'a [Pair],
    pub from: Span,
    pub after: &'a mut [Pair],
    pub to: Span,
    /// Postings of the group that were not in its pairs; and then those that there is no room for.
    pub late: &'a mut Late,
}

/// Lines that change at once, at most.
const LINES_MAX: usize = 8;

/// Lanes in one mask of them.
const MASK_LANES: usize = u64::BITS as usize;

/// Of all postings the places and what they are going to be: reckoned side by side, with those of
/// places that are not taken.
struct Anew {
    words: [u32; LINES_MAX * LANES],
    tags: [u8; LINES_MAX * LANES],
    keys: [u32; LINES_MAX * LANES],
    /// The number of the line after the change, from the first.
    lines: [u8; LINES_MAX * LANES],
}

impl Loop for Moving<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let mut anew = Anew {
            words: [0; LINES_MAX * LANES],
            tags: [0; LINES_MAX * LANES],
            keys: [0; LINES_MAX * LANES],
            lines: [0; LINES_MAX * LANES],
        };
        self.reckon(&mut anew);
        self.after.fill(Pair::EMPTY);
        // A bit for each lane that moves. They are put once all lines are filled, as filling
        // overwrites; and from few masks, as the end of a loop for each line is not foreseen.
        let mut movers = [0_u64; LINES_MAX * LANES / MASK_LANES];
        for (number, line) in self.pairs.iter().flat_map(|pair| &pair.0).enumerate() {
            let (taken, own) = (line.marks().taken(), self.own(number));
            let lanes = number * LANES..(number + 1) * LANES;
            let (words, tags) = (&anew.words[lanes.clone()], &anew.tags[lanes.clone()]);
            let stay = taken.and_equal(&anew.lines[lanes], own as u8);
            if let Some(pair) = self.after.get_mut(own / 2) {
                pair.0[own % 2].fill(words, tags, &stay);
            }
            let mask = &mut movers[number * LANES / MASK_LANES];
            *mask |= u64::from(taken.without(&stay).bits()) << (number * LANES % MASK_LANES);
        }
        for (mut mask, first) in movers.into_iter().zip((0..).step_by(MASK_LANES)) {
            while mask != 0 {
                self.put_mover(&anew, first + mask.trailing_zeros() as usize);
                mask &= mask - 1;
            }
        }
        if !self.late.is_empty() {
            let (to, after) = (self.to, self.after);
            self.late.retain(|(key, entry)| !to.put(after, *key, *entry));
        }
    }
}

impl Moving<'_> {
    #[inline(always)]
    fn reckon(&self, anew: &mut Anew) {
        for (number, line) in self.pairs.iter().flat_map(|pair| &pair.0).enumerate() {
            let lanes = number * LANES..(number + 1) * LANES;
            line.copy_to(&mut anew.words[lanes.clone()], &mut anew.tags[lanes]);
        }
        let (old, new) = (self.from.shape, self.to.shape);
        let lanes_each = old.pairs as usize * 2 * LANES;
        let groups_to_change = old.groups.min(new.groups);
        for (at, group) in
            (0..self.pairs.len() * 2 * LANES).step_by(lanes_each).zip(self.from.first_group..)
        {
            let start = old.start(group) as u32;
            let lanes = at..at + lanes_each;
            let (words, tags) = (&mut anew.words[lanes.clone()], &mut anew.tags[lanes.clone()]);
            let (keys, lines) = (&mut anew.keys[lanes.clone()], &mut anew.lines[lanes]);
            for lane in 0..words.len().min(tags.len()).min(keys.len()).min(lines.len()) {
                let (word, tag) = (words[lane], tags[lane]);
                let (key, entry) = (old.key(start, word, tag), old.entry(word));
                let pair = Shape::pair(key.wrapping_mul(groups_to_change), self.to.pairs);
                keys[lane] = key;
                (words[lane], tags[lane]) = (new.word(key, entry), new.tag(key));
                lines[lane] = (pair << 1 | key & 1) as u8;
            }
        }
    }

    /// The line from which postings come that stay in this one: the keys of a group's halves are in
    /// its first and its last pair. Past the last if all of them have to go.
    fn own(&self, line: usize) -> usize {
        let (pair, line) = (line / 2, line % 2);
        let own = match (self.from.pairs, self.to.pairs) {
            (2, 3) => pair * 2,
            (3, 2) => [0, 2, 1][pair],
            _ => pair,
        };
        own * 2 + line
    }

    #[inline(always)]
    fn put_mover(&mut self, anew: &Anew, lane: usize) {
        let lane = lane % (LINES_MAX * LANES);
        let line = anew.lines[lane] as usize;
        let posting = packed(anew.words[lane], anew.tags[lane]);
        if !self.after[line / 2].0[line % 2].put(posting) {
            self.late.push((anew.keys[lane], self.to.shape.entry(anew.words[lane])));
        }
    }
}
