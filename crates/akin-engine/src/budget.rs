//! The memory that requests and caches may take together, and the share of a request.
//!
//! Code that takes memory on behalf of a request reserves the memory here first, and is refused
//! where it would exceed the budget: so small requests cannot exhaust the memory together. A
//! reservation is an upper estimate of the bytes held, not a measurement.
//!
//! A request has a `Share`: the most memory that it may hold at a time, and the most work that it
//! may cause. Work is counted in units of [`cost`], before it is done.

mod share;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

pub use share::ClientShare;
use share::{CLIENT_REQUEST_COSTS, Share};

/// The purpose of reserved memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Bodies, and the values decoded from them.
    Bodies,
    /// Documents of bulk imports in flight.
    Bulk,
    /// Documents that lookups read, and answers.
    Answers,
    /// Sketches and ids of discoveries.
    Discoveries,
    /// The buffers of connections, reserved for good.
    Connections,
    /// The caches of sets and of database pages, reserved for good.
    Caches,
}

impl Purpose {
    pub const ALL: [Self; 6] = [
        Self::Bodies,
        Self::Bulk,
        Self::Answers,
        Self::Discoveries,
        Self::Connections,
        Self::Caches,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bodies => "bodies",
            Self::Bulk => "bulk",
            Self::Answers => "answers",
            Self::Discoveries => "discoveries",
            Self::Connections => "connections",
            Self::Caches => "caches",
        }
    }
}

/// A reservation asks each time that it has grown by this much whether it can be allocated.
const PROBED_BYTES: usize = 1 << 20;

/// Whether the process can allocate so many bytes now.
pub type Probe = fn(usize) -> bool;

/// Why memory or work is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// Other requests hold the memory.
    #[error(
        "it needs {wanted} more bytes of memory, and {reserved} of the {max} of server.memory_max \
         are reserved: try again later, or ask for less"
    )]
    Budget { wanted: usize, reserved: usize, max: usize },
    /// The process has a limit of its own.
    #[error(
        "the process cannot allocate {wanted} bytes more under its limit of address space \
         (ulimit -v): try again later, ask for less, or lower server.memory_max"
    )]
    Process { wanted: usize },
    /// The request alone would take too much memory.
    #[error(
        "the answer needs {wanted} more bytes of memory in addition to the {held} that the request \
         holds, and a request may hold {max} (a tenth of server.memory_max): ask for less at a \
         time, such as a smaller limit, fewer probes or shorter texts"
    )]
    Share { wanted: usize, held: usize, max: usize },
    /// The client's requests hold the memory that the requests of one client may hold.
    #[error(
        "it needs {wanted} more bytes of memory in addition to the {held} that this client's \
         requests hold, and they may hold {max} (client_share_percent of what caches and \
         connections leave of server.memory_max)"
    )]
    Client { wanted: usize, held: usize, max: usize },
    /// The request alone would cause too much work.
    #[error(
        "the request costs {cost} units or more, and may cost {max} (server.request_cost_max): ask \
         for fewer probes at a time, a smaller limit, a higher threshold or a narrower filter"
    )]
    Work { cost: u64, max: u64 },
    /// The requests in flight of one client would cause too much work together.
    #[error(
        "it costs {wanted} more units in addition to the {cost} of this client's requests in \
         flight, and they may cost {max} together ({CLIENT_REQUEST_COSTS} times \
         server.request_cost_max): send fewer requests at a time"
    )]
    ClientWork { wanted: u64, cost: u64, max: u64 },
}

/// What work costs. A unit is about five microseconds of one core: to compare two documents of some
/// hundred shingles, with the reading of one of them.
pub mod cost {
    /// Shingles of two sets that are compared for a unit; each set that is read costs a further
    /// unit.
    pub const SHINGLES_COMPARED: usize = 1_000;
    /// Elements of a posted set that are sketched for a unit.
    pub const SHINGLES_CUT: usize = 100;
    /// Bytes of a posted text for a unit.
    pub const TEXT_BYTES: usize = 512;
    /// Bytes of a page whose text is extracted for a unit.
    pub const HTML_BYTES: usize = 64;
    /// Steps of the search for the main text of a page for a unit.
    pub const HTML_STEPS: usize = 50;
    /// Words of a probe for passages that are looked up and indexed for a unit.
    pub const WORDS_SEARCHED: usize = 50;
    /// Sketches compared for a unit.
    pub const SKETCHES: usize = 100;
    /// Sketches that a scan of all sketches compares for a unit.
    pub const SKETCHES_SCANNED: usize = 250;
    /// Pairs of a sampled and a stored document compared by a measurement of recall, for a unit.
    /// Most pairs differ so much in their sizes or first shingles that the comparison ends at once.
    pub const SAMPLED_PAIRS: usize = 20;
    /// Documents passed over in a scan, or by a filter, for a unit.
    pub const DOCUMENTS: usize = 10;
    /// Bytes of metadata that a filter examines for a unit.
    pub const METADATA_BYTES: usize = 1_024;
    /// Values of metadata that terms of a filter visit for a unit.
    pub const VALUES_VISITED: usize = 400;
    /// Bytes of metadata or contents that an answer has for a unit.
    pub const DETAIL_BYTES: usize = 4_096;
    /// Pairs of characters compared for a unit.
    pub const CHARACTER_PAIRS: u64 = 20_000;
}

/// A number of bytes of which reservations take their parts.
#[derive(Debug)]
pub struct Budget {
    max: usize,
    reserved: AtomicUsize,
    by_purpose: [AtomicUsize; Purpose::ALL.len()],
    peak: AtomicUsize,
    probe: OnceLock<Probe>,
}

impl Budget {
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            reserved: AtomicUsize::new(0),
            by_purpose: Default::default(),
            peak: AtomicUsize::new(0),
            probe: OnceLock::new(),
        })
    }

    /// Asks the probe, too, before large reservations: an allocation that fails ends the process.
    /// The first probe stays.
    pub fn ask(&self, probe: Probe) {
        let _ = self.probe.set(probe);
    }

    /// A vector or a string that grows takes twice its bytes for a moment.
    fn can_allocate(&self, bytes: usize) -> bool {
        self.probe.get().is_none_or(|probe| probe(bytes.saturating_mul(2)))
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
        let (share, client, cost_of_each) = (None, None, 0);
        let budget = Arc::clone(self);
        Reservation { budget, purpose, bytes, allowance, share, client, cost_of_each }
    }

    /// An empty reservation of a request of a client: the request may hold a share of the budget
    /// (`SHARE_DIVISOR`) at a time and cause work of at most `cost_max` units (0: any). Its memory
    /// and its work count towards the client's.
    #[must_use]
    pub fn share(
        self: &Arc<Self>,
        purpose: Purpose,
        cost_max: u64,
        client: &Arc<ClientShare>,
    ) -> Reservation {
        let mut reservation = self.reservation(purpose).of_client(Arc::clone(client));
        reservation.share = Some(Share::new(self.max, cost_max, Arc::clone(client)));
        reservation
    }

    /// The share of a client: its requests may hold `percent` of the memory that caches and
    /// connections leave, but at least `bytes_min`, and may cause `CLIENT_REQUEST_COSTS` times the
    /// work `cost_max` of one request (0: any). With 100 percent nothing is limited.
    #[must_use]
    pub fn client_share(&self, percent: u32, bytes_min: usize, cost_max: u64) -> Arc<ClientShare> {
        if percent == 100 {
            return ClientShare::new(usize::MAX, 0);
        }
        let for_good = self.reserved(Purpose::Caches) + self.reserved(Purpose::Connections);
        let left = self.max - for_good.min(self.max);
        let share = (left as u128 * u128::from(percent)).div_ceil(100);
        let bytes_max = usize::try_from(share).unwrap_or(usize::MAX).max(bytes_min);
        ClientShare::new(bytes_max, cost_max.saturating_mul(CLIENT_REQUEST_COSTS))
    }

    fn take(&self, purpose: Purpose, bytes: usize) -> Result<(), Exhausted> {
        let add = |reserved: usize| reserved.checked_add(bytes).filter(|sum| *sum <= self.max);
        // Only the sum counts: no other memory is published by it.
        let taken = self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let reserved = taken.map_err(|reserved| Exhausted::Budget {
            wanted: bytes,
            reserved,
            max: self.max,
        })?;
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
    /// The share of the request, in reservations of a request.
    share: Option<Arc<Share>>,
    /// The share of the client, in reservations that count towards it.
    client: Option<Arc<ClientShare>>,
    /// The work in units that each of several documents may cause; 0: any.
    cost_of_each: u64,
}

impl Reservation {
    /// Counts the reservation towards the memory of the client, too.
    #[must_use]
    pub fn of_client(mut self, client: Arc<ClientShare>) -> Self {
        self.client = Some(client);
        self
    }

    /// Leaves the first `bytes` uncounted.
    #[must_use]
    pub fn with_allowance(mut self, bytes: usize) -> Self {
        self.allowance = AtomicUsize::new(bytes);
        self
    }

    /// Reserves further bytes.
    ///
    /// # Errors
    /// [`Exhausted`]: the budget, the request's share or the process has fewer left; earlier
    /// reservations stay.
    pub fn grow(&self, bytes: usize) -> Result<(), Exhausted> {
        let use_up = |allowance: usize| Some(allowance.saturating_sub(bytes));
        let allowed = self.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, use_up);
        let bytes = bytes.saturating_sub(allowed.unwrap_or(0));
        self.share.as_ref().map_or(Ok(()), |share| share.take(bytes))?;
        self.budget.take(self.purpose, bytes).inspect_err(|_| self.leave_share(bytes))?;
        let of_client = self.client.as_ref().map_or(Ok(()), |client| client.take(bytes));
        of_client.inspect_err(|_| {
            self.leave_share(bytes);
            self.budget.give_back(self.purpose, bytes);
        })?;
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let held = before.saturating_add(bytes);
        if before / PROBED_BYTES == held / PROBED_BYTES || self.budget.can_allocate(held) {
            return Ok(());
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.leave_share(bytes);
        self.leave_client(bytes);
        self.budget.give_back(self.purpose, bytes);
        Err(Exhausted::Process { wanted: held })
    }

    /// Counts work that the request is about to cause, until the request ends.
    ///
    /// # Errors
    /// [`Exhausted::Work`], [`Exhausted::ClientWork`]: it is more work than the request, or all
    /// requests of its client, may cause.
    pub fn charge(&self, units: usize) -> Result<(), Exhausted> {
        self.share.as_ref().map_or(Ok(()), |share| share.charge(units as u64))
    }

    /// The work in units that the request may still cause; `None` without a limit.
    #[must_use]
    pub fn units_left(&self) -> Option<u64> {
        self.share.as_ref()?.units_left()
    }

    /// Another reservation of the same request, for memory that is held for a shorter time.
    ///
    /// # Errors
    /// [`Exhausted`]
    pub fn another(&self, bytes: usize) -> Result<Self, Exhausted> {
        let mut another = self.budget.reservation(self.purpose);
        another.share.clone_from(&self.share);
        another.client.clone_from(&self.client);
        another.grow(bytes).map(|()| another)
    }

    /// Lets each of the documents for which memory is reserved cause work of `cost_max` units (0:
    /// any): [`Self::of_one_request`].
    #[must_use]
    pub fn with_cost_of_each(mut self, cost_max: u64) -> Self {
        self.cost_of_each = cost_max;
        self
    }

    /// Another reservation, empty, for one of the documents for which this one reserves: it may
    /// hold as much as one request, even if this one may hold more, and cause as much work. The
    /// work does not count towards the client's: many documents of one request are searched for, a
    /// few at a time, and clients take turns.
    #[must_use]
    pub fn of_one_request(&self) -> Self {
        let mut of_request = self.budget.reservation(self.purpose);
        of_request.client.clone_from(&self.client);
        let client = ClientShare::new(usize::MAX, 0);
        of_request.share = Some(Share::new(self.budget.max, self.cost_of_each, client));
        of_request
    }

    fn leave_share(&self, bytes: usize) {
        if let Some(share) = &self.share {
            share.give_back(bytes);
        }
    }

    fn leave_client(&self, bytes: usize) {
        if let Some(client) = &self.client {
            client.give_back(bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.leave_share(bytes);
        self.leave_client(bytes);
        self.budget.give_back(self.purpose, bytes);
    }
}

/// The most bytes of a part of a value: an entry of a map or vector that has just grown, with the
/// smallest allocation for its string.
const JSON_PART_BYTES: usize = 128;

/// An upper bound of the memory of JSON and of the values decoded from it: its strings, and its
/// values.
#[must_use]
pub fn decoded_json_bytes(json: &[u8]) -> usize {
    let values = json_values(json).saturating_mul(JSON_PART_BYTES);
    json.len().saturating_mul(2).saturating_add(values)
}

/// An upper bound of the values in JSON, except for a value that is all of it: each follows a
/// comma, a bracket or a brace.
#[must_use]
pub fn json_values(json: &[u8]) -> usize {
    memchr::memchr3_iter(b',', b'[', b'{', json).count()
}

#[cfg(test)]
mod tests;
