//! Exact measures of two bags as vectors of counts, with a dimension per shingle.

use std::cmp::Ordering;

use crate::text::Bag;

/// The cosine of the angle between two vectors of counts, 0..=1.
pub fn cosine(a: &Bag, b: &Bag) -> f64 {
    let (mut dot, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for_each_dimension(a.as_slice(), b.as_slice(), |a, b| {
        dot += a * b;
        of_a += a * a;
        of_b += b * b;
    });
    // A single root of the product, so that equal vectors have a cosine of exactly 1.
    (dot / f64::sqrt(of_a * of_b)).clamp(0.0, 1.0)
}

/// The angle between two vectors of counts in degrees, 0..=90: a metric of their directions.
pub fn angle_degrees(cosine: f64) -> f64 {
    cosine.acos().to_degrees()
}

/// The length of the difference of two vectors of counts (L₂).
pub fn euclidean(a: &Bag, b: &Bag) -> f64 {
    let mut squares = 0.0;
    for_each_dimension(a.as_slice(), b.as_slice(), |a, b| squares += (a - b) * (a - b));
    squares.sqrt()
}

/// Visits both counts of each shingle of either bag.
fn for_each_dimension(mut a: &[(u64, u64)], mut b: &[(u64, u64)], mut visit: impl FnMut(f64, f64)) {
    while let ([(x, of_x), a_rest @ ..], [(y, of_y), b_rest @ ..]) = (a, b) {
        let order = x.cmp(y);
        let of_x = if order.is_le() { *of_x as f64 } else { 0.0 };
        let of_y = if order.is_ge() { *of_y as f64 } else { 0.0 };
        visit(of_x, of_y);
        a = if order == Ordering::Greater { a } else { a_rest };
        b = if order == Ordering::Less { b } else { b_rest };
    }
    for (_, count) in a {
        visit(*count as f64, 0.0);
    }
    for (_, count) in b {
        visit(0.0, *count as f64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn bag(elements: &[u64]) -> Bag {
        Bag::from_shingles(elements.to_vec()).unwrap()
    }

    fn bags() -> impl Strategy<Value = Bag> {
        vec(0..6_u64, 1..12).prop_map(|elements| bag(&elements))
    }

    proptest! {
        #[test]
        fn distances_of_counts_are_metrics(a in bags(), b in bags(), c in bags()) {
            let angle = |a: &Bag, b: &Bag| angle_degrees(cosine(a, b));
            prop_assert_eq!(euclidean(&a, &b), euclidean(&b, &a));
            prop_assert_eq!(cosine(&a, &b), cosine(&b, &a));
            prop_assert_eq!(euclidean(&a, &b) == 0.0, a == b);
            prop_assert_eq!(angle(&a, &a), 0.0);
            prop_assert!(euclidean(&a, &c) <= euclidean(&a, &b) + euclidean(&b, &c) + 1e-9);
            // The arc cosine makes of a rounding near 1 its square root.
            prop_assert!(angle(&a, &c) <= angle(&a, &b) + angle(&b, &c) + 1e-5);
        }
    }

    /// "Mining of Massive Datasets", 3.5.4: x = [1, 2, −1] and y = [2, 1, 1] have an angle of 60
    /// degrees. Counts are not negative; these vectors have the same cosine.
    #[test]
    fn counts_are_vectors() {
        let (x, y) = (bag(&[1, 2]), bag(&[2, 3]));
        assert_eq!(cosine(&x, &y), 0.5);
        assert!((angle_degrees(0.5) - 60.0).abs() < 1e-12);
        assert_eq!(cosine(&bag(&[1]), &bag(&[2])), 0.0);
        assert_eq!(euclidean(&bag(&[1, 1, 1, 2]), &bag(&[2, 2, 2, 2, 2, 3])), 26_f64.sqrt());
    }
}
