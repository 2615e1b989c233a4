//! Postings of a group on their way into the pairs that it has when the table is of another shape.

use smallvec::SmallVec;

use super::group::Sought;
use super::line::{Line, PLACES, Packed, Pair, Places};
use super::shape::Shape;
use crate::simd::Loop;

/// Keys and entries that look for room last.
pub(super) type Late = SmallVec<[(u32, u32); 32]>;

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
}

/// Puts all postings into the pairs that there are from now on, whatever is in those; and gives
/// what there is no room for.
pub(super) struct Moving<'a> {
    pub pairs: &'a [Pair],
    pub from: Span,
    pub after: &'a mut [Pair],
    pub to: Span,
    /// Postings of the group that were not in its pairs, and then those that do not stay in their
    /// lines.
    pub late: Late,
}

/// The postings of a line as they are going to be, place by place.
struct Anew {
    keys: [u32; PLACES],
    postings: [Packed; PLACES],
    stays: [bool; PLACES],
}

impl Loop for Moving<'_> {
    type Output = Late;

    #[inline(always)]
    fn run(mut self) -> Late {
        self.after.fill(Pair::EMPTY);
        for (at, pair) in (0..).zip(self.pairs) {
            let group = self.from.first_group + at / self.from.shape.pairs;
            let start = self.from.shape.start(group) as u32;
            let own = self.own(at);
            for (number, line) in (0..).zip(&pair.0) {
                let anew = self.anew(line, start, own * 2 + number);
                let (taken, stay) = (line.marks().taken(), Places::of(anew.stays));
                if let Some(own) = self.after.get_mut(own as usize) {
                    own.0[number as usize] = Line::new(&anew.postings, taken.and(stay));
                }
                for place in taken.without(stay) {
                    self.late.push((anew.keys[place], self.to.shape.entry(anew.postings[place])));
                }
            }
        }
        let mut late = std::mem::take(&mut self.late);
        late.retain(|(key, entry)| !self.put(*key, *entry));
        late
    }
}

impl Moving<'_> {
    /// The pair from which postings come that stay in this one: the keys of a group's halves are
    /// in its first and its last pair. Past the last if all of them have to go.
    fn own(&self, pair: u32) -> u32 {
        match (self.from.pairs, self.to.pairs) {
            (2, 3) => pair * 2,
            (3, 2) => [0, 2, 1][pair as usize],
            _ => pair,
        }
    }

    /// All places alike, whether they are taken or not, so that they are reckoned side by side.
    /// `own`: the number of the line from the first after the change.
    #[inline(always)]
    fn anew(&self, line: &Line, start: u32, own: u32) -> Anew {
        let (old, new) = (self.from.shape, self.to.shape);
        let mut anew =
            Anew { keys: [0; PLACES], postings: [0; PLACES], stays: [false; PLACES] };
        for place in 0..PLACES {
            let posting = line.packed(place);
            let key = old.key(start, posting);
            let home = new.home(key);
            let group = home.group.wrapping_sub(self.to.first_group);
            let pair = group.wrapping_mul(new.pairs).wrapping_add(home.pair);
            anew.keys[place] = key;
            anew.postings[place] = new.pack(key, old.entry(posting));
            anew.stays[place] = pair.wrapping_mul(2).wrapping_add(home.line) == own;
        }
        anew
    }

    /// `false` if there is no room.
    fn put(&mut self, key: u32, entry: u32) -> bool {
        let sought = Sought::new(self.to.shape, key);
        let first = (sought.home.group - self.to.first_group) * self.to.shape.pairs;
        let pairs = first as usize..(first + self.to.shape.pairs) as usize;
        sought.put(&mut self.after[pairs], entry)
    }
}
