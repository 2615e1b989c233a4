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

/// Walks through both lists; without a branch on which element is less, as that is a coin toss.
fn merge(mut a: &[u64], mut b: &[u64], needed: usize) -> Option<usize> {
    let mut shared = 0;
    while !a.is_empty() && !b.is_empty() {
        if shared + a.len().min(b.len()) < needed {
            return None;
        }
        let (mut a_at, mut b_at) = (0, 0);
        for _ in 0..BLOCK_STEPS.min(a.len()).min(b.len()) {
            let (x, y) = (a[a_at], b[b_at]);
            shared += usize::from(x == y);
            a_at += usize::from(x <= y);
            b_at += usize::from(y <= x);
        }
        (a, b) = (&a[a_at..], &b[b_at..]);
    }
    Some(shared)
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
        let stretch = &long[..long.len().min(reach + 1)];
        let at = stretch.partition_point(|other| other < element);
        long = &long[at..];
        shared += usize::from(long.first() == Some(element));
    }
    shared
}
