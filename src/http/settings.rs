use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::http::access::hosts;
use crate::http::access::origin;

/// The store takes a billion bytes for a document with its text, set and metadata.
const DOCUMENT_BYTES_MAX: usize = 256 << 20;

/// A text is cut into words only below 2 GiB, and a body may be a single text.
const BODY_BYTES_MAX: usize = 1 << 30;

/// Where the server listens, and the limits of what clients may use. The defaults are those of
/// `config/default.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Host and port to listen on; port 0 chooses a free one.
    pub listen: String,
    /// Names under which clients reach the server, besides those of this machine's loopback, of
    /// `listen`, and all IP addresses. `*` stands for any characters.
    pub hosts: Vec<String>,
    /// Origins (`https://example.org`) whose web pages may send requests.
    pub cors_origins: Vec<String>,
    /// The file of keys; by default `keys.json` within the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys_file: Option<PathBuf>,
    /// Serve whoever can connect, whatever the file of keys says.
    pub no_keys: bool,
    /// Answer `/metrics` without a key.
    pub metrics_open: bool,
    /// The certificates in PEM, the server's own first; with `tls_key` connections use TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_cert: Option<PathBuf>,
    /// The private key in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_key: Option<PathBuf>,
    /// Requests in a second of one key; 0: no limit.
    pub rate_per_key: u32,
    /// Requests in a second of one address; 0: no limit.
    pub rate_per_address: u32,
    /// Seconds' worth of requests that may come at once.
    pub rate_burst_s: u32,
    /// Connections open at once. For a further one the longest idle one is closed.
    pub connections_max: usize,
    /// Further connections while none is idle, for probes: other requests are refused with 503.
    pub connections_reserve: usize,
    /// From the opening of a connection, or the end of its last answer, to the end of a request's
    /// head.
    pub header_timeout_ms: u64,
    /// From the head of a request to the head of its answer; streamed bodies may take longer.
    pub request_timeout_ms: u64,
    /// The longest pause in the body of a request, and in a client's reading of an answer.
    pub body_idle_timeout_ms: u64,
    /// The rate at which the body of a request must arrive; 0: no limit.
    pub body_bytes_per_s_min: u64,
    /// The rate at which an export must be read; 0: no limit.
    pub export_bytes_per_s_min: u64,
    /// Bytes of one document as JSON or plain text, decompressed.
    pub document_bytes_max: usize,
    /// Bytes of any other body that is not streamed, decompressed.
    pub body_bytes_max: usize,
    /// Probes of one call.
    pub probes_max: usize,
    /// Ids of one list to collapse.
    pub collapse_ids_max: usize,
    /// Documents sampled to measure recall.
    pub recall_sample_max: usize,
    /// Bytes that requests in flight may take together. The server sets its share of the memory for
    /// 0, which elsewhere is no limit.
    pub memory_max: usize,
    /// Requests in flight at once. Further ones are refused with 503.
    pub requests_in_flight_max: usize,
    /// Streamed requests (bulk imports and exports) at once, of those in flight.
    pub bulk_requests_max: usize,
    /// Those of one key, or without keys of one address; 0: half of them, rounded up.
    pub bulk_requests_per_client_max: usize,
    /// Discoveries of pairs or clusters at once, of those in flight. Each holds the sketches and
    /// ids of its collection in memory.
    pub discoveries_max: usize,
    /// Documents of one bulk import in flight at once; a document counts once for each 16 KiB
    /// begun.
    pub bulk_documents_in_flight_max: usize,
    /// Bytes of a `filter`.
    pub filter_bytes_max: usize,
    /// The highest `limit` of a call.
    pub limit_max: usize,
    /// How long running requests may go on once the server stops.
    pub shutdown_grace_ms: u64,
}

impl ServerSettings {
    /// How many streamed requests a client may have at once.
    #[must_use]
    pub fn bulk_requests_of_a_client(&self) -> usize {
        match self.bulk_requests_per_client_max {
            0 => self.bulk_requests_max.div_ceil(2),
            max => max,
        }
    }

    /// All faults of the settings, each beginning with its key.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !names_a_port(&self.listen) {
            faults.push(format!("listen must be HOST:PORT, not '{}'", self.listen));
        }
        faults.extend(self.hosts.iter().filter_map(|host| hosts::fault(host)));
        faults.extend(self.cors_origins.iter().filter_map(|origin| origin::fault(origin)));
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            faults.push("tls_cert and tls_key must both be set, or neither".to_owned());
        }
        let at_least_one = [
            ("connections_max", self.connections_max as u64),
            ("connections_reserve", self.connections_reserve as u64),
            ("header_timeout_ms", self.header_timeout_ms),
            ("request_timeout_ms", self.request_timeout_ms),
            ("body_idle_timeout_ms", self.body_idle_timeout_ms),
            ("document_bytes_max", self.document_bytes_max as u64),
            ("body_bytes_max", self.body_bytes_max as u64),
            ("probes_max", self.probes_max as u64),
            ("collapse_ids_max", self.collapse_ids_max as u64),
            ("recall_sample_max", self.recall_sample_max as u64),
            ("requests_in_flight_max", self.requests_in_flight_max as u64),
            ("bulk_requests_max", self.bulk_requests_max as u64),
            ("discoveries_max", self.discoveries_max as u64),
            ("bulk_documents_in_flight_max", self.bulk_documents_in_flight_max as u64),
            ("filter_bytes_max", self.filter_bytes_max as u64),
            ("limit_max", self.limit_max as u64),
        ];
        let zeros = at_least_one.iter().filter(|(_, value)| *value == 0);
        faults.extend(zeros.map(|(name, _)| format!("{name} must be at least 1, not 0")));
        let at_most = [
            ("connections_max", self.connections_max, 1_000_000),
            ("connections_reserve", self.connections_reserve, 1_000_000),
            ("rate_burst_s", self.rate_burst_s as usize, 3_600),
            ("document_bytes_max", self.document_bytes_max, DOCUMENT_BYTES_MAX),
            ("body_bytes_max", self.body_bytes_max, BODY_BYTES_MAX),
            ("requests_in_flight_max", self.requests_in_flight_max, 1_000_000),
            ("bulk_requests_max", self.bulk_requests_max, 1_000_000),
            ("discoveries_max", self.discoveries_max, 1_000_000),
            ("bulk_documents_in_flight_max", self.bulk_documents_in_flight_max, 1_000_000),
        ];
        let excesses = at_most.iter().filter(|(_, value, most)| value > most);
        faults.extend(
            excesses
                .map(|(name, value, most)| format!("{name} must be at most {most}, not {value}")),
        );
        faults
    }
}

fn names_a_port(listen: &str) -> bool {
    let Some((host, port)) = listen.rsplit_once(':') else { return false };
    !host.is_empty() && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_without_fault() {
        assert_eq!(ServerSettings::default().faults(), Vec::<String>::new());
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let settings = ServerSettings {
            listen: "2546".to_owned(),
            probes_max: 0,
            bulk_requests_max: 1_000_001,
            document_bytes_max: (256 << 20) + 1,
            body_bytes_max: 2 << 30,
            ..ServerSettings::default()
        };
        let faults = settings.faults();
        assert_eq!(faults.len(), 5, "{faults:?}");
        assert!(faults[0].starts_with("listen "));
        assert!(faults[1].starts_with("probes_max "));
        assert_eq!(faults[2], "document_bytes_max must be at most 268435456, not 268435457");
        assert_eq!(faults[3], "body_bytes_max must be at most 1073741824, not 2147483648");
        assert!(faults[4].starts_with("bulk_requests_max "));
    }
}
