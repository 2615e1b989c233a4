//! Numbers of entries: each belongs to one entry at a time, and is reused when the entry is
//! removed.

use super::shards::{AtomicU32, Mutex, MutexGuard, Ordering, PoisonError, shards};

/// Consecutive numbers whose entries are stored together.
pub(super) const RANGE: u32 = 256;

/// The number of ranges: all 32-bit numbers but the last.
const RANGES_MAX: u32 = u32::MAX / RANGE;

#[derive(Debug)]
pub(super) struct Numbers {
    /// Threads take numbers from different pools, so that they write to different parts.
    pools: Box<[Mutex<Pool>]>,
    ranges: AtomicU32,
}

#[derive(Debug, Default)]
struct Pool {
    /// The rest of a range.
    next: u32,
    end: u32,
    given_back: Vec<u32>,
}

impl Pool {
    fn take(&mut self) -> Option<u32> {
        self.given_back.pop().or_else(|| {
            let next = (self.next < self.end).then_some(self.next)?;
            self.next += 1;
            Some(next)
        })
    }
}

impl Default for Numbers {
    fn default() -> Self {
        let pools = (0..shards()).map(|_| Mutex::default()).collect();
        Self { pools, ranges: AtomicU32::new(0) }
    }
}

impl Numbers {
    pub fn take(&self) -> u32 {
        let mut pool = self.pool();
        if let Some(number) = pool.take() {
            return number;
        }
        let range = self.ranges.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |ranges| {
            (ranges < RANGES_MAX).then_some(ranges + 1)
        });
        if let Ok(range) = range {
            let start = range * RANGE;
            (pool.next, pool.end) = (start + 1, start + RANGE);
            return start;
        }
        drop(pool);
        // Every filed set has a document, and there are fewer documents than numbers.
        let left = self.pools.iter().find_map(|pool| lock(pool).take());
        left.expect("fewer sets than numbers")
    }

    pub fn give_back(&self, number: u32) {
        self.pool().given_back.push(number);
    }

    /// The end of the ranges assigned so far.
    pub fn ranges(&self) -> u32 {
        self.ranges.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        let given_back = self.pools.iter().map(|pool| lock(pool).given_back.capacity());
        given_back.sum::<usize>() * size_of::<u32>() + self.pools.len() * size_of::<Mutex<Pool>>()
    }

    /// A pool that no other thread is using.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        let free = self.pools.iter().find_map(|pool| pool.try_lock().ok());
        free.unwrap_or_else(|| lock(&self.pools[0]))
    }
}

/// Pools change by steps that do not panic.
fn lock(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}
