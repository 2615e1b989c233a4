//! The share of one request, and the share of one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Exhausted;

/// A request may hold a tenth of the budget, so that an expensive request leaves room for others:
/// the caches take half, and four expensive requests fit into the other half.
pub(super) const SHARE_DIVISOR: usize = 10;

/// Where a tenth is less, a request may hold as much as comparing or returning one document of the
/// usual `document_bytes_max` takes.
const SHARE_BYTES_MIN: usize = 32 << 20;

/// The work of a client's requests in flight may be that of so many of the most expensive requests:
/// some seconds of a core, so that a request of another client that arrives now is not late.
pub(super) const CLIENT_REQUEST_COSTS: u64 = 8;

/// The memory and the work of the requests in flight of one client.
#[derive(Debug)]
pub struct ClientShare {
    bytes_max: usize,
    bytes: AtomicUsize,
    cost_max: u64,
    cost: AtomicU64,
}

impl ClientShare {
    /// `cost_max`: 0 for no limit.
    pub(super) fn new(bytes_max: usize, cost_max: u64) -> Arc<Self> {
        let cost_max = if cost_max == 0 { u64::MAX } else { cost_max };
        let (bytes, cost) = (AtomicUsize::new(0), AtomicU64::new(0));
        Arc::new(Self { bytes_max, bytes, cost_max, cost })
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn take(&self, bytes: usize) -> Result<(), Exhausted> {
        let add = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
        let taken = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let refused = |held| Exhausted::Client { wanted: bytes, held, max: self.bytes_max };
        taken.map(|_| ()).map_err(refused)
    }

    fn charge(&self, units: u64) -> Result<(), Exhausted> {
        let add = |cost: u64| cost.checked_add(units).filter(|sum| *sum <= self.cost_max);
        let charged = self.cost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let refused = |cost| Exhausted::ClientWork { wanted: units, cost, max: self.cost_max };
        charged.map(|_| ()).map_err(refused)
    }
}

/// The memory that one request holds, and the work that it has caused.
#[derive(Debug)]
pub(super) struct Share {
    bytes_max: usize,
    bytes: AtomicUsize,
    cost_max: u64,
    cost: AtomicU64,
    client: Arc<ClientShare>,
    /// The part of the cost that was accepted, and so counts in the client's.
    cost_of_client: AtomicU64,
}

impl Share {
    /// Of a request within a budget of so many bytes. `cost_max`: 0 for no limit.
    pub(super) fn new(budget_bytes: usize, cost_max: u64, client: Arc<ClientShare>) -> Arc<Self> {
        Arc::new(Self {
            bytes_max: (budget_bytes / SHARE_DIVISOR).max(SHARE_BYTES_MIN),
            bytes: AtomicUsize::new(0),
            cost_max,
            cost: AtomicU64::new(0),
            client,
            cost_of_client: AtomicU64::new(0),
        })
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The units that are left; `None` without a limit.
    pub(super) fn units_left(&self) -> Option<u64> {
        let left = self.cost_max.saturating_sub(self.cost.load(Ordering::Relaxed));
        (self.cost_max > 0).then_some(left)
    }

    pub(super) fn take(&self, bytes: usize) -> Result<(), Exhausted> {
        let add = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
        let taken = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let refused = |held| Exhausted::Share { wanted: bytes, held, max: self.bytes_max };
        taken.map(|_| ()).map_err(refused)
    }

    pub(super) fn charge(&self, units: u64) -> Result<(), Exhausted> {
        let add = |cost: u64| Some(cost.saturating_add(units));
        let before = self.cost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let (cost, max) = (before.unwrap_or(0).saturating_add(units), self.cost_max);
        if max > 0 && cost > max {
            return Err(Exhausted::Work { cost, max });
        }
        self.client.charge(units)?;
        self.cost_of_client.fetch_add(units, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.client.cost.fetch_sub(*self.cost_of_client.get_mut(), Ordering::Relaxed);
    }
}
