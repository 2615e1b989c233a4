//! Entries that were gathered apart, put together.

use super::{CHUNK, Entries};
use crate::document::Ordinal;

impl Entries {
    /// All of those that several have, under other numbers. None of them has released any. Full
    /// chunks are taken as they are, so that hardly anything is copied.
    pub fn together(sketch_bytes: usize, parts: Vec<Self>) -> Self {
        let mut all = Self::new(sketch_bytes);
        let mut rests = Vec::with_capacity(parts.len());
        for mut part in parts {
            all.take_full_chunks(&mut part);
            rests.push(part);
        }
        for rest in rests {
            for entry in (0..rest.number_max()).filter_map(|number| rest.get(number)) {
                all.add_with(entry.fingerprint, entry.shingles, entry.sketch, entry.members());
            }
        }
        all
    }

    /// To come before any chunk is there that is not full.
    fn take_full_chunks(&mut self, part: &mut Self) {
        let before = self.end() as u32;
        let taken = (part.end() / CHUNK * CHUNK) as u32;
        self.chunks.extend(part.chunks.drain(..taken as usize / CHUNK));
        self.living += taken as usize;
        part.living -= taken as usize;
        for (number, members) in std::mem::take(&mut part.many) {
            if number < taken {
                self.many_members += members.len();
                self.many.insert(before + number, members);
            } else {
                part.many.insert(number - taken, members);
            }
        }
    }

    /// A new entry with these members; none without any.
    pub fn add_with(
        &mut self,
        fingerprint: u64,
        shingles: u32,
        sketch: &[u8],
        members: impl IntoIterator<Item = Ordinal>,
    ) {
        let mut members = members.into_iter();
        let Some(first) = members.next() else { return };
        let number = self.add(fingerprint, shingles, sketch, first);
        members.for_each(|ordinal| self.add_member(number, ordinal));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Every third entry has two members.
    fn part(numbers: std::ops::Range<u32>) -> Entries {
        let mut part = Entries::new(4);
        for number in numbers {
            let sketch = number.to_le_bytes();
            let entry = part.add(u64::from(number), number % 7, &sketch, Ordinal(number * 2));
            if number % 3 == 0 {
                part.add_member(entry, Ordinal(number * 2 + 1));
            }
        }
        part
    }

    #[test]
    fn what_was_gathered_apart_is_all_there_with_its_members() {
        let chunk = CHUNK as u32;
        let ends = [0, chunk / 2, chunk * 5 / 2, chunk * 5 / 2, chunk * 7 / 2, chunk * 4];
        let parts = ends.windows(2).map(|ends| part(ends[0]..ends[1])).collect();
        let mut all = Entries::together(4, parts);
        assert_eq!((all.count(), all.number_max()), (u64::from(chunk) * 4, chunk * 4));
        let mut found = BTreeMap::new();
        for entry in (0..all.number_max()).filter_map(|number| all.get(number)) {
            assert_eq!(entry.sketch, (entry.fingerprint as u32).to_le_bytes());
            assert_eq!(u64::from(entry.shingles), entry.fingerprint % 7);
            found.insert(entry.fingerprint as u32, entry.members().collect::<Vec<_>>());
        }
        let members = |number: u32| {
            let of_it = number * 2..number * 2 + if number.is_multiple_of(3) { 2 } else { 1 };
            of_it.map(Ordinal).collect()
        };
        let expected: BTreeMap<u32, Vec<_>> =
            (0..chunk * 4).map(|number| (number, members(number))).collect();
        assert!(found == expected);
        assert_eq!(all.bytes(), part(0..chunk * 4).bytes());
        assert_eq!(all.add(7, 7, &[7; 4], Ordinal(7)), chunk * 4);
    }
}
