//! `akin health`: a check for supervisors and container runtimes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::client::{Credentials, read_whole};
use super::failure::Failure;
use super::serve::ConfigFile;
use crate::http::ServerSettings;
use akin_files::output::print_answer;

/// Ask a server whether it is ready: exit code 0 if so, 1 otherwise
///
/// Without --url the command asks the server of the configuration on this machine. Under TLS it
/// trusts the certificate of the configuration, `server.tls_cert`, unless --ca is given.
#[derive(clap::Args)]
pub struct Arguments {
    /// The server's address, instead of `server.listen`
    #[arg(long, value_name = "URL", env = "AKIN_URL")]
    url: Option<String>,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    config: ConfigFile,
    /// Write the server's answer
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let client = match arguments.url {
        Some(url) if url.starts_with("http://") => arguments.credentials.client(&url, None)?,
        given => {
            let server = arguments.config.settings(vec![])?.server;
            let url = given.unwrap_or_else(|| local_url(&server));
            arguments.credentials.client(&url, server.tls_cert)?
        }
    };
    let answer = read_whole(client.get("/readyz")?)?;
    if arguments.json {
        print_answer(&answer)?;
    }
    Ok(())
}

/// The URL of a server with these settings on this machine.
fn local_url(server: &ServerSettings) -> String {
    let scheme = if server.tls_cert.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", reachable(&server.listen))
}

/// An address to connect to: a wildcard address becomes loopback.
fn reachable(listen: &str) -> String {
    let Ok(mut address) = listen.parse::<SocketAddr>() else { return listen.to_owned() };
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_server_is_reached_where_it_listens() {
        let url = |listen: &str, cert: Option<&str>| {
            let (listen, tls_cert) = (listen.to_owned(), cert.map(Into::into));
            local_url(&ServerSettings { listen, tls_cert, ..ServerSettings::default() })
        };
        assert_eq!(url("0.0.0.0:2546", None), "http://127.0.0.1:2546");
        assert_eq!(url("[::]:80", Some("cert.pem")), "https://[::1]:80");
        assert_eq!(url("10.0.0.7:443", Some("cert.pem")), "https://10.0.0.7:443");
        assert_eq!(url("akin.internal:2546", None), "http://akin.internal:2546");
    }
}
