//! TLS: `akin serve` as a process, whose certificates are replaced.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::akin;
use crate::serving::Serving;

/// Self-signed for localhost until 2126.
const FIRST: [&str; 2] = [include_str!("tls/first.cert.pem"), include_str!("tls/first.key.pem")];
const SECOND: [&str; 2] = [include_str!("tls/second.cert.pem"), include_str!("tls/second.key.pem")];

fn write(dir: &Path, [cert, key]: [&str; 2]) {
    fs::write(dir.join("cert.pem"), cert).unwrap();
    fs::write(dir.join("key.pem"), key).unwrap();
}

/// The answer to a probe, if the server has this certificate.
fn probe(address: &str, certificate: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(address)?);
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn is_served(address: &str, certificate: &str) -> bool {
    probe(address, certificate).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 OK"))
}

#[test]
fn certificates_are_replaced_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), FIRST);
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    let config = dir.path().join("akin.toml");
    let lines = format!("[server]\ntls_cert = {cert:?}\ntls_key = {key:?}\n");
    fs::write(&config, lines).unwrap();
    let options = ["--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let serving = Serving::start_with(&dir.path().join("data"), &options);
    let address = serving.url.strip_prefix("http://").unwrap();
    assert!(is_served(address, FIRST[0]) && !is_served(address, SECOND[0]));

    write(dir.path(), SECOND);
    assert!(is_served(address, FIRST[0]), "until the signal");
    serving.signal("HUP");
    while !is_served(address, SECOND[0]) {
        std::thread::yield_now();
    }
    assert!(!is_served(address, FIRST[0]));

    // A certificate without its key keeps the former pair.
    write(dir.path(), [FIRST[0], SECOND[1]]);
    serving.signal("HUP");
    serving.wait_for_log("the former certificate stays in use");
    assert!(is_served(address, SECOND[0]));

    // Who does not speak TLS gets no answer, and holds nothing up.
    let mut plain = TcpStream::connect(address).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    assert!(is_served(address, SECOND[0]));
    assert!(serving.stop().success());
}

#[test]
fn a_start_without_a_usable_certificate_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("akin.toml");
    let start = |lines: &str| {
        fs::write(&config, format!("[server]\nlisten = '127.0.0.1:0'\n{lines}")).unwrap();
        let data = dir.path().join("data");
        let options = ["--config", config.to_str().unwrap()];
        akin(&[&["serve", "--data-dir", data.to_str().unwrap()], &options[..]].concat())
    };
    write(dir.path(), [FIRST[0], SECOND[1]]);
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    let both = start(&format!("tls_cert = {cert:?}\ntls_key = {key:?}\n"));
    assert_eq!(both.code, Some(1));
    assert!(both.stderr.contains("cannot be used together"), "{}", both.stderr);
    let absent = start(&format!("tls_cert = {cert:?}\ntls_key = '/nowhere/key.pem'\n"));
    assert!(absent.stderr.contains("cannot read /nowhere/key.pem"), "{}", absent.stderr);
    let one = start(&format!("tls_cert = {cert:?}\n"));
    assert_eq!(one.code, Some(1));
    assert!(one.stderr.contains("tls_cert"), "{}", one.stderr);
}
