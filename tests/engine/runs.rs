//! Runs of equal words of two sequences, by brute force.

/// Which words of `one` are in runs of at least `run` words that `other` has, too; and the words of
/// the longest run.
pub fn covered_by_runs<W: Eq>(one: &[W], other: &[W], run: usize) -> (Vec<bool>, usize) {
    let (mut covered, mut longest) = (vec![false; one.len()], 0);
    for start in 0..one.len() {
        for at in 0..other.len() {
            if start > 0 && at > 0 && one[start - 1] == other[at - 1] {
                continue;
            }
            let both = one[start..].iter().zip(&other[at..]);
            let equal = both.take_while(|(one, other)| one == other).count();
            longest = longest.max(equal);
            if equal >= run {
                covered[start..start + equal].fill(true);
            }
        }
    }
    (covered, longest)
}
