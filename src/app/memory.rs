//! The memory of requests, connections and caches: by default a share of the process's memory
//! limit.

use std::sync::Arc;

use crate::budget::{Budget, Purpose, Reservation};
use crate::config::Settings;
use crate::http::{CONNECTION_BYTES, CONNECTIONS_RESERVE};
pub use akin_files::memory::{address_space, available_memory, limit};

/// The part of the budget that connections may take, unless that would leave fewer than
/// [`CONNECTIONS_MIN`].
const CONNECTIONS_DIVISOR: usize = 8;

/// Fewer connections are of no use.
const CONNECTIONS_MIN: usize = 16;

/// Sets the budget of memory that the settings leave open, reduces caches of more than half of it,
/// and connections of more than an eighth.
pub fn fit_memory(settings: &mut Settings) {
    let Settings { server, storage, .. } = settings;
    if server.memory_max == 0 {
        server.memory_max = available_memory() / 2;
    }
    let memory_max = server.memory_max;
    tracing::info!(memory_max, "memory budget of requests and caches");
    let (sets, pages) = (&mut storage.sets_cache_bytes, &mut storage.store.page_cache_bytes);
    let (wanted, most) = (sets.saturating_add(*pages), memory_max as u64 / 2);
    if wanted > most {
        let share = |bytes: u64| (u128::from(bytes) * u128::from(most) / u128::from(wanted)) as u64;
        (*sets, *pages) = (share(*sets), share(*pages));
        let (sets_cache_bytes, page_cache_bytes) = (*sets, *pages);
        tracing::warn!(
            memory_max,
            sets_cache_bytes,
            page_cache_bytes,
            "caches reduced to half of memory_max"
        );
    }
    let most = memory_max / CONNECTIONS_DIVISOR / CONNECTION_BYTES;
    let connections_max = most.saturating_sub(CONNECTIONS_RESERVE).max(CONNECTIONS_MIN);
    if server.connections_max > connections_max {
        let configured = server.connections_max;
        tracing::info!(configured, connections_max, "connections_max reduced to fit memory_max");
        server.connections_max = connections_max;
    }
}

/// Reserves the memory of caches and connections, once the settings [fit](fit_memory).
pub fn reserve_for_good(budget: &Arc<Budget>, settings: &Settings) -> [Reservation; 2] {
    let storage = &settings.storage;
    let caches = storage.sets_cache_bytes + storage.store.page_cache_bytes;
    let connections = (settings.server.connections_max + CONNECTIONS_RESERVE) * CONNECTION_BYTES;
    // The smallest budgets have no room for the fewest connections.
    let connections = connections.min(budget.max() / CONNECTIONS_DIVISOR);
    [(Purpose::Caches, caches as usize), (Purpose::Connections, connections)].map(
        |(purpose, bytes)| {
            let reservation = budget.reservation(purpose);
            reservation.grow(bytes).expect("both together are less than the budget");
            reservation
        },
    )
}

/// Free memory beyond the reservation of a request, for allocations that are too small to reserve.
const HEADROOM_BYTES: usize = 32 << 20;

/// Whether this number of bytes can be allocated now. Only a limit of the address space makes an
/// allocation fail: without one the kernel promises memory that it may not have.
pub fn can_allocate(bytes: usize) -> bool {
    if address_space().is_none() {
        return true;
    }
    let mut probe = Vec::<u8>::new();
    let is_there = probe.try_reserve_exact(bytes.saturating_add(HEADROOM_BYTES)).is_ok();
    // Without it the compiler may optimise the allocation away.
    std::hint::black_box(&probe);
    is_there
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(memory_max: usize, sets_cache_bytes: u64, page_cache_bytes: u64) -> Settings {
        let mut settings = Settings::default();
        settings.server.memory_max = memory_max;
        settings.storage.sets_cache_bytes = sets_cache_bytes;
        settings.storage.store.page_cache_bytes = page_cache_bytes;
        fit_memory(&mut settings);
        settings
    }

    #[test]
    fn a_configured_budget_is_kept() {
        assert_eq!(fitted(7_000, 10, 20).server.memory_max, 7_000);
        assert!(fitted(0, 10, 20).server.memory_max > 0);
    }

    #[test]
    fn caches_reserve_at_most_half_of_the_budget() {
        for (memory_max, sets, pages, expected) in
            [(100, 30, 20, (30, 20)), (100, 60, 40, (30, 20)), (100, u64::MAX, 0, (50, 0))]
        {
            let settings = fitted(memory_max, sets, pages);
            let storage = &settings.storage;
            assert_eq!((storage.sets_cache_bytes, storage.store.page_cache_bytes), expected);
            let budget = Budget::new(settings.server.memory_max);
            let for_good = reserve_for_good(&budget, &settings);
            assert_eq!(budget.reserved(Purpose::Caches), 50);
            assert!(budget.reservation(Purpose::Bodies).grow(39).is_err());
            drop(for_good);
        }
    }

    #[test]
    fn connections_reserve_at_most_an_eighth_of_the_budget() {
        for (memory_max, expected) in
            [(1 << 20, 16), (64 << 20, 69), (1 << 30, 1_349), (2 << 30, 2_714), (4 << 30, 4_096)]
        {
            let settings = fitted(memory_max, 0, 0);
            assert_eq!(settings.server.connections_max, expected, "{memory_max}");
            let budget = Budget::new(memory_max);
            let for_good = reserve_for_good(&budget, &settings);
            let reserved = budget.reserved(Purpose::Connections);
            assert!(reserved <= memory_max / 8, "{reserved} of {memory_max}");
            drop(for_good);
        }
    }
}
