//! The parts that are cut out of texts.

use std::ops::Range;

/// The parts that are cut out of the texts of a file's rows.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "no rows are copied"))]
pub struct Cuts {
    /// The name of the column with the texts.
    pub column: String,
    /// Rows with cuts, ascending, and ranges of bytes.
    pub of_rows: Vec<(u64, Vec<Range<usize>>)>,
}

impl Cuts {
    /// The cuts of the row with this number.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "no rows are copied"))]
    pub fn of(&self, row: u64) -> &[Range<usize>] {
        let at = self.of_rows.binary_search_by_key(&row, |(row, _)| *row);
        at.map_or(&[], |at| &self.of_rows[at].1)
    }
}

/// A text without these ranges of bytes, which are in their order and may overlap. Of the white
/// space before and after a range the longer stays. `None` if the text has no such ranges.
pub fn without(text: &str, ranges: &[Range<usize>]) -> Option<String> {
    let mut left = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        join(&mut left, text.get(end..range.start.max(end))?);
        end = range.end.max(end);
    }
    join(&mut left, text.get(end..)?);
    Some(left)
}

fn join(left: &mut String, part: &str) {
    let before = left.trim_end();
    let after = part.trim_start();
    match left.len() - before.len() < part.len() - after.len() {
        true => {
            left.truncate(before.len());
            left.push_str(part);
        }
        false => left.push_str(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_white_space_beside_a_cut_stays() {
        for (text, expected) in [
            ("a CUT b", "a b"),
            ("One.\n\nCUT two", "One.\n\ntwo"),
            ("one CUT\n\nTwo.", "one\n\nTwo."),
            ("a CUT CUT b", "a b"),
            ("a (CUT) b", "a () b"),
            (" CUT b", " b"),
            ("a CUT ", "a "),
            ("\u{3000}CUT\u{3000}b", "\u{3000}b"),
            ("CUTCUT", ""),
        ] {
            let cuts = text.match_indices("CUT").map(|(at, _)| at..at + 3);
            let cuts: Vec<Range<usize>> = cuts.collect();
            assert_eq!(without(text, &cuts).as_deref(), Some(expected), "{text:?}");
        }
        assert_eq!(without("abcd", &[0..2, 1..3]).as_deref(), Some("d"));
        assert_eq!(without("é", &[0..1, 1..3]), None);
    }
}
