//! TLS: `akin serve` as a process, whose certificates are replaced.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::akin;
use crate::process::pause;
use crate::serving::Serving;

/// Self-signed for localhost until 2126.
const FIRST: [&str; 2] = [include_str!("tls/first.cert.pem"), include_str!("tls/first.key.pem")];
const SECOND: [&str; 2] = [include_str!("tls/second.cert.pem"), include_str!("tls/second.key.pem")];

fn write(dir: &Path, [cert, key]: [&str; 2]) {
    fs::write(dir.join("cert.pem"), cert).unwrap();
    fs::write(dir.join("key.pem"), key).unwrap();
}

/// As `openssl req -x509` makes them: self-signed, and marked as an authority's. The second has
/// expired.
const AUTHORITY: [&str; 2] = [include_str!("tls/ca.cert.pem"), include_str!("tls/ca.key.pem")];
const EXPIRED: [&str; 2] =
    [include_str!("tls/expired.cert.pem"), include_str!("tls/expired.key.pem")];

/// The answer to a probe, if the server has this certificate.
fn probe(address: &str, certificate: &str) -> std::io::Result<String> {
    request(address, certificate, "/healthz")
}

fn request(address: &str, certificate: &str, path: &str) -> std::io::Result<String> {
    let mut stream = secured(address, certificate)?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A connection, whose handshake is still to come.
fn secured(
    address: &str,
    certificate: &str,
) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    Ok(StreamOwned::new(client, TcpStream::connect(address)?))
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
        pause();
    }
    assert!(!is_served(address, FIRST[0]));

    // A certificate without its key keeps the former pair.
    write(dir.path(), [FIRST[0], SECOND[1]]);
    serving.signal("HUP");
    serving.wait_for_log("reloading failed: the previous version stays in use");
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
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    let no_certificate = pem("CERTIFICATE", "AAAA");
    let no_key = pem("PRIVATE KEY", "AAAA");
    let encrypted = pem("ENCRYPTED PRIVATE KEY", "AAAA");
    let damaged = pem("CERTIFICATE", "A");
    for (pair, named) in [
        ([FIRST[0], SECOND[1]], "key.pem is not that of the first certificate in "),
        ([FIRST[1], FIRST[1]], "cert.pem has no certificate in PEM"),
        ([&no_certificate, FIRST[1]], "cert.pem has an unusable certificate: it is no X.509"),
        ([&damaged, FIRST[1]], "cert.pem is damaged PEM"),
        ([FIRST[0], FIRST[0]], "key.pem has no private key in PEM, or an encrypted one"),
        ([FIRST[0], &encrypted], "key.pem has no private key in PEM, or an encrypted one"),
        ([FIRST[0], &no_key], "key.pem has an unusable private key: "),
    ] {
        write(dir.path(), pair);
        let both = start(&format!("tls_cert = {cert:?}\ntls_key = {key:?}\n"));
        assert_eq!(both.code, Some(1));
        assert!(both.stderr.contains(named), "{named} is not in {}", both.stderr);
        assert!(!both.stderr.contains("peer"), "{}", both.stderr);
    }
    let absent = start(&format!("tls_cert = {cert:?}\ntls_key = '/nowhere/key.pem'\n"));
    assert!(absent.stderr.contains("cannot read /nowhere/key.pem"), "{}", absent.stderr);
    let one = start(&format!("tls_cert = {cert:?}\n"));
    assert_eq!(one.code, Some(1));
    assert!(one.stderr.contains("tls_cert"), "{}", one.stderr);
}

fn pem(kind: &str, base64: &str) -> String {
    format!("-----BEGIN {kind}-----\n{base64}\n-----END {kind}-----\n")
}

/// A server with the first certificate, once it is ready; its port, and the files' directory.
fn serve(address: &str) -> (Serving, String, tempfile::TempDir) {
    serve_with(address, FIRST)
}

fn serve_with(address: &str, pair: [&str; 2]) -> (Serving, String, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), pair);
    fs::write(dir.path().join("other.pem"), SECOND[0]).unwrap();
    let config = settings(dir.path(), &format!("{address}:0"), "cert.pem");
    let serving = Serving::start_with(&dir.path().join("data"), &["--config", &config]);
    serving.wait_for_log("\"ready\"");
    let port = serving.url.rsplit_once(':').unwrap().1.to_owned();
    (serving, port, dir)
}

/// A file with these settings; its path.
fn settings(dir: &Path, listen: &str, cert: &str) -> String {
    let [cert, key] = [cert, "key.pem"].map(|name| dir.join(name).to_str().unwrap().to_owned());
    let lines = format!("[server]\nlisten = '{listen}'\ntls_cert = {cert:?}\ntls_key = {key:?}\n");
    let path = dir.join(format!("{}.toml", lines.len()));
    fs::write(&path, lines).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn commands_speak_tls_and_trust_the_named_authority_only() {
    let (serving, port, dir) = serve("127.0.0.1");
    let url = format!("https://localhost:{port}");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (cert, other, text) = (path("cert.pem"), path("other.pem"), path("a.txt"));
    fs::write(&text, "The museum opens at ten, from Tuesday to Sunday.").unwrap();
    let imported = akin(&["import", "--url", &url, "--ca", &cert, &text]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let found = akin(&["similar", "--url", &url, "--ca", &cert, &text]);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    assert!(found.stdout.contains(&text), "{}", found.stdout);

    let foreign = akin(&["similar", "--url", &url, "--ca", &other, &text]);
    assert_eq!(foreign.code, Some(1));
    assert!(foreign.stderr.contains("cannot be trusted"), "{}", foreign.stderr);
    assert!(foreign.stderr.contains("by --ca"), "{}", foreign.stderr);
    let unnamed = akin(&["import", "--url", &url, &text]);
    assert_eq!(unnamed.code, Some(1));
    assert!(unnamed.stderr.contains("--ca"), "{}", unnamed.stderr);
    let plain = akin(&["similar", "--url", &url.replace("https", "http"), &text]);
    assert_eq!(plain.code, Some(1));
    assert!(plain.stderr.contains("https://"), "{}", plain.stderr);
    let absent = akin(&["similar", "--url", &url, "--ca", "/nowhere.pem", &text]);
    assert!(absent.stderr.contains("cannot read /nowhere.pem"), "{}", absent.stderr);
    let empty = akin(&["similar", "--url", &url, "--ca", &text, &text]);
    assert!(empty.stderr.contains("has no certificate in PEM"), "{}", empty.stderr);
    assert!(serving.stop().success());
}

/// Of this machine, and not among the names of the certificates.
const ADDRESS: &str = "127.0.0.2";

#[test]
fn health_trusts_the_certificate_of_the_settings() {
    let (serving, port, dir) = serve(ADDRESS);
    let listen = format!("{ADDRESS}:{port}");
    let own = settings(dir.path(), &listen, "cert.pem");
    let healthy = akin(&["health", "--config", &own]);
    assert_eq!(healthy.code, Some(0), "{}", healthy.stderr);
    let url = format!("https://{listen}");
    let named = akin(&["health", "--config", &own, "--url", &url]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    let foreign = akin(&["health", "--config", &settings(dir.path(), &listen, "other.pem")]);
    assert_eq!(foreign.code, Some(1));
    assert!(foreign.stderr.contains("cannot be trusted"), "{}", foreign.stderr);
    let ca = dir.path().join("cert.pem");
    let by_name = akin(&["health", "--config", &own, "--url", &url, "--ca", ca.to_str().unwrap()]);
    assert_eq!(by_name.code, Some(1), "an authority vouches for names");
    assert!(by_name.stderr.contains("a name that its certificate has"), "{}", by_name.stderr);
    assert!(serving.stop().success());
    assert_eq!(akin(&["health", "--config", &own]).code, Some(1));
}

#[test]
fn openssl_self_signed_certificates_are_trusted_by_name() {
    let (serving, port, dir) = serve_with("127.0.0.1", AUTHORITY);
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (cert, other) = (path("cert.pem"), path("other.pem"));
    let stats = |host: &str, ca: &str| {
        akin(&["stats", "--url", &format!("https://{host}:{port}"), "--ca", ca])
    };
    let trusted = stats("localhost", &cert);
    assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
    let url = format!("https://localhost:{port}");
    let healthy = akin(&["health", "--url", &url, "--ca", &cert]);
    assert_eq!(healthy.code, Some(0), "{}", healthy.stderr);
    for (host, ca) in [("127.0.0.1", &cert), ("localhost", &other)] {
        let refused = stats(host, ca);
        assert_eq!(refused.code, Some(1), "{host} {ca}");
        assert!(refused.stderr.contains("cannot be trusted"), "{}", refused.stderr);
    }
    assert!(serving.stop().success());
}

/// As `openssl req -x509 -subj /CN=localhost` makes it: an authority's, and without a
/// subjectAltName.
const NAMELESS: [&str; 2] =
    [include_str!("tls/nameless.cert.pem"), include_str!("tls/nameless.key.pem")];

#[test]
fn a_trusted_certificate_without_names_serves_any() {
    let (serving, port, dir) = serve_with("127.0.0.1", NAMELESS);
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (cert, other) = (path("cert.pem"), path("other.pem"));
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{port}");
        for command in ["stats", "health"] {
            let trusted = akin(&[command, "--url", &url, "--ca", &cert]);
            assert_eq!(trusted.code, Some(0), "{command} {host}: {}", trusted.stderr);
        }
        let foreign = akin(&["stats", "--url", &url, "--ca", &other]);
        assert_eq!(foreign.code, Some(1), "{host}");
        assert!(foreign.stderr.contains("cannot be trusted"), "{}", foreign.stderr);
        assert!(foreign.stderr.contains("is self-signed"), "{}", foreign.stderr);
    }
    assert!(serving.stop().success());
}

#[test]
fn an_expired_self_signed_certificate_is_not_trusted() {
    let (serving, port, dir) = serve_with("127.0.0.1", EXPIRED);
    let log = serving.log();
    assert!(log.contains("clients refuse the certificate because of its dates"), "{log}");
    let cert = dir.path().join("cert.pem");
    let url = format!("https://localhost:{port}");
    let refused = akin(&["stats", "--url", &url, "--ca", cert.to_str().unwrap()]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("expired"), "{}", refused.stderr);
    assert!(serving.stop().success());
}

/// A load balancer's check connects and closes.
#[test]
fn a_handshake_that_fails_is_counted_without_panic() {
    let (serving, port, dir) = serve("127.0.0.1");
    let address = format!("127.0.0.1:{port}");
    let half_a_hello = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    let beginnings: [&[u8]; 3] = [b"", b"GET / HTTP/1.1\r\n\r\n", &half_a_hello];
    for beginning in beginnings {
        let mut client = TcpStream::connect(&address).unwrap();
        client.write_all(beginning).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        // Until the server has closed the connection, too.
        let _ = client.read_to_end(&mut Vec::new());
    }
    let (url, ca) = (format!("https://localhost:{port}"), dir.path().join("cert.pem"));
    let healthy = akin(&["health", "--url", &url, "--ca", ca.to_str().unwrap()]);
    assert_eq!(healthy.code, Some(0), "{}", healthy.stderr);
    let metrics = request(&address, FIRST[0], "/metrics").unwrap();
    assert!(metrics.contains("\nakin_tls_handshake_failures_total 3\n"), "{metrics}");
    let log = serving.log();
    assert!(!log.contains("panicked"), "{log}");
    assert!(serving.stop().success());
}

#[test]
fn a_handshake_must_end_in_the_time_of_a_head() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), FIRST);
    let config = settings(dir.path(), "127.0.0.1:0", "cert.pem");
    let lines = fs::read_to_string(&config).unwrap() + "header_timeout_ms = 50\n";
    fs::write(&config, lines).unwrap();
    let serving = Serving::start_with(&dir.path().join("data"), &["--config", &config]);
    serving.wait_for_log("\"ready\"");
    let mut client = TcpStream::connect(serving.url.split_once("//").unwrap().1).unwrap();
    client.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    client.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]).unwrap();
    assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0, "closed without an answer");
    assert!(serving.stop().success());
}

/// A connection of the reserve is for probes, of which there are few places.
#[test]
fn a_handshake_in_the_reserve_must_end_in_a_second() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), FIRST);
    let config = settings(dir.path(), "127.0.0.1:0", "cert.pem");
    let lines = fs::read_to_string(&config).unwrap() + "connections_max = 1\n";
    fs::write(&config, lines).unwrap();
    let serving = Serving::start_with(&dir.path().join("data"), &["--config", &config]);
    serving.wait_for_log("\"ready\"");
    let address = serving.url.split_once("//").unwrap().1;
    let mut busy = secured(address, FIRST[0]).unwrap();
    let head = "POST /documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
                content-length: 1\r\nexpect: 100-continue\r\n\r\n";
    busy.write_all(head.as_bytes()).unwrap();
    let mut waits = [0; "HTTP/1.1 100".len()];
    busy.read_exact(&mut waits).unwrap();
    assert_eq!(waits, *b"HTTP/1.1 100", "the server waits for the body");
    let mut client = TcpStream::connect(address).unwrap();
    // A third of the 30 s of header_timeout_ms.
    client.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    client.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]).unwrap();
    assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0, "closed without an answer");
    drop(busy);
    assert!(serving.stop().success());
}

/// Opening it waits for a writer, which never comes.
#[test]
fn a_fifo_as_certificate_does_not_block_keys() {
    let (serving, port, dir) = serve("127.0.0.1");
    let (address, cert) = (format!("127.0.0.1:{port}"), dir.path().join("cert.pem"));
    fs::rename(&cert, dir.path().join("known.pem")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &cert, rustix::fs::Mode::RUSR).unwrap();
    serving.signal("HUP");
    serving.wait_for_log("it is not a regular file");
    let metrics = request(&address, FIRST[0], "/metrics").unwrap();
    assert!(metrics.contains("akin_reload_stale{what=\"certificate\"} 1"), "{metrics}");
    assert!(metrics.contains("akin_reload_stale{what=\"keys\"} 0"), "{metrics}");

    let data = dir.path().join("data");
    let create = |name: &str| {
        let data = ["--data-dir", data.to_str().unwrap()];
        let made =
            akin(&[&["keys", "create", "--name", name, "--actions", "read"], &data[..]].concat());
        assert_eq!(made.code, Some(0), "{}", made.stderr);
    };
    create("first");
    serving.wait_for_log("reloaded a changed file of keys or certificates");
    let keys = data.join("keys.json");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o666)).unwrap();
    serving.wait_for_log("chmod o-w");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
    serving.wait_for_log("reloaded");
    assert!(serving.stop().success());
}
