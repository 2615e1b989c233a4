/// Distinct hashed shingles, ascending; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShingleSet(Box<[u64]>);

impl ShingleSet {
    /// Sorts and removes repetitions. `None` for no shingles at all.
    #[must_use]
    pub fn from_shingles(mut shingles: Vec<u64>) -> Option<Self> {
        shingles.sort_unstable();
        shingles.dedup();
        if shingles.is_empty() { None } else { Some(Self(shingles.into_boxed_slice())) }
    }

    /// Takes shingles that are strictly ascending already; `None` if they are not, or are none.
    #[must_use]
    pub fn from_ascending(shingles: Vec<u64>) -> Option<Self> {
        let ascending = shingles.is_sorted_by(|before, after| before < after);
        if shingles.is_empty() || !ascending {
            return None;
        }
        Some(Self(shingles.into_boxed_slice()))
    }

    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// The number of distinct shingles, at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// One number for the whole set: equal for equal sets, and for two different ones with a chance of 2⁻⁶⁴.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        todo!()
    }
}
