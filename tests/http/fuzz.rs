//! Whatever a client sends is answered, and never by a fault of the server's.

use axum::body::Body;
use axum::http::Request;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tokio::runtime::Runtime;

use crate::app::{App, Reply};
use crate::contract::CONTRACT;
use crate::store_under_test::is_local;

/// Beside the paths of the operations.
const FURTHER_PATHS: [&str; 13] = [
    "/",
    "/documents/",
    "/documents/%ff",
    "/documents/a//%2e%2e/%00",
    "/metrics",
    "/collections/default",
    "/collections/%ff",
    "/collections/%ff/documents/a",
    "/collections/records/documents",
    "/collections/records/similar",
    "/collections/records/resemblance",
    "/collections/passages/documents",
    "/collections/passages/passages",
];

/// The paths of all operations, of documents and collections of the name `a`, and further paths.
/// Without backups, each of which copies the store.
fn paths() -> Vec<String> {
    let of = |operation: &String| operation.split(' ').nth(1).unwrap().to_owned();
    let mut paths: Vec<String> = CONTRACT.operations().iter().map(of).collect();
    paths.retain(|path| !path.ends_with("/backup"));
    for path in &mut paths {
        while let Some((begin, end)) = path.find('{').zip(path.find('}')) {
            path.replace_range(begin..=end, "a");
        }
    }
    paths.extend(FURTHER_PATHS.map(str::to_owned));
    paths
}

const MEDIA: [&str; 7] = [
    "application/json",
    "application/x-ndjson",
    "text/plain",
    "text/plain; charset=latin1",
    "application/json;charset=\"UTF-8\"",
    "image/png",
    "",
];

#[derive(Clone, Debug)]
struct Sent {
    method: &'static str,
    target: String,
    media: &'static str,
    encoding: &'static str,
    body: Vec<u8>,
}

/// The bytes as they may stand in a query.
fn percent_encoded(bytes: &[u8]) -> String {
    let character = |&byte: &u8| match byte.is_ascii_alphanumeric() || b"=&%+,".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02x}"),
    };
    bytes.iter().map(character).collect()
}

fn query() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "id",
        "a",
        "b",
        "after",
        "limit",
        "threshold",
        "points",
        "mode",
        "check",
        "on_duplicate",
        "include",
        "explain",
        "words_min",
        "containment_min",
        "filter",
        "stored_after",
        "stored_before",
        "other",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "",
            "1",
            "0",
            "-1",
            "1e999",
            "NaN",
            "0.5",
            "true",
            "keep",
            "skip",
            "sketch",
            "sketch,shingles",
            "a",
            "%00",
            "%ff",
            "%",
            "estimated",
            "18446744073709551616",
            "2026-11-21T12:00:00Z",
            "9999999-01-01T00:00:00Z",
            "@.k",
            "@.k[%3f@",
            "%40.k%5d%5b%3f%40",
        ])
        .prop_map(str::to_owned),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| percent_encoded(&bytes)),
    ];
    let pairs = prop::collection::vec((name, value), 0..4).prop_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    });
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![4 => pairs, 1 => bytes.prop_map(|bytes| percent_encoded(&bytes))]
}

/// Bytes that are nothing, and bytes that are nearly a document, a probe or a pair.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\n",
        "\r\n",
        " ",
        "\"",
        "\\u0000",
        "\\ud800",
        "null",
        "0",
        "-1",
        "1e400",
        "true",
        "\"id\":",
        "\"text\":",
        "\"tokens\":",
        "\"metadata\":",
        "\"expires_at\":",
        "\"2999-01-01T00:00:00Z\"",
        "\"a\":",
        "\"b\":",
        "\"a b c\"",
        "\"\"",
        "[\"t\",2]",
        "{\"text\":\"one two three\"}",
        "{\"id\":\"a\"}",
        "\"fields\":",
        "{\"fields\":{\"a\":\"one\",\"b\":\"two\"}}",
        "{\"id\":\"a\",\"tokens\":[\"t\",[\"u\",3]],\"metadata\":{\"k\":[]}}",
        "\u{feff}",
        "é",
    ]);
    let words = prop::collection::vec(word, 0..12);
    prop_oneof![
        3 => words.prop_map(|words| words.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    let method = prop::sample::select(vec!["GET", "POST", "DELETE", "HEAD", "PUT", "BREW"]);
    let media = prop::sample::select(MEDIA.to_vec());
    let encoding = prop_oneof![
        8 => Just(""),
        1 => prop::sample::select(vec!["gzip", "zstd", "br", "identity"]),
    ];
    let parts = (method, prop::sample::select(paths()), query(), media, encoding, body());
    parts.prop_map(|(method, path, query, media, encoding, body)| {
        let mark = if query.is_empty() { "" } else { "?" };
        Sent { method, target: format!("{path}{mark}{query}"), media, encoding, body }
    })
}

fn request(sent: &Sent) -> Request<Body> {
    let mut request = Request::builder().method(sent.method).uri(&sent.target);
    for (name, value) in [("content-type", sent.media), ("content-encoding", sent.encoding)] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    request.body(Body::from(sent.body.clone())).unwrap()
}

fn check(method: &str, reply: &Reply) -> Result<(), TestCaseError> {
    let status = reply.status.as_u16();
    let code = || reply.json()["code"].as_str().unwrap_or_default().to_owned();
    let is_unsupported =
        status == 501 && !is_local() && (method == "HEAD" || code() == "unsupported_by_backend");
    prop_assert!(status < 500 || is_unsupported, "{status} {:?}", reply.body);
    prop_assert!(!reply.header("x-request-id").is_empty());
    if status < 400 || method == "HEAD" {
        return Ok(());
    }
    reply.problem(status, &code());
    Ok(())
}

#[test]
fn every_request_is_answered_or_refused_by_a_problem() {
    let runtime = Runtime::new().unwrap();
    let app = runtime.block_on(App::new());
    let records = r#"{"shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["a", "b"], "field_sketches": true}}"#;
    assert_eq!(runtime.block_on(app.put_json("/collections/records", records)).status, 201);
    // A database takes a round trip for each.
    let cases = if is_local() { 4_000 } else { 500 };
    let config = ProptestConfig { cases, ..ProptestConfig::default() };
    proptest!(config, |(sent in sent())| {
        let reply = runtime.block_on(app.call(request(&sent)));
        check(sent.method, &reply)?;
        if reply.header("content-type") == "application/x-ndjson" && sent.method != "HEAD" {
            for line in reply.lines() {
                let status = line["problem"]["status"].as_u64().unwrap_or_default();
                prop_assert!(status < 500, "{line}");
            }
        }
    });
}
