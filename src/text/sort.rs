//! Sorting hashes.

/// Fewer are sorted by comparing.
const SPREAD_MIN: usize = 64;

/// More buckets would not stay in the nearest cache.
const BUCKETS_MAX_BITS: u32 = 12;

/// Fuller buckets are sorted one by one.
const BUCKET_SMALL_MAX: u32 = 16;

/// Sorts numbers that are spread evenly, as hashes are: the highest bits tell nearly where in the
/// order a hash belongs (the interpolation of bucket sort; Knuth, TAOCP 3, 5.2.5), and what little
/// is left is put right by insertion. Numbers that are not spread evenly take longer, but never
/// quadratic time.
pub(super) fn sort_hashes(mut hashes: Vec<u64>) -> Vec<u64> {
    if hashes.len() < SPREAD_MIN {
        hashes.sort_unstable();
        return hashes;
    }
    let bits = hashes.len().ilog2().min(BUCKETS_MAX_BITS);
    let bucket = |hash: u64| (hash >> (u64::BITS - bits)) as usize;
    let mut ends = vec![0_u32; 1 << bits];
    for &hash in &hashes {
        ends[bucket(hash)] += 1;
    }
    let fullest = ends.iter().copied().max().unwrap_or(0);
    let mut before = 0;
    for end in &mut ends {
        (*end, before) = (before, before + *end);
    }
    let mut spread = vec![0; hashes.len()];
    for &hash in &hashes {
        let place = &mut ends[bucket(hash)];
        spread[*place as usize] = hash;
        *place += 1;
    }
    match fullest <= BUCKET_SMALL_MAX {
        true => insertion_sort(&mut spread),
        false => sort_each(&mut spread, &ends),
    }
    spread
}

/// Quick for numbers that are near their places.
fn insertion_sort(numbers: &mut [u64]) {
    for next in 1..numbers.len() {
        let number = numbers[next];
        let mut place = next;
        while place > 0 && numbers[place - 1] > number {
            numbers[place] = numbers[place - 1];
            place -= 1;
        }
        numbers[place] = number;
    }
}

fn sort_each(mut numbers: &mut [u64], ends: &[u32]) {
    let mut sorted = 0;
    for &end in ends {
        let (bucket, rest) = numbers.split_at_mut((end - sorted) as usize);
        bucket.sort_unstable();
        (numbers, sorted) = (rest, end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn hashes_are_sorted_however_they_are_spread(
            even in vec(any::<u64>(), 0..3_000),
            close in vec(0..50_u64, 0..300),
            shift in 0..64_u32,
        ) {
            let numbers: Vec<u64> = even.into_iter().chain(close).map(|n| n >> shift).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sort_hashes(numbers), sorted);
        }
    }

    #[test]
    fn more_hashes_than_buckets_are_sorted() {
        let numbers: Vec<u64> =
            (0..20_000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        assert!(sort_hashes(numbers).is_sorted());
    }
}
