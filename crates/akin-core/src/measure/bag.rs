//! The overlap of two bags.

use std::cmp::Ordering;

use super::Overlap;
use crate::text::Bag;

impl Overlap {
    /// The overlap of two bags, in which each occurrence of an element counts: `shared` is Σmin,
    /// the sum of the lower counts of each element, and the resemblance is Σmin / Σmax, the Jaccard
    /// similarity of multisets.
    pub fn of_bags(a: &Bag, b: &Bag) -> Self {
        let [shared, a, b] = [shared(a.as_slice(), b.as_slice()), a.total(), b.total()]
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX).min(usize::MAX / 2));
        Self { shared, a, b }
    }

    /// Σmin / (Σa + Σb), the resemblance with the sum as union: at most ½, for equal bags
    /// (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", 3.1.3).
    pub fn resemblance_by_sum(&self) -> f64 {
        self.shared as f64 / (self.a + self.b) as f64
    }
}

fn shared(mut a: &[(u64, u64)], mut b: &[(u64, u64)]) -> u64 {
    let mut shared: u64 = 0;
    while let ([(x, of_x), a_rest @ ..], [(y, of_y), b_rest @ ..]) = (a, b) {
        let order = x.cmp(y);
        if order == Ordering::Equal {
            shared = shared.saturating_add(*of_x.min(of_y));
        }
        a = if order.is_le() { a_rest } else { a };
        b = if order.is_ge() { b_rest } else { b };
    }
    shared
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::document::{Content, Token};
    use crate::text::{ShingleSettings, Shingler};

    fn bag(elements: &[u64]) -> Bag {
        Bag::from_shingles(elements.to_vec()).unwrap()
    }

    /// The example of the textbook: min is 2 + 1, and max 3 + 2 + 1.
    #[test]
    fn unions_of_bags_are_sums_or_maxima() {
        let overlap = Overlap::of_bags(&bag(&[1, 1, 1, 2]), &bag(&[1, 1, 2, 2, 3]));
        assert_eq!(overlap, Overlap { shared: 3, a: 4, b: 5 });
        assert_eq!(overlap.resemblance_by_sum(), 1.0 / 3.0);
        assert_eq!(overlap.resemblance(), 1.0 / 2.0);
        let same = Overlap::of_bags(&bag(&[1, 1, 2]), &bag(&[2, 1, 1]));
        assert_eq!((same.resemblance_by_sum(), same.resemblance()), (0.5, 1.0));
        let apart = Overlap::of_bags(&bag(&[1, 1, 4]), &bag(&[2, 2, 3]));
        assert_eq!((apart.resemblance_by_sum(), apart.resemblance()), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn multisets_have_the_resemblance_of_their_bags(
            a in vec((0..9_u8, 1..5_u32), 1..8),
            b in vec((0..9_u8, 1..5_u32), 1..8),
        ) {
            let [a, b] = [a, b].map(|counts| {
                let token = |(name, count): (u8, u32)| Token { text: name.to_string(), count };
                Content::Tokens(counts.into_iter().map(token).collect())
            });
            let settings = ShingleSettings { multiset: true, ..ShingleSettings::default() };
            let shingler = Shingler::new(settings, 0, 1_000);
            let [set_a, set_b] = [&a, &b].map(|content| shingler.shingle(content).unwrap().set);
            let [bag_a, bag_b] = [&a, &b].map(|content| shingler.bag(content).unwrap());
            let (sets, bags) = (Overlap::of(&set_a, &set_b), Overlap::of_bags(&bag_a, &bag_b));
            prop_assert_eq!(sets, bags);
            prop_assert_eq!(Overlap::of_bags(&bag_b, &bag_a).shared, bags.shared);
        }
    }
}
