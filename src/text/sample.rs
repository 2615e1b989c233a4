//! The shingles that are kept of a text ("0 mod m": Broder 1997).

use super::ShingleSet;
use super::bag::Bag;
use super::cut::Cut;

/// Which shingles of a text are kept. A shingle is kept wherever it occurs, or nowhere, so what
/// is kept of two texts resembles each other about as they do: as sets and as bags.
pub(super) enum Sample {
    All,
    /// Those that are 0 modulo this.
    Divisible(u64),
    /// None is. A digest of all of them stands for the text: equal sets have equal digests, and
    /// unlike sets have nothing in common.
    Digest(u64),
}

impl Sample {
    /// A text that is one shingle as a whole keeps it.
    pub(super) fn of(cut: &Cut, modulo: u32, multiset: bool) -> Self {
        if modulo == 1 || cut.whole_document || cut.shingles.is_empty() {
            return Self::All;
        }
        let divisible = Self::Divisible(u64::from(modulo));
        match cut.shingles.iter().any(|shingle| divisible.keeps(*shingle)) {
            true => divisible,
            false => Self::Digest(digest(cut, modulo, multiset)),
        }
    }

    pub(super) fn retain(&self, shingles: &mut Vec<u64>) {
        match self {
            Self::All => {}
            Self::Divisible(_) => shingles.retain(|shingle| self.keeps(*shingle)),
            Self::Digest(digest) => *shingles = vec![*digest],
        }
    }

    #[inline]
    pub(super) fn keeps(&self, shingle: u64) -> bool {
        match self {
            Self::All => true,
            Self::Divisible(modulo) => shingle.is_multiple_of(*modulo),
            Self::Digest(_) => false,
        }
    }
}

/// Of all shingles of a text that has some; 1 by the modulo, so that no sample holds it.
fn digest(cut: &Cut, modulo: u32, multiset: bool) -> u64 {
    let shingles = cut.shingles.clone();
    let elements = match multiset {
        true => Bag::from_shingles(shingles).map(|bag| bag.elements()),
        false => Some(shingles),
    };
    let fingerprint =
        elements.and_then(ShingleSet::from_shingles).map_or(0, |set| set.fingerprint());
    let multiple = fingerprint - fingerprint % u64::from(modulo);
    multiple.saturating_add(1)
}

/// Whether sets are samples of what their contents hold.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    pub(super) modulo: u32,
    pub(super) multiset: bool,
}

impl Sampling {
    /// Any set may be a sample.
    pub fn is_on(self) -> bool {
        self.modulo > 1
    }

    /// Whether a set surely holds all of its content: it has an element that no sample has. Sets
    /// of ready-made tokens, and what stands for a text as a whole, nearly always have one.
    pub fn is_whole(self, set: &ShingleSet) -> bool {
        let is_sampled = |element: &u64| element.is_multiple_of(u64::from(self.modulo));
        match (self.is_on(), self.multiset) {
            (false, _) => true,
            (true, false) => !set.as_slice().iter().all(is_sampled),
            // Further occurrences of a sampled shingle are elements of any number.
            (true, true) => set.count() == 1 && !is_sampled(&set.as_slice()[0]),
        }
    }
}
