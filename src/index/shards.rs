//! The configuration of all sharded maps in the index.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;
use std::thread;

// Re-exported so that tests can substitute other types.
pub(super) use dashmap::DashMap;
pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Several shards per core, so that threads rarely contend.
pub(super) fn shards() -> usize {
    static SHARDS: LazyLock<usize> = LazyLock::new(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        (4 * cores).next_power_of_two().clamp(16, 128)
    });
    *SHARDS
}

/// Hashes numbers to 64 bits, as the map uses the high bits for its shards and tags: Fibonacci
/// hashing (Knuth, TAOCP 3, 6.4).
#[derive(Clone, Default)]
pub(super) struct MultiplicativeHasher(u64);

impl Hasher for MultiplicativeHasher {
    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("all keys are u32");
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.0 = u64::from(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) type Multiplicative = BuildHasherDefault<MultiplicativeHasher>;
