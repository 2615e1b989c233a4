//! docs/concepts.md shows what each fold makes equal.

use std::collections::BTreeSet;
use std::fs;

use akin_core::Shingler;
use akin_core::text::{Fold, ShingleSettings};

use crate::root;

/// The set of a text with some folds.
fn set(text: &str, fold: BTreeSet<Fold>) -> Vec<u64> {
    let shingler = Shingler::new(ShingleSettings { fold, ..Default::default() }, 0, usize::MAX);
    shingler.text(&text.replace("\\n", "\n")).unwrap().set.as_slice().to_vec()
}

#[test]
fn each_row_of_the_table_of_folds_is_true() {
    let page = fs::read_to_string(root().join("docs/concepts.md")).unwrap();
    let (_, table) = page.split_once("| `fold` |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let mut shown = BTreeSet::new();
    for row in table.lines().skip(2) {
        let [name, a, b] = [1, 3, 5].map(|at| row.split('`').nth(at).unwrap());
        let fold: Fold = serde_json::from_value(name.into()).unwrap();
        shown.insert(fold);
        assert_ne!(set(a, BTreeSet::new()), set(b, BTreeSet::new()), "{row}");
        assert_eq!(set(a, [fold].into()), set(b, [fold].into()), "{row}");
    }
    assert_eq!(shown.len(), Fold::ALL.len(), "{shown:?}");
}
