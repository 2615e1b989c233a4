//! The numbers of entries: a number belongs to a single entry at a time, and is reused when the
//! entry is removed.

use std::mem;

use super::shards::{AtomicU32, Mutex, MutexGuard, Ordering, PoisonError, stripe, stripes};

/// The count of consecutive numbers that are stored together.
pub(super) const RANGE: u32 = 256;

/// The number of ranges: all 32-bit numbers but the last.
const RANGES_MAX: u32 = u32::MAX / RANGE;

#[derive(Debug)]
pub(crate) struct Numbers {
    /// Threads take numbers from different pools, so that they write to different parts.
    pools: Box<[Mutex<NumberPool>]>,
    ranges: AtomicU32,
}

#[derive(Debug, Default)]
#[repr(align(128))] // Two cache lines, which processors often fetch together.
struct NumberPool {
    /// The rest of a range.
    next: u32,
    end: u32,
    given_back: Vec<u32>,
    /// The count of numbers taken from this pool, less the numbers given back to it.
    taken: i64,
}

impl NumberPool {
    fn take(&mut self) -> Option<u32> {
        let number = self.given_back.pop().or_else(|| {
            let next = (self.next < self.end).then_some(self.next)?;
            self.next += 1;
            Some(next)
        })?;
        self.taken += 1;
        Some(number)
    }
}

impl Default for Numbers {
    fn default() -> Self {
        let pools = (0..stripes()).map(|_| Mutex::default()).collect();
        Self { pools, ranges: AtomicU32::new(0) }
    }
}

impl Numbers {
    pub fn take(&self) -> u32 {
        let mut pool = self.pool();
        if let Some(number) = pool.take() {
            return number;
        }
        pool.given_back = self.given_back_elsewhere();
        if pool.given_back.is_empty()
            && let Ok(range) = self.ranges.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        {
            (pool.next, pool.end) = (range * RANGE, (range + 1) * RANGE);
        }
        if let Some(number) = pool.take() {
            return number;
        }
        drop(pool);
        // Every set has a document, and there are fewer documents than numbers.
        let left = self.pools.iter().find_map(|pool| lock(pool).take());
        left.expect("fewer sets than numbers")
    }

    /// All numbers that were given back to another pool, which no thread is using.
    fn given_back_elsewhere(&self) -> Vec<u32> {
        let given_back =
            |pool: &Mutex<NumberPool>| Some(mem::take(&mut pool.try_lock().ok()?.given_back));
        let mut all = self.pools.iter().filter_map(given_back);
        all.find(|numbers| !numbers.is_empty()).unwrap_or_default()
    }

    pub fn give_back(&self, number: u32) {
        let mut pool = self.pool();
        pool.given_back.push(number);
        pool.taken -= 1;
    }

    /// How many numbers are in use.
    pub fn taken(&self) -> u64 {
        self.pools.iter().map(|pool| lock(pool).taken).sum::<i64>().max(0) as u64
    }

    /// The end of the ranges assigned so far.
    pub fn ranges(&self) -> u32 {
        self.ranges.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        let given_back = self.pools.iter().map(|pool| lock(pool).given_back.capacity());
        given_back.sum::<usize>() * size_of::<u32>()
            + self.pools.len() * size_of::<Mutex<NumberPool>>()
    }

    /// This thread's pool.
    fn pool(&self) -> MutexGuard<'_, NumberPool> {
        lock(&self.pools[stripe(self.pools.len())])
    }
}

fn next(range: u32) -> Option<u32> {
    (range < RANGES_MAX).then_some(range + 1)
}

/// Pools change by steps that do not panic.
fn lock(pool: &Mutex<NumberPool>) -> MutexGuard<'_, NumberPool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}
