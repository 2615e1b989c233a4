//! The configuration of all sharded maps in the index.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;
use std::thread;

use crate::simd::prefetch;

// Re-exported so that tests can substitute other types.
pub(super) use dashmap::DashMap;
pub(super) use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

static CORES: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

/// Many shards per core, so that a thread rarely finds one locked, or in another core's cache.
pub(crate) fn shards() -> usize {
    (128 * *CORES).next_power_of_two().clamp(256, 1_024)
}

/// The number of stripes, several for each core, for data of which each thread should have its own.
pub(super) fn stripes() -> usize {
    (4 * *CORES).clamp(16, 128)
}

/// This thread's stripe: consecutive threads have different stripes.
pub(super) fn stripe(stripes: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| number % stripes)
}

/// Prefetches the lock of a key's shard. Locks are acquired in turn, so the waits for locks that
/// are in the cache of another core would add up.
#[inline]
pub(super) fn prefetch_lock<V>(map: &DashMap<u32, V, Multiplicative>, key: u32) {
    let shard = map.determine_shard(map.hash_usize(&key));
    prefetch(&map.shards()[shard]);
}

/// Hashes numbers to 64 bits, as the map uses the high bits for its shards and tags: Fibonacci
/// hashing (Knuth, TAOCP 3, 6.4).
#[derive(Clone, Default)]
pub(crate) struct MultiplicativeHasher(u64);

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

pub(crate) type Multiplicative = BuildHasherDefault<MultiplicativeHasher>;
