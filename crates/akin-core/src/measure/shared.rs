//! Counts the common elements of two ascending lists.

use crate::simd::{Level, count_shared};

/// From this ratio of the sizes on, searching the longer list is faster than merging.
const GALLOP_RATIO: usize = 32;

pub(super) fn count(a: &[u64], b: &[u64]) -> usize {
    count_reaching(a, b, 0).expect("nothing is needed")
}

/// `None` as soon as `needed` can no longer be reached.
pub(super) fn count_reaching(a: &[u64], b: &[u64], needed: usize) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let shared = if long.len() / GALLOP_RATIO > short.len() {
        gallop(short, long)
    } else {
        count_shared(Level::best(), short, long, needed)?
    };
    (shared >= needed).then_some(shared)
}

/// Galloping search: looks up each element of the short list in the remaining part of the long
/// list, by doubling steps and then a binary search.
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
