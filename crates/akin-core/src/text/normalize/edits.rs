//! Maps the bytes of a normalised text to the bytes of the original.

use std::ops::Range;

/// The rewritten ranges, in order. Between two edits, the bytes are equal to the original's.
#[derive(Debug, Default)]
pub(in crate::text) struct Edits(Vec<Edit>);

#[derive(Debug)]
struct Edit {
    normalized: Range<usize>,
    original: Range<usize>,
}

impl Edits {
    pub(in crate::text) fn push(&mut self, normalized: Range<usize>, original: Range<usize>) {
        self.0.push(Edit { normalized, original });
    }

    /// Removes all edits from a position in the original on.
    pub(super) fn truncate(&mut self, original_start: usize) {
        let kept = self.0.partition_point(|edit| edit.original.start < original_start);
        self.0.truncate(kept);
    }

    /// The bytes of the original that became a range of the normalised text: at least one byte. A
    /// rewritten range counts as a whole.
    pub(in crate::text) fn original(&self, normalized: Range<usize>) -> Range<usize> {
        let start = match self.edit_before(normalized.start) {
            None => normalized.start,
            Some(edit) if normalized.start < edit.normalized.end => edit.original.start,
            Some(edit) => edit.original.end + (normalized.start - edit.normalized.end),
        };
        let end = match self.edit_before(normalized.end - 1) {
            None => normalized.end,
            Some(edit) if normalized.end <= edit.normalized.end => edit.original.end,
            Some(edit) => edit.original.end + (normalized.end - edit.normalized.end),
        };
        start..end
    }

    /// The last edit that starts at or before a place in the normalised text.
    fn edit_before(&self, place: usize) -> Option<&Edit> {
        let count = self.0.partition_point(|edit| edit.normalized.start <= place);
        self.0[..count].last()
    }
}
