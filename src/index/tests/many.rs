//! Several sets filed, and looked up, in one call.

use super::*;

proptest! {
    /// Compared with one call for each, with equal sets and shared keys.
    #[test]
    fn many_at_once_are_as_many_one_by_one(sets in prop::collection::vec(0_u8..40, 1..60)) {
        let (together, one_by_one) = (index(), index());
        let filed: Vec<_> = sets.iter().map(|&set| (set, sketch(set), keys(set))).collect();
        let new_sets = filed.iter().map(|(set, sketch, keys)| NewSet {
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
        let searches = filed.iter().map(|(set, sketch, keys)| search_of(*set, sketch, keys));
        let found = together.candidates_of_all(&searches.collect::<Vec<_>>());
        prop_assert_eq!(found.len(), sets.len());
        for (candidates, &set) in found.iter().zip(&sets) {
            let alone = search(&one_by_one, set, 0, usize::MAX);
            prop_assert_eq!(format!("{candidates:?}"), format!("{alone:?}"));
        }
    }
}
