//! The memory of requests, connections and caches: by default a share of the process's memory
//! limit.

use std::path::Path;
use std::sync::Arc;

use crate::budget::{Budget, Purpose, Reservation};
use crate::config::Settings;
use crate::http::{CONNECTION_BYTES, CONNECTIONS_RESERVE};

/// The memory to assume if it is unknown.
const UNKNOWN_BYTES: usize = 2 << 30;

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

/// The memory that this process may use, in bytes.
pub fn available_memory() -> usize {
    limit().unwrap_or(UNKNOWN_BYTES)
}

/// The memory that this process may use, in bytes, if it is known.
pub fn limit() -> Option<usize> {
    available(Path::new("/"), address_space())
}

/// The part of the address space (`ulimit -v`) that can become memory in use, in bytes: stacks and
/// arenas are reserved and mostly untouched. `None`: there is no limit.
fn address_space() -> Option<usize> {
    let (soft, _) = rlimit::getrlimit(rlimit::Resource::AS).ok()?;
    (soft != rlimit::INFINITY).then(|| usize::try_from(soft / 2).unwrap_or(usize::MAX))
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

/// The least of the machine's memory, the limits of the control groups and `other`, in bytes.
fn available(root: &Path, other: Option<usize>) -> Option<usize> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|group| limits_of(root, group));
    limits.chain(machine(root)).chain(other).min()
}

/// `MemTotal:       16303320 kB`
fn machine(root: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The limits of a group, `0::/path` (version 2) or `5:memory:/path` (version 1), and of its
/// parent groups. Within a container the path may exist only outside: then the limit of the mounted
/// root counts.
fn limits_of(root: &Path, group: &str) -> Vec<usize> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (mounted, file) = match parts.next() {
        Some("") => ("sys/fs/cgroup", "memory.max"),
        Some(controllers) if controllers.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let within = Path::new(parts.next().unwrap_or_default().trim_start_matches('/'));
    let limit = |within: &Path| {
        let text = std::fs::read_to_string(root.join(mounted).join(within).join(file)).ok()?;
        // `max` is no limit.
        text.trim().parse::<usize>().ok()
    };
    within.ancestors().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_lowest_memory_limit_counts() {
        let machine = ("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\n");
        let no_limit =
            [machine, ("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")];
        let outer = [
            machine,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "5000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ];
        let first = [
            machine,
            ("proc/self/cgroup", "5:cpu,memory:/elsewhere\n1:name=systemd:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n"),
        ];
        for (files, expected) in
            [(&[machine][..], 1_024_000), (&no_limit, 1_024_000), (&outer, 5_000), (&first, 7_000)]
        {
            assert_eq!(available(root(files).path(), None), Some(expected), "{files:?}");
        }
        assert_eq!(available(root(&[]).path(), None), None);
        let limited = available(root(&no_limit).path(), Some(1_000));
        assert_eq!(limited, Some(1_000), "the limit of the address space counts, too");
    }

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
