//! File descriptors: connections get the part of the limit of open files that the stores do not
//! need.

use super::AppError;
use crate::config::Settings;
use crate::http::CONNECTIONS_RESERVE;

/// Descriptors that are neither of stores nor of connections: the runtime, logs, the listener.
const OTHERS: u64 = 64;

/// A lower limit leaves too few connections to be of use.
const LIMIT_MIN: u64 = 128;

/// Lowers `connections_max` to the limit of open files minus the files of `collections_max` stores,
/// but at least to half of the limit.
///
/// # Errors
/// The limit is too low to serve at all.
pub fn fit_connections(settings: &mut Settings, limit: u64) -> Result<(), AppError> {
    if limit < LIMIT_MIN {
        return Err(AppError::OpenFiles { limit, min: LIMIT_MIN });
    }
    let storage = &settings.storage;
    let of_stores = storage.store.files_max().saturating_mul(storage.collections_max as u64);
    let of_probes = CONNECTIONS_RESERVE as u64;
    let beside = of_stores.saturating_add(OTHERS).saturating_add(of_probes);
    let reserved = beside.min(limit / 2);
    let left = usize::try_from(limit - reserved).unwrap_or(usize::MAX);
    let max = &mut settings.server.connections_max;
    if *max > left {
        tracing::warn!(
            limit,
            configured = *max,
            connections_max = left,
            "connections_max reduced to fit the limit of open files (ulimit -n)"
        );
        *max = left;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(limit: u64) -> usize {
        let mut settings = Settings::default();
        fit_connections(&mut settings, limit).unwrap();
        settings.server.connections_max
    }

    #[test]
    fn stores_reserve_descriptors_up_to_half() {
        assert_eq!(connections(1 << 20), 4_096);
        assert_eq!(connections(4_096), 4_096 - 64 - 16 - 64 * 30);
        assert_eq!(connections(1_024), 512);
        let refused = fit_connections(&mut Settings::default(), 127).unwrap_err().to_string();
        assert!(refused.contains("127") && refused.contains("128"), "{refused}");
    }
}
