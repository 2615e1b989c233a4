//! Sorts and deduplicates hashes.

use super::{Level, Loop};

/// More buckets would not fit into the L2 cache.
const BUCKETS_MAX_BITS: u32 = 17;

/// Maximum mean number of hashes per bucket, up to the maximum number of buckets.
const BUCKET_MEAN_MAX: usize = 2;

/// This number of transposition rounds sorts as many hashes. Of uniform hashes, only every 200th
/// bucket has more.
const ROUNDS: usize = 6;

/// The distinct hashes, ascending.
///
/// Hashes are uniform, so the highest bits determine the approximate position (the interpolation of
/// bucket sort; Knuth, TAOCP 3, 5.2.5). The remaining disorder is within a few positions, and is
/// sorted by exchanging neighbours in parallel and without branches (odd-even transposition; ibid.
/// 5.3.4). Numbers that are not uniform take longer, but never quadratic time.
///
/// # Panics
/// If there are 2³² hashes or more.
pub fn distinct(level: Level, mut hashes: Vec<u64>) -> Vec<u64> {
    assert!(u32::try_from(hashes.len()).is_ok(), "places are 32 bits wide");
    let mut sorted = spread(&hashes);
    level.run(Transposition(&mut sorted));
    let distinct = copy_distinct(&sorted, &mut hashes);
    hashes.truncate(distinct);
    hashes
}

/// The hashes in the order of their highest bits; overfull buckets are sorted.
fn spread(hashes: &[u64]) -> Vec<u64> {
    let buckets = hashes.len().div_ceil(BUCKET_MEAN_MAX).next_power_of_two();
    let bits = buckets.ilog2().clamp(1, BUCKETS_MAX_BITS);
    let bucket = |hash: u64| (hash >> (u64::BITS - bits)) as usize;
    let mut ends = vec![0_u32; 1 << bits];
    for &hash in hashes {
        ends[bucket(hash)] += 1;
    }
    let (mut before, mut full) = (0, Vec::new());
    for (number, end) in ends.iter_mut().enumerate() {
        let count = *end;
        if count as usize > ROUNDS {
            full.push((number, count as usize));
        }
        *end = before;
        before += count;
    }
    let mut spread = vec![0; hashes.len()];
    for &hash in hashes {
        let place = &mut ends[bucket(hash)];
        spread[*place as usize] = hash;
        *place += 1;
    }
    for (number, count) in full {
        let end = ends[number] as usize;
        spread[end - count..end].sort_unstable();
    }
    spread
}

/// Exchanges neighbours in the wrong order, [`ROUNDS`] times.
struct Transposition<'h>(&'h mut [u64]);

impl Loop for Transposition<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for round in 0..ROUNDS {
            let from = self.0.len().min(round % 2);
            let (pairs, _) = self.0[from..].as_chunks_mut();
            for pair in pairs {
                let [a, b] = *pair;
                *pair = [a.min(b), a.max(b)];
            }
        }
    }
}

/// Copies the distinct numbers of a sorted list to `room` of the same length; returns their number.
fn copy_distinct(sorted: &[u64], room: &mut [u64]) -> usize {
    let mut count = 0;
    for (&hash, &next) in sorted.iter().zip(&sorted[1.min(sorted.len())..]) {
        // A duplicate is overwritten by the next number, which avoids an unpredictable branch.
        room[count] = hash;
        count += usize::from(hash != next);
    }
    if let Some(&last) = sorted.last() {
        room[count] = last;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_level_finds_the_distinct_hashes(
            even in vec(any::<u64>(), 0..3_000),
            repeated in vec(any::<u64>(), 0..20),
            close in vec(0..50_u64, 0..300),
            shift in 0..64_u32,
            highest in 0..12_usize,
        ) {
            let repeated = repeated.iter().flat_map(|hash| vec![*hash; *hash as usize % 20]);
            let hashes: Vec<u64> = even.into_iter().chain(repeated).chain(close).collect();
            let mut hashes: Vec<u64> = hashes.into_iter().map(|hash| hash >> shift).collect();
            hashes.extend(vec![u64::MAX; highest]);
            let mut expected = hashes.clone();
            expected.sort_unstable();
            expected.dedup();
            for level in Level::available() {
                prop_assert_eq!(&distinct(level, hashes.clone()), &expected, "{:?}", level);
            }
        }
    }

    #[test]
    fn more_hashes_than_buckets_hold_are_sorted() {
        let hashes: Vec<u64> =
            (0..600_000_u64).map(|n| (n / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        for level in Level::available() {
            let sorted = distinct(level, hashes.clone());
            assert!(sorted.is_sorted_by(|a, b| a < b) && sorted.len() == 300_000, "{level:?}");
        }
    }
}
