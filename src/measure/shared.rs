//! Counts what two ascending lists share.

/// From this ratio of the sizes on, searching the longer list beats walking through it.
const GALLOP_RATIO: usize = 32;

/// Steps of a merge between looks at whether it can still reach what is needed.
const BLOCK_STEPS: usize = 64;

pub(super) fn count(a: &[u64], b: &[u64]) -> usize {
    count_reaching(a, b, 0).expect("nothing is needed")
}

/// `None` as soon as `needed` can no longer be reached.
pub(super) fn count_reaching(a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let shared = if long.len() / GALLOP_RATIO > short.len() {
        gallop(short, long)
    } else {
        merge(short, long, needed)?
    };
    (shared >= needed).then_some(shared)
}

/// Merges the lower and the upper halves side by side: a step waits for the one before it, and
/// two that do not wait for each other take little longer than one.
fn merge(a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    let (mut low, mut high) = Merge::halves(a, b);
    while low.steps_min() > 0 && high.steps_min() > 0 {
        if low.shared_max() + high.shared_max() < needed {
            return None;
        }
        for _ in 0..BLOCK_STEPS.min(low.steps_min()).min(high.steps_min()) {
            low.step();
            high.step();
        }
    }
    let (finished, mut rest) = if low.steps_min() == 0 { (low, high) } else { (high, low) };
    while rest.steps_min() > 0 {
        if finished.shared + rest.shared_max() < needed {
            return None;
        }
        for _ in 0..BLOCK_STEPS.min(rest.steps_min()) {
            rest.step();
        }
    }
    Some(finished.shared + rest.shared)
}

/// A walk through two lists.
struct Merge<'s> {
    a: &'s [u64],
    b: &'s [u64],
    shared: usize,
}

impl<'s> Merge<'s> {
    /// Splits both lists at the middle element of the first.
    fn halves(a: &'s [u64], b: &'s [u64]) -> (Self, Self) {
        let (a_low, a_high) = a.split_at(a.len() / 2);
        let b_middle = b.partition_point(|element| a_high.first().is_some_and(|m| element < m));
        let (b_low, b_high) = b.split_at(b_middle);
        (Self { a: a_low, b: b_low, shared: 0 }, Self { a: a_high, b: b_high, shared: 0 })
    }

    /// Steps that can be made for certain; 0 at the end.
    fn steps_min(&self) -> usize {
        self.a.len().min(self.b.len())
    }

    /// What may be shared in the end.
    fn shared_max(&self) -> usize {
        self.shared + self.steps_min()
    }

    /// Without a branch on which element is less, as that is a coin toss.
    #[inline]
    fn step(&mut self) {
        let (a, b) = (self.a[0], self.b[0]);
        self.shared += usize::from(a == b);
        self.a = &self.a[usize::from(a <= b)..];
        self.b = &self.b[usize::from(b <= a)..];
    }
}

/// Looks each element of the short list up in what is left of the long one: doubling steps find
/// the stretch it must be in, a binary search the place.
fn gallop(short: &[u64], mut long: &[u64]) -> usize {
    let mut shared = 0;
    for element in short {
        let mut reach = 1;
        while reach < long.len() && long[reach] < *element {
            reach *= 2;
        }
        let stretch = &long[..long.len().min(reach)];
        let at = stretch.partition_point(|other| other < element);
        long = &long[at..];
        shared += usize::from(long.first() == Some(element));
    }
    shared
}
