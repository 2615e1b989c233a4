//! How the allowed memory is shared out between the corpus and the searches.

use akin_core::passages::PassageLimits;

/// The work at which a search stops: ten to a hundred times the default.
const LIMITS: PassageLimits = PassageLimits {
    words_min: None,
    postings_max: 1_000_000,
    compared_max: 10_000,
    words_max: 100_000_000,
    pairs_max: 10_000_000,
    documents_max: 10_000,
};

/// Bytes of a search at these limits: 10,000,000 pairs are at most 2,500,000 runs, of 24 bytes and
/// 40 bytes in chains, in vectors that grow by doubling; with them 1,000,000 postings of 16 bytes.
const SEARCH_BYTES: usize = 320 << 20;

/// A search has at least a tenth of the limits.
const DIVISOR_MAX: usize = 10;

pub struct PassagesRoom {
    pub corpus_bytes: usize,
    /// Bytes that a search may take.
    search_bytes: usize,
    /// Searches at a time.
    pub threads: usize,
    pub limits: PassageLimits,
}

impl PassagesRoom {
    /// Searches get at most half of the memory. If half of the memory is less than a search may
    /// take, a single search runs at a time, with lower limits of its work.
    pub fn new(memory_max: usize, threads: usize) -> Self {
        let half = memory_max / 2;
        let search_bytes = half.clamp(SEARCH_BYTES / DIVISOR_MAX, SEARCH_BYTES);
        let threads = (half / search_bytes).clamp(1, threads);
        let part = |max: usize| (max as f64 * search_bytes as f64 / SEARCH_BYTES as f64) as usize;
        let limits = PassageLimits {
            postings_max: part(LIMITS.postings_max),
            pairs_max: part(LIMITS.pairs_max),
            ..LIMITS
        };
        let corpus_bytes = memory_max.saturating_sub(threads * search_bytes);
        Self { corpus_bytes, search_bytes, threads, limits }
    }

    pub fn searches_bytes(&self) -> usize {
        self.threads * self.search_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_searches_get_half_of_the_memory_at_most() {
        const MIB: usize = 1 << 20;
        for (memory, threads, expected) in
            [(0, 8, 1), (64, 8, 1), (640, 8, 1), (1_280, 8, 2), (10_240, 8, 8), (10_240, 1, 1)]
        {
            let room = PassagesRoom::new(memory * MIB, threads);
            assert_eq!(room.threads, expected, "{memory} MiB");
            let left = (memory * MIB).saturating_sub(room.searches_bytes());
            assert_eq!(room.corpus_bytes, left);
            assert!(memory < 64 || room.corpus_bytes >= memory * MIB / 2, "{memory} MiB");
            assert!((100_000..=1_000_000).contains(&room.limits.postings_max), "{memory} MiB");
            assert_eq!(room.limits.pairs_max / 10, room.limits.postings_max);
        }
    }
}
