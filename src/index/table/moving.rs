//! Postings of a group of lines on their way into the lines that the group is made anew of.

use smallvec::SmallVec;

use super::line::{Line, PLACES, Packed, Pair};
use super::shape::Shape;
use crate::simd::Loop;

/// Lines of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    pub first: u32,
    pub count: u32,
}

/// Lines of a group at most, by any shape.
const LINES_MAX: usize = 8;

/// Postings that look for room last: the number of the line they belong into, key and entry.
pub(super) type Late = SmallVec<[(u32, u32, u32); 8]>;

/// Puts all postings of a group's pairs into the pairs that it has from now on, whatever is in
/// those; and gives what there is no room for.
pub(super) struct Moving<'a> {
    pub pairs: &'a [Pair],
    pub from: Lines,
    pub old: Shape,
    pub after: &'a mut [Pair],
    pub to: Lines,
    pub new: Shape,
    /// Postings of the group that were not in its pairs.
    pub late: Late,
}

/// The postings of a line as they are going to be, place by place.
struct Anew {
    /// Which of the group's lines they go to.
    lines: [u32; PLACES],
    postings: [Packed; PLACES],
    keys: [u32; PLACES],
}

impl Loop for Moving<'_> {
    type Output = Late;

    #[inline(always)]
    fn run(mut self) -> Late {
        let mut counts = [0; LINES_MAX];
        self.after.fill(Pair::EMPTY);
        for (at, pair) in (self.from.first..).step_by(2).zip(self.pairs) {
            let starts = [0, 1].map(|line| self.old.start(at + line) as u32);
            for (line, starts) in pair.0.iter().zip([starts, [starts[1], starts[0]]]) {
                self.move_line(line, starts, &mut counts);
            }
        }
        for (at, count) in counts[..self.to.count as usize].iter().enumerate() {
            self.after[at / 2].0[at % 2].take_first(*count);
        }
        let mut late = std::mem::take(&mut self.late);
        late.retain(|(line, key, entry)| !self.put(*line, *key, *entry));
        late
    }
}

impl Moving<'_> {
    /// `starts`: the first key of the line, and that of the other one of its pair.
    #[inline(always)]
    fn move_line(&mut self, line: &Line, starts: [u32; 2], counts: &mut [usize; LINES_MAX]) {
        let anew = self.anew(line, starts);
        for place in line.taken() {
            let to = anew.lines[place] as usize % LINES_MAX;
            let count = &mut counts[to];
            if *count == PLACES {
                let entry = self.new.entry(anew.postings[place]);
                self.late.push((self.to.first + to as u32, anew.keys[place], entry));
                continue;
            }
            self.after[to / 2].0[to % 2].set(*count, anew.postings[place]);
            *count += 1;
        }
    }

    /// All places alike, whether they are taken or not, so that they are reckoned side by side.
    #[inline(always)]
    fn anew(&self, line: &Line, starts: [u32; 2]) -> Anew {
        let mut anew = Anew { lines: [0; PLACES], postings: [0; PLACES], keys: [0; PLACES] };
        let guests = u32::from(line.guests_here());
        for place in 0..PLACES {
            let posting = line.packed(place);
            let start = if guests & 1 << place == 0 { starts[0] } else { starts[1] };
            let key = self.old.key(start, posting);
            anew.keys[place] = key;
            anew.lines[place] = self.new.home(key).wrapping_sub(self.to.first);
            anew.postings[place] = self.new.pack(key, self.old.entry(posting));
        }
        anew
    }

    /// `false` if there is no room.
    fn put(&mut self, line: u32, key: u32, entry: u32) -> bool {
        let pair = &mut self.after[(line - self.to.first) as usize / 2];
        let has_room = pair.put(line, self.new.pack(key, entry));
        if !has_room {
            pair.line_mut(line).mark_spilled();
        }
        has_room
    }
}
