//! The binomial distribution of agreeing slots.

/// The probability that at least `agreeing` of `slots` independent slots agree for sets of a given
/// resemblance: the recall of a rule such as "90 of 100 slots agree".
pub fn binomial_at_least(slots: u32, agreeing: u32, similarity: f64) -> f64 {
    let chances = binomial(slots as usize, similarity);
    // Summed from the smallest to the largest, for accuracy.
    chances.iter().skip(agreeing as usize).rev().sum()
}

/// The probabilities of 0, 1, … `trials` successes. Computed from the mode outwards by the ratio of
/// neighbours, then normalised: the probability of no success would often underflow.
pub(super) fn binomial(trials: usize, success: f64) -> Vec<f64> {
    let likeliest = (((trials + 1) as f64 * success) as usize).min(trials);
    let mut chances = vec![0.0; trials + 1];
    chances[likeliest] = 1.0;
    for n in likeliest..trials {
        let ratio = (trials - n) as f64 / (n + 1) as f64 * (success / (1.0 - success));
        chances[n + 1] = chances[n] * ratio;
    }
    for n in (0..likeliest).rev() {
        let ratio = (n + 1) as f64 / (trials - n) as f64 * ((1.0 - success) / success);
        chances[n] = chances[n + 1] * ratio;
    }
    let sum: f64 = chances.iter().sum();
    chances.iter().map(|chance| chance / sum).collect()
}

/// The highest number of successes that nearly all rounds reach: a round has fewer successes with a
/// probability of at most `missed_max`.
pub(super) fn reached(trials: usize, success: f64, missed_max: f64) -> usize {
    let mut fewer = 0.0;
    let mut is_missed = |chance: &f64| {
        fewer += chance;
        fewer <= missed_max
    };
    binomial(trials, success).iter().take_while(|chance| is_missed(chance)).count()
}

/// Turns the probabilities of exactly n into the probabilities of at least n.
pub(super) fn at_least(mut chances: Vec<f64>) -> Vec<f64> {
    let mut sum = 0.0;
    for chance in chances.iter_mut().rev() {
        sum += *chance;
        *chance = sum;
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_of_a_hundred_slots_separate_alike_from_unlike() {
        let found = |similarity| binomial_at_least(100, 90, similarity);
        assert!((0.005..0.006).contains(&found(0.8)), "{}", found(0.8));
        assert!((0.988..0.989).contains(&found(0.95)), "{}", found(0.95));
        assert_eq!((found(0.0), found(1.0)), (0.0, 1.0));
        assert_eq!(binomial_at_least(100, 101, 1.0), 0.0);
        assert!((binomial_at_least(100, 0, 0.3) - 1.0).abs() < 1e-12);
        assert!((binomial_at_least(4, 3, 0.5) - 5.0 / 16.0).abs() < 1e-12);
    }
}
