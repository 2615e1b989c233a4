//! The names under which the server is reached.
//!
//! By DNS rebinding a web page reaches a server on another machine under a name of its own, and so
//! may read the answers. An answer is therefore given only to a request that names the server
//! as it is known. A name that is an IP address is not resolved, so it cannot be rebound.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};

use crate::http::ServerSettings;
use crate::http::access::pattern;
use crate::http::problem::{Code, Problem};

/// The names that are served.
pub struct Hosts(Vec<String>);

impl Hosts {
    pub fn new(settings: &ServerSettings) -> Self {
        let mut names: Vec<_> = settings.hosts.iter().map(|name| normal(name)).collect();
        let listened = settings.listen.rsplit_once(':').map(|(host, _)| normal(host));
        names.extend(listened);
        names.extend(["localhost", "*.localhost"].map(str::to_owned));
        Self(names)
    }

    /// The host and port that the request names.
    ///
    /// # Errors
    /// It names no host, several hosts, or a host that is not served.
    pub fn check(&self, parts: &Parts) -> Result<Authority, Problem> {
        let host = named(&parts.headers)?;
        // A target with a host of its own takes precedence, so it must be served as well.
        for authority in [Some(&host), parts.uri.authority()].into_iter().flatten() {
            if !self.serve(authority.host()) {
                let detail = format!(
                    "no host '{}' is served here; server.hosts lists the names that are",
                    authority.host()
                );
                return Err(Problem::new(Code::HostNotServed, detail));
            }
        }
        Ok(host)
    }

    fn serve(&self, host: &str) -> bool {
        let host = normal(host);
        is_address(&host) || self.0.iter().any(|name| pattern::matches(name, &host))
    }
}

/// In lower case and without the dot of a fully qualified name.
fn normal(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn is_address(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    address.unwrap_or(host).parse::<IpAddr>().is_ok()
}

/// The value of the only `Host` header.
fn named(headers: &HeaderMap) -> Result<Authority, Problem> {
    let invalid = |detail: &str| Problem::new(Code::InvalidHost, detail);
    let mut values = headers.get_all(header::HOST).iter();
    let value = values.next().ok_or_else(|| invalid("the request has no Host header"))?;
    if values.next().is_some() {
        return Err(invalid("the request has more than one Host header"));
    }
    let authority = Authority::try_from(value.as_bytes()).ok();
    let authority = authority.filter(|authority| {
        let has_port = authority.as_str().len() > authority.host().len();
        !authority.as_str().contains('@') && authority.port_u16().is_some() == has_port
    });
    authority.ok_or_else(|| invalid("the Host header must be HOST or HOST:PORT"))
}

/// The fault of a name in the settings.
pub fn fault(name: &str) -> Option<String> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '*');
    let is_name = !name.is_empty() && name.chars().all(is_fit);
    (!is_name && !is_address(name))
        .then(|| format!("hosts must be names without a port, such as akin.example, not '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_configured_names_are_served() {
        let hosts = Hosts::new(&ServerSettings {
            listen: "search.example:2546".to_owned(),
            hosts: vec!["Akin".to_owned(), "*.internal".to_owned()],
            ..ServerSettings::default()
        });
        for served in [
            "localhost",
            "LocalHost.",
            "a.localhost",
            "127.0.0.1",
            "10.1.2.3",
            "[::1]",
            "akin",
            "search.example",
            "a.b.internal",
        ] {
            assert!(hosts.serve(served), "{served}");
        }
        for foreign in ["evil.example", "internal", "localhost.evil.example", "127.1", "akin.x", ""]
        {
            assert!(!hosts.serve(foreign), "{foreign}");
        }
    }

    #[test]
    fn host_names_have_no_port_and_no_scheme() {
        for name in ["akin.example", "*", "*.internal", "::1", "10.0.0.1", "under_score"] {
            assert_eq!(fault(name), None, "{name}");
        }
        for name in ["", "akin:2546", "http://akin", "a b", "akin/"] {
            assert!(fault(name).is_some(), "{name}");
        }
    }
}
