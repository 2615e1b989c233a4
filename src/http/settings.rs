use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::access::{hosts, origin};

/// The store takes a billion bytes for a document with its text, set and metadata.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// A text is cut into words only below 2 GiB, and a body may be a single text.
const BODY_BYTES_MAX: u64 = 1 << 30;

/// Of connections, and of requests of each kind.
const COUNT_MAX: u64 = 1_000_000;

/// Seconds' worth of requests that a client with a rate may send at once: a page of a browser sends
/// a dozen at once, and a longer burst would be no limit of the rate.
pub const RATE_BURST_S: u64 = 5;

/// Connections that are opened while none of `connections_max` is idle, for probes: a supervisor, a
/// balancer and a collector of metrics with several connections each. The other requests on these
/// connections are refused with 503.
pub const CONNECTIONS_RESERVE: usize = 16;

/// Bytes of the head of a request, and the largest read of a body: the buffers of a connection,
/// also of an idle connection. Browsers and proxies send a tenth, with cookies and tokens.
pub const HEAD_BYTES_MAX: usize = 32 << 10;

/// The most memory of a connection, without the memory that its request reserves: a head that is
/// answered, the next head or a piece of a body, the head of an answer, and the state of the
/// connection; or a TLS handshake of 64 KiB.
pub const CONNECTION_BYTES: usize = 3 * HEAD_BYTES_MAX;

/// Bytes per second at which the body of a request must arrive. A modem of 1990 sends ten times as
/// many, so a slower client is broken or an attacker.
pub const BODY_BYTES_PER_S_MIN: u64 = 100;

/// Documents of one bulk import in flight: enough that the disk never waits for documents, and few
/// against the memory of the server. A document counts once for each 16 KiB begun.
pub const BULK_DOCUMENTS_IN_FLIGHT_MAX: usize = 8_192;

/// Bytes of a `filter`: longer than people write, and short enough to be parsed at once.
pub const FILTER_BYTES_MAX: usize = 2_048;

/// The address of the server, and the limits of its clients. `config/default.toml` has the
/// defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Host and port to listen on; with port 0 the system chooses a free port.
    pub listen: String,
    /// Names under which clients reach the server. The names of this machine's loopback, the name
    /// in `listen` and all IP addresses need not be listed. `*` stands for any characters.
    pub hosts: Vec<String>,
    /// Origins (`https://example.org`) of web pages that may send requests.
    pub cors_origins: Vec<String>,
    /// The file of keys; by default `keys.json` within the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub keys_file: Option<PathBuf>,
    /// Serve every client that can connect, and ignore the file of keys.
    pub no_keys: bool,
    /// Answer `/metrics` without a key.
    pub metrics_open: bool,
    /// The certificates in PEM, the server's own first; with `tls_key` connections use TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub tls_cert: Option<PathBuf>,
    /// The private key in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub tls_key: Option<PathBuf>,
    /// Requests in a second of one key; 0: no limit.
    pub rate_per_key: u32,
    /// Requests in a second of one address; 0: no limit.
    pub rate_per_address: u32,
    /// Connections open at once. For a further connection the longest idle connection is closed.
    pub connections_max: usize,
    /// From the opening of a connection, or the end of its last answer, to the end of a request's
    /// head.
    pub header_timeout_ms: u64,
    /// From the head of a request to the head of its answer; streamed bodies may take longer.
    pub request_timeout_ms: u64,
    /// The longest pause in the body of a request, and in a client's reading of an answer.
    pub body_idle_timeout_ms: u64,
    /// The rate at which an export must be read; 0: no limit.
    pub export_bytes_per_s_min: u64,
    /// Bytes of one document as JSON, plain text or HTML, decompressed.
    pub document_bytes_max: usize,
    /// Bytes of any other body that is not streamed, decompressed.
    pub body_bytes_max: usize,
    /// Bytes that requests in flight may take together. The server sets its share of the memory for
    /// 0, which elsewhere is no limit.
    pub memory_max: usize,
    /// The cost of a request, in units of [`crate::budget::cost`]; 0: no limit.
    pub request_cost_max: u64,
    /// The share of a client (a key, or without keys an address) in percent of connections,
    /// requests, bulk requests, discoveries and memory.
    pub client_share_percent: u32,
    /// Requests in flight at once. Further requests are refused with 503.
    pub requests_in_flight_max: usize,
    /// Streamed requests (bulk imports and exports) among the requests in flight.
    pub bulk_requests_max: usize,
    /// Discoveries of pairs or clusters, and measurements of recall, among the requests in flight.
    /// Each holds the sketches and ids of its collection in memory.
    pub discoveries_max: usize,
    /// The highest `limit` of a call.
    pub limit_max: usize,
    /// How long the server goes on serving after a signal to stop, while `/readyz` answers 503.
    pub shutdown_delay_ms: u64,
    /// How long running requests may go on once the server accepts no more connections.
    pub shutdown_grace_ms: u64,
}

impl ServerSettings {
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
        let most = [
            ("connections_max", self.connections_max as u64, COUNT_MAX),
            ("header_timeout_ms", self.header_timeout_ms, u64::MAX),
            ("request_timeout_ms", self.request_timeout_ms, u64::MAX),
            ("body_idle_timeout_ms", self.body_idle_timeout_ms, u64::MAX),
            ("document_bytes_max", self.document_bytes_max as u64, DOCUMENT_BYTES_MAX),
            ("body_bytes_max", self.body_bytes_max as u64, BODY_BYTES_MAX),
            ("requests_in_flight_max", self.requests_in_flight_max as u64, COUNT_MAX),
            ("bulk_requests_max", self.bulk_requests_max as u64, COUNT_MAX),
            ("discoveries_max", self.discoveries_max as u64, COUNT_MAX),
            ("limit_max", self.limit_max as u64, u64::MAX),
            ("client_share_percent", u64::from(self.client_share_percent), 100),
        ];
        faults.extend(most.into_iter().filter_map(|(name, value, most)| match value {
            0 => Some(format!("{name} must be at least 1, not 0")),
            value if value > most => Some(format!("{name} must be at most {most}, not {value}")),
            _ => None,
        }));
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
            header_timeout_ms: 0,
            bulk_requests_max: 1_000_001,
            document_bytes_max: (256 << 20) + 1,
            body_bytes_max: 2 << 30,
            ..ServerSettings::default()
        };
        let faults = settings.faults();
        assert_eq!(faults.len(), 5, "{faults:?}");
        assert!(faults[0].starts_with("listen "));
        assert!(faults[1].starts_with("header_timeout_ms "));
        assert_eq!(faults[2], "document_bytes_max must be at most 268435456, not 268435457");
        assert_eq!(faults[3], "body_bytes_max must be at most 1073741824, not 2147483648");
        assert!(faults[4].starts_with("bulk_requests_max "));
    }
}
