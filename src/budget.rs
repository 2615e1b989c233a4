//! The memory that requests and caches may take together.
//!
//! What takes memory on behalf of a request reserves it here first, and is refused where it would
//! exceed the budget: so requests that are small by themselves cannot exhaust the memory together.
//! A reservation is an estimate from above of what is held, in bytes, not a measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What memory is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Bodies, and what is decoded from them.
    Bodies,
    /// Documents of bulk imports in flight.
    Bulk,
    /// What lookups read and answer.
    Answers,
    /// Sketches and ids of discoveries.
    Discoveries,
    /// What the caches of sets and of database pages may take, for good.
    Caches,
}

impl Purpose {
    pub const ALL: [Self; 5] =
        [Self::Bodies, Self::Bulk, Self::Answers, Self::Discoveries, Self::Caches];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bodies => "bodies",
            Self::Bulk => "bulk",
            Self::Answers => "answers",
            Self::Discoveries => "discoveries",
            Self::Caches => "caches",
        }
    }
}

/// The budget is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it needs {wanted} more bytes of memory, and {reserved} of the {max} of server.memory_max are \
     reserved: try again later, or ask for less"
)]
pub struct Exhausted {
    pub wanted: usize,
    pub reserved: usize,
    pub max: usize,
}

/// A number of bytes of which reservations take their parts.
#[derive(Debug)]
pub struct Budget {
    max: usize,
    reserved: AtomicUsize,
    by_purpose: [AtomicUsize; Purpose::ALL.len()],
    peak: AtomicUsize,
}

impl Budget {
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            reserved: AtomicUsize::new(0),
            by_purpose: Default::default(),
            peak: AtomicUsize::new(0),
        })
    }

    #[must_use]
    pub fn max(&self) -> usize {
        self.max
    }

    #[must_use]
    pub fn reserved(&self, purpose: Purpose) -> usize {
        self.by_purpose[purpose as usize].load(Ordering::Relaxed)
    }

    /// The most that was ever reserved at once.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// An empty reservation.
    #[must_use]
    pub fn reservation(self: &Arc<Self>, purpose: Purpose) -> Reservation {
        let (bytes, allowance) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Reservation { budget: Arc::clone(self), purpose, bytes, allowance }
    }

    fn take(&self, purpose: Purpose, bytes: usize) -> Result<(), Exhausted> {
        let add = |reserved: usize| reserved.checked_add(bytes).filter(|sum| *sum <= self.max);
        // Only the sum counts: no other memory is published by it.
        let taken = self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let reserved =
            taken.map_err(|reserved| Exhausted { wanted: bytes, reserved, max: self.max })?;
        self.peak.fetch_max(reserved + bytes, Ordering::Relaxed);
        self.by_purpose[purpose as usize].fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn give_back(&self, purpose: Purpose, bytes: usize) {
        self.by_purpose[purpose as usize].fetch_sub(bytes, Ordering::Relaxed);
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    purpose: Purpose,
    bytes: AtomicUsize,
    /// Bytes left that are not counted.
    allowance: AtomicUsize,
}

impl Reservation {
    /// The same, whose first `bytes` are not counted.
    #[must_use]
    pub fn with_allowance(mut self, bytes: usize) -> Self {
        self.allowance = AtomicUsize::new(bytes);
        self
    }

    /// Reserves further bytes.
    ///
    /// # Errors
    /// [`Exhausted`]: the budget has fewer left; what is reserved already stays so.
    pub fn grow(&self, bytes: usize) -> Result<(), Exhausted> {
        let use_up = |allowance: usize| Some(allowance.saturating_sub(bytes));
        let allowed = self.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, use_up);
        let bytes = bytes.saturating_sub(allowed.unwrap_or(0));
        self.budget.take(self.purpose, bytes)?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Another reservation in the same budget, for what is held for a shorter time.
    ///
    /// # Errors
    /// [`Exhausted`]
    pub fn beside(&self, bytes: usize) -> Result<Self, Exhausted> {
        let beside = self.budget.reservation(self.purpose);
        beside.grow(bytes).map(|()| beside)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.purpose, *self.bytes.get_mut());
    }
}

/// Bytes that a value takes at most for each of its parts: an entry of a map or vector that has
/// just grown, with the smallest allocation for its string.
const JSON_PART_BYTES: usize = 128;

/// At most what JSON takes in memory once it is decoded, with the JSON itself: its strings, and its
/// values, of which each but the first of an array or object follows a comma.
#[must_use]
pub fn decoded_json_bytes(json: &[u8]) -> usize {
    let parts = memchr::memchr3_iter(b',', b'[', b'{', json).count();
    json.len().saturating_mul(2).saturating_add(parts.saturating_mul(JSON_PART_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_never_exceeds_the_budget_and_is_given_back() {
        let budget = Budget::new(100);
        let (a, b) = (budget.reservation(Purpose::Bodies), budget.reservation(Purpose::Answers));
        a.grow(60).unwrap();
        assert_eq!(b.grow(41), Err(Exhausted { wanted: 41, reserved: 60, max: 100 }));
        assert!(b.grow(usize::MAX).is_err(), "the sum overflows");
        b.grow(40).unwrap();
        assert_eq!((budget.reserved(Purpose::Bodies), budget.reserved(Purpose::Answers)), (60, 40));
        drop(a);
        let beside = b.beside(60).unwrap();
        assert!(b.beside(1).is_err());
        drop((b, beside));
        assert_eq!(Purpose::ALL.map(|purpose| budget.reserved(purpose)), [0; Purpose::ALL.len()]);
        assert_eq!(budget.peak(), 100);
    }

    #[test]
    fn threads_share_the_budget() {
        let budget = Budget::new(1_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for bytes in (1..500).cycle().take(20_000) {
                        let reservation = budget.reservation(Purpose::Bulk);
                        let _ = reservation.grow(bytes);
                    }
                });
            }
        });
        assert!(budget.peak() <= 1_000);
        budget.reservation(Purpose::Bulk).grow(1_000).expect("all was given back");
    }

    #[test]
    fn json_of_many_small_values_is_counted_by_its_values() {
        assert_eq!(decoded_json_bytes(br#""a text""#), 16);
        assert!(decoded_json_bytes(b"[{},{},{}]") >= 6 * JSON_PART_BYTES);
    }
}
