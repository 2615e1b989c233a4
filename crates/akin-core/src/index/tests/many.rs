//! Several sets indexed, and looked up, in one call.

use super::*;

proptest! {
    /// Compared with one call for each, with equal sets and shared keys.
    #[test]
    fn batches_give_the_results_of_single_calls(sets in prop::collection::vec(0_u8..40, 1..60)) {
        let (together, one_by_one) = (index(), index());
        let inserted: Vec<_> = sets.iter().map(|&set| (set, sketch(set), keys(set))).collect();
        let new_sets = inserted.iter().map(|(set, sketch, keys)| NewSet {
            fingerprint: fingerprint(*set),
            shingles: 1,
            sketch,
            keys,
            set: None,
        });
        together.insert_all((0..).map(Ordinal::from).zip(new_sets));
        for (ordinal, &set) in (0..).zip(&sets) {
            insert(&one_by_one, ordinal, set);
        }
        prop_assert_eq!(together.stats(), one_by_one.stats());
        let searches = inserted.iter().map(|(set, sketch, keys)| search_of(*set, sketch, keys));
        let found = together.candidates_of_all(&searches.collect::<Vec<_>>());
        prop_assert_eq!(found.len(), sets.len());
        for (candidates, &set) in found.iter().zip(&sets) {
            let alone = search(&one_by_one, set, 0, usize::MAX);
            prop_assert_eq!(format!("{candidates:?}"), format!("{alone:?}"));
        }
    }
}
