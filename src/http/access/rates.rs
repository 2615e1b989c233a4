//! Limits on the number of requests in a second, for each key and each address.
//!
//! Each caller has a bucket of tokens, kept as a number: the time at which it will be full again
//! (the generic cell rate algorithm, ITU-T I.371). Buckets are in a table of fixed size and chosen
//! by a hash with a secret seed, so callers cannot make it grow and need no lock. Two callers may
//! share a bucket; each has two, and a request is refused only if both are empty.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// 512 KiB. While 1,000 callers are refused, each of them refuses 1 of 4,000 other callers by
/// chance.
const BUCKETS: usize = 1 << 16;

/// The tokens of all callers.
pub struct Rates {
    /// Nanoseconds after `start` at which the bucket is full.
    full_at: Box<[AtomicU64]>,
    start: Instant,
    seed: RandomState,
    /// Between two tokens, in nanoseconds.
    interval: u64,
    /// The time in which an empty bucket fills, in nanoseconds.
    filling: u64,
}

impl Rates {
    /// `None` for a rate of zero, which means no limit. A bucket takes the tokens of `burst`, and
    /// at least one.
    pub fn new(per_second: u32, burst: Duration) -> Option<Self> {
        let interval = 1_000_000_000_u64.checked_div(u64::from(per_second))?.max(1);
        Some(Self {
            full_at: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            start: Instant::now(),
            seed: RandomState::new(),
            interval,
            filling: (burst.as_nanos() as u64).max(interval),
        })
    }

    /// Takes a token of the caller. `false`: there is none.
    pub fn take(&self, caller: impl Hash) -> bool {
        self.take_at(caller, self.start.elapsed().as_nanos() as u64)
    }

    fn take_at(&self, caller: impl Hash, now: u64) -> bool {
        let hash = self.seed.hash_one(caller);
        let buckets = [hash as usize % BUCKETS, (hash >> 32) as usize % BUCKETS];
        let taken = buckets.map(|at| self.take_from(&self.full_at[at], now));
        taken[0] || taken[1]
    }

    fn take_from(&self, bucket: &AtomicU64, now: u64) -> bool {
        let taken = bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |full_at| {
            let full_at = full_at.max(now) + self.interval;
            (full_at <= now + self.filling).then_some(full_at)
        });
        taken.is_ok()
    }
}

/// The address by which requests are counted: an IPv4 address, or the /64 network of an IPv6
/// address, which a single host may own.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_caller_has_a_burst_and_then_its_rate() {
        let rates = Rates::new(10, Duration::from_secs(2)).unwrap();
        let taken = |now| (0..100).filter(|_| rates.take_at("a", now)).count();
        assert_eq!(taken(0), 20, "the burst");
        assert_eq!(taken(SECOND), 10, "a second's tokens");
        assert_eq!(taken(SECOND + SECOND / 10 - 1), 0);
        assert_eq!(taken(SECOND + SECOND / 10), 1);
        assert_eq!(taken(100 * SECOND), 20, "no more than the burst");
    }

    #[test]
    fn a_burst_shorter_than_a_token_is_one_token() {
        let rates = Rates::new(1, Duration::ZERO).unwrap();
        assert!(rates.take_at("a", 0) && !rates.take_at("a", SECOND - 1));
        assert!(rates.take_at("a", SECOND));
    }

    #[test]
    fn others_are_not_refused_for_one_callers_requests() {
        let rates = Rates::new(1, Duration::ZERO).unwrap();
        let greedy = 1_000;
        for caller in 0..greedy {
            while rates.take_at(caller, 0) {}
        }
        let refused = (greedy..greedy + 10_000).filter(|other| !rates.take_at(other, 0)).count();
        // The callers before it have taken tokens as well, hence more than 1 of 4,000.
        assert!(refused < 500, "{refused} of 10,000");
    }

    #[test]
    fn no_rate_is_no_limit() {
        assert!(Rates::new(0, Duration::from_secs(1)).is_none());
    }

    #[test]
    fn addresses_of_one_host_count_together() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
