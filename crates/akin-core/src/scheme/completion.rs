//! The number of agreeing slots with which the first of several random-rows keys agrees entirely.
//!
//! Random-rows keys share slots, so the probability that one of them agrees is that of a monotone
//! formula in disjunctive normal form, which takes exponentially many terms to compute exactly. It
//! is estimated like the reliability of a network from its signature (Samaniego 1985; Elperin,
//! Gertsbakh and Lomonosov 1991): slots are made to agree in turn, in random orders, and the number
//! of slots at which the first key is complete is counted. Its distribution depends on the drawn
//! slots alone. The probability for a given similarity follows from the binomial of agreeing slots,
//! without further randomness: with m orders and a recall of p its standard error is below
//! √(p(1−p)/m), 0.0008 at 0.99, and about half of that for the default keys.

use super::random_rows::Random;

/// Random orders of the slots; fewer if they would take more than `STEPS_MAX` steps.
const ORDERS: usize = 16_384;
const STEPS_MAX: usize = 1 << 25;
const ORDERS_MIN: usize = 1_024;

/// Seeds the orders, which must be independent of the drawn slots.
const SEED: u64 = 0x636f_6d70_6c65_7465;

#[derive(Debug)]
pub(super) struct Completion {
    slots: usize,
    orders: usize,
    /// For each key, `slots + 1` counts: the nth count is the number of orders in which the first
    /// complete key, among this key and the keys before it, takes n agreeing slots.
    counts: Vec<u16>,
}

impl Completion {
    /// `keys`: `rows` slots each.
    pub(super) fn of(keys: &[u16], rows: usize, slots: usize) -> Self {
        let orders = (STEPS_MAX / (keys.len() + slots)).clamp(ORDERS_MIN, ORDERS);
        let mut counts = vec![0; keys.len() / rows * (slots + 1)];
        let mut order: Vec<u16> = (0..slots as u16).collect();
        let mut position = vec![0; slots];
        let mut random = Random::new(SEED);
        for _ in 0..orders {
            random.shuffle(&mut order, slots);
            for (at, slot) in order.iter().enumerate() {
                position[*slot as usize] = at + 1;
            }
            let mut first_whole = slots;
            for (key, counts) in keys.chunks_exact(rows).zip(counts.chunks_exact_mut(slots + 1)) {
                let whole = key.iter().map(|slot| position[*slot as usize]).max();
                first_whole = first_whole.min(whole.unwrap_or(slots));
                counts[first_whole] += 1;
            }
        }
        Self { slots, orders, counts }
    }

    /// For each number of agreeing slots, the share of the orders in which the first complete key
    /// of 0..=`last` takes that many.
    pub(super) fn shares(&self, last: usize) -> impl Iterator<Item = f64> {
        let stride = self.slots + 1;
        let counts = &self.counts[last * stride..(last + 1) * stride];
        counts.iter().map(|count| f64::from(*count) / self.orders as f64)
    }
}
