//! How many keys have how many postings.

#[derive(Debug, Default)]
pub(super) struct Lengths {
    keys: u64,
    /// By the number of postings less one; of the last there are some.
    counts: Vec<u32>,
}

impl Lengths {
    /// A key has one posting more than before.
    #[inline]
    pub fn longer(&mut self, before: usize) {
        match before.checked_sub(1) {
            Some(at) => self.counts[at] -= 1,
            None => self.keys += 1,
        }
        match self.counts.get_mut(before) {
            Some(keys) => *keys += 1,
            None => self.counts.push(1),
        }
    }

    /// The same of keys that had none: `arrived[n]` postings each came to a key that had n by then.
    pub fn longer_all(&mut self, arrived: &[u32]) {
        let arrived = || arrived.iter().copied().take_while(|&postings| postings > 0);
        let after = arrived().skip(1).chain([0]);
        for (at, (postings, more)) in arrived().zip(after).enumerate() {
            match self.counts.get_mut(at) {
                Some(keys) => *keys += postings - more,
                None => self.counts.push(postings - more),
            }
        }
        self.keys += u64::from(arrived().next().unwrap_or(0));
    }

    /// A key has one posting less than before.
    pub fn shorter(&mut self, before: usize) {
        self.counts[before - 1] -= 1;
        match before.checked_sub(2) {
            Some(at) => self.counts[at] += 1,
            None => self.keys -= 1,
        }
        if self.counts.last() == Some(&0) {
            self.counts.pop();
            if self.counts.capacity() > 4 * self.counts.len().max(16) {
                self.counts.shrink_to(2 * self.counts.len());
            }
        }
    }

    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// 0 if there are no keys.
    pub fn longest(&self) -> usize {
        self.counts.len()
    }

    pub fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
    }
}
