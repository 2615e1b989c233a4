//! How Valkey is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Where documents are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// In this process and its data directory.
    #[default]
    Local,
    /// In a Valkey or Redis Cluster that any number of processes share.
    Valkey,
}

/// A Valkey or Redis Cluster. `config/default.toml` explains each key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValkeySettings {
    /// Some of the nodes, as `host:port`; the client learns of all other nodes from these.
    pub nodes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
    /// A file with the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    pub tls: bool,
    /// What akin shows nodes that ask for a certificate: PEM files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<PathBuf>,
    /// The prefix of all key names.
    pub prefix: String,
    /// Replicas that must have a write before it is acknowledged.
    pub wait_replicas: u32,
    pub wait_timeout_ms: u64,
    /// The time limit of an operation, repetitions included.
    pub deadline_ms: u64,
    /// The age at which an unfinished version is withdrawn.
    pub lease_ms: u64,
    /// Documents expected in a new collection.
    pub documents_expected: u64,
    /// Where contents are kept, for all processes: `file:///…` or `s3://…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
}

/// A secret that is not printed, not even with the effective settings.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Password(pub String);

const HIDDEN: &str = "…";

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for Password {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

impl fmt::Debug for ValkeySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValkeySettings")
            .field("nodes", &self.nodes)
            .field("username", &self.username)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// Postings of a block: few enough for the engine's compact encoding.
const POSTINGS_PER_BLOCK: u64 = 16;

impl ValkeySettings {
    /// Every fault of the settings, each beginning with its key.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for node in &self.nodes {
            if address(node).is_none() {
                faults.push(format!("nodes must be of the form host:port, not '{node}'"));
            }
        }
        if self.password.is_some() && self.password_file.is_some() {
            faults.push("password and password_file exclude each other".to_owned());
        }
        if self.client_certificate.is_some() != self.client_key.is_some() {
            faults.push("client_certificate and client_key need each other".to_owned());
        }
        if self.client_certificate.is_some() && !self.tls {
            faults.push("client_certificate is shown over TLS alone: set tls".to_owned());
        }
        if let Some(url) = self.contents.as_ref().filter(|url| !is_place(url)) {
            faults.push(format!(
                "contents must look like file:///srv/akin or s3://bucket/akin, not '{url}'"
            ));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.prefix.is_empty() || self.prefix.len() > 64 || !self.prefix.chars().all(plain) {
            let prefix = &self.prefix;
            faults.push(format!("prefix must be 1 to 64 letters, digits, - or _, not '{prefix}'"));
        }
        let ranges = [
            ("wait_replicas", u64::from(self.wait_replicas), 0, 16),
            ("wait_timeout_ms", self.wait_timeout_ms, 1, self.deadline_ms),
            ("deadline_ms", self.deadline_ms, 100, 600_000),
            ("lease_ms", self.lease_ms, self.deadline_ms.saturating_mul(3), 86_400_000),
            ("documents_expected", self.documents_expected, 1, 100_000_000_000),
        ];
        for (key, found, min, max) in ranges {
            if !(min..=max).contains(&found) {
                faults.push(format!("{key} must be {min}..={max}, not {found}"));
            }
        }
        faults
    }

    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }

    /// Bits of a key that choose its block, in a collection that is made now.
    pub fn block_bits(&self) -> u32 {
        let blocks = self.documents_expected / POSTINGS_PER_BLOCK;
        blocks.max(1).ilog2().min(32)
    }
}

/// A directory, or a bucket.
fn is_place(url: &str) -> bool {
    let names_bucket = |place: &str| !place.is_empty() && !place.starts_with('/');
    url.starts_with("file:///") || url.strip_prefix("s3://").is_some_and(names_bucket)
}

/// Host and port.
pub(super) fn address(node: &str) -> Option<(&str, u16)> {
    let (host, port) = node.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host, port.parse().ok()?)).filter(|(host, port)| !host.is_empty() && *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_in_a_directory_or_a_bucket() {
        for place in ["file:///srv/akin", "s3://bucket", "s3://bucket/akin"] {
            assert!(is_place(place), "{place}");
        }
        for other in ["/srv/akin", "file://srv/akin", "s3://", "s3:///akin", "https://bucket"] {
            assert!(!is_place(other), "{other}");
        }
    }
}
