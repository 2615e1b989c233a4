//! The shingles that are kept of a text ("0 mod m": Broder 1997).

use super::cut::Cut;

/// Which shingles of a text are kept. A shingle is kept wherever it occurs, or nowhere, so what
/// is kept of two texts resembles each other as they do: as sets and as bags.
pub(super) enum Sample {
    All,
    /// Those that are 0 modulo this.
    Divisible(u64),
    /// None is, so the least stands for the text, and equal texts still have equal sets.
    Least(u64),
}

impl Sample {
    /// A text that is one shingle as a whole keeps it.
    pub(super) fn of(cut: &Cut, modulo: u32) -> Self {
        if modulo == 1 || cut.whole_document {
            return Self::All;
        }
        let divisible = Self::Divisible(u64::from(modulo));
        let least = cut.shingles.iter().min();
        match least.filter(|_| !cut.shingles.iter().any(|shingle| divisible.keeps(*shingle))) {
            Some(least) => Self::Least(*least),
            None => divisible,
        }
    }

    pub(super) fn retain(&self, shingles: &mut Vec<u64>) {
        if !matches!(self, Self::All) {
            shingles.retain(|shingle| self.keeps(*shingle));
        }
    }

    #[inline]
    pub(super) fn keeps(&self, shingle: u64) -> bool {
        match self {
            Self::All => true,
            Self::Divisible(modulo) => shingle.is_multiple_of(*modulo),
            Self::Least(least) => shingle == *least,
        }
    }
}
