use std::io::{Read, Write};

use akin::http::ServerSettings;
use axum::body::Body;
use axum::http::Request;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::app::{App, lines, text};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn compress(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    match encoding {
        "gzip" => gzip(bytes),
        _ => zstd::encode_all(bytes, 3).unwrap(),
    }
}

fn decompress(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match encoding {
        "gzip" => drop(GzDecoder::new(bytes).read_to_end(&mut plain).unwrap()),
        _ => plain = zstd::decode_all(bytes).unwrap(),
    }
    plain
}

fn encoded(path: &str, media: &str, encoding: &str, body: Vec<u8>) -> Request<Body> {
    Request::post(path)
        .header("content-type", media)
        .header("content-encoding", encoding)
        .body(Body::from(body))
        .unwrap()
}

#[tokio::test]
async fn compressed_bodies_are_read() {
    for encoding in ["gzip", "zstd"] {
        let app = App::new().await;
        let one = json!({"id": "a", "text": text(0)}).to_string();
        let body = compress(encoding, one.as_bytes());
        let reply = app.call(encoded("/documents", "application/json", encoding, body)).await;
        assert_eq!(reply.status, 201, "{:?}", reply.body);

        let many = format!("{}\n{one}\n", json!({"id": "b", "text": text(9)}));
        let body = compress(encoding, many.as_bytes());
        let reply = app.call(encoded("/documents", "application/x-ndjson", encoding, body)).await;
        let statuses: Vec<_> = reply.lines().iter().map(|line| line["status"].clone()).collect();
        assert_eq!(statuses, ["created", "unchanged"]);
    }
}

/// Files that were compressed in parts have several members.
#[tokio::test]
async fn all_members_of_a_compressed_body_are_read() {
    for encoding in ["gzip", "zstd"] {
        let app = App::new().await;
        let line = |n: usize| format!("{}\n", json!({"id": n.to_string(), "text": text(n)}));
        // Cut within a document, as members need not end with one.
        let lines: String = (0..40).map(line).collect();
        let (first, rest) = lines.split_at(lines.len() / 3);
        let (second, third) = rest.split_at(rest.len() / 2);
        let members = [first, second, "", third].map(|part| compress(encoding, part.as_bytes()));
        let body = members.concat();
        let reply = app.call(encoded("/documents", "application/x-ndjson", encoding, body)).await;
        let lines = reply.lines();
        assert_eq!(lines.len(), 40, "{encoding}");
        assert!(lines.iter().all(|line| line["status"] == "created"), "{encoding}");
    }
}

#[tokio::test]
async fn data_behind_a_compressed_body_is_refused() {
    let one = |id: &str| json!({"id": id, "text": text(0)}).to_string();
    for encoding in ["gzip", "zstd"] {
        let app = App::new().await;
        let whole = compress(encoding, one("a").as_bytes());
        let half = &whole[..whole.len() / 2];
        for garbage in [b"\0", b"\n".as_slice(), b"xy", b"neither gzip nor zstd", half] {
            let body = [&whole, garbage].concat();
            let request = encoded("/documents", "application/json", encoding, body.clone());
            app.call(request).await.problem(400, "unreadable_body");
            app.get("/documents/a").await.problem(404, "document_not_found");

            // Of many, those before it are stored, and the last line says what happened.
            let lines = format!("{}\n", one("b"));
            let body = [&compress(encoding, lines.as_bytes()), garbage].concat();
            let request = encoded("/documents", "application/x-ndjson", encoding, body);
            let lines = app.call(request).await.lines();
            let last = lines.last().unwrap();
            assert_eq!(last["problem"]["code"], "unreadable_body", "{encoding} {garbage:?}");
            assert!(lines.len() <= 2);
        }
    }
}

#[tokio::test]
async fn answers_are_compressed_where_accepted() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": text(0)})]).await;
    for encoding in ["gzip", "zstd"] {
        for path in ["/documents/a", "/export"] {
            let request = Request::get(path).header("accept-encoding", encoding);
            let reply = app.call(request.body(Body::empty()).unwrap()).await;
            assert_eq!(reply.header("content-encoding"), encoding, "{path}");
            let plain = decompress(encoding, &reply.body);
            assert_eq!(lines(&plain)[0]["text"], text(0));
        }
    }
    assert_eq!(app.get("/documents/a").await.header("content-encoding"), "");
}

#[tokio::test]
async fn limits_apply_to_decompressed_bytes() {
    let settings = ServerSettings { document_bytes_max: 10_000, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let bomb = json!({"text": "x ".repeat(1_000_000)}).to_string();
    for encoding in ["gzip", "zstd"] {
        let body = compress(encoding, bomb.as_bytes());
        assert!(body.len() < 10_000);
        let reply = app.call(encoded("/documents", "application/json", encoding, body)).await;
        reply.problem(413, "document_too_large");
        let body = compress(encoding, format!("{bomb}\n{{\"text\": \"a\"}}").as_bytes());
        let reply = app.call(encoded("/documents", "application/x-ndjson", encoding, body)).await;
        let lines = reply.lines();
        assert_eq!(lines[0]["problem"]["code"], "document_too_large");
        assert_eq!(lines[1]["status"], "created");
    }
}

#[tokio::test]
async fn an_encoding_that_is_unknown_or_broken_is_refused() {
    let app = App::new().await;
    for encoding in ["br", "deflate", "gzip, gzip"] {
        let request = encoded("/documents", "application/json", encoding, b"{}".to_vec());
        let reply = app.call(request).await;
        reply.problem(415, "unsupported_encoding");
        assert!(reply.header("accept-encoding").contains("gzip"));
    }
    for encoding in ["gzip", "zstd"] {
        let body = compress(encoding, json!({"text": text(0)}).to_string().as_bytes());
        for broken in [b"not compressed".to_vec(), body[..body.len() / 2].to_vec()] {
            let request = encoded("/documents", "application/json", encoding, broken);
            app.call(request).await.problem(400, "unreadable_body");
        }
    }
}

/// The decoder allocates the window that a frame names, so a few bytes could take 128 MiB.
#[tokio::test]
async fn a_zstd_window_has_a_limit() {
    let app = App::new().await;
    let document = json!({"id": "a", "text": text(0)}).to_string();
    let in_window = |log: u32| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(log).unwrap();
        encoder.write_all(document.as_bytes()).unwrap();
        encoded("/documents", "application/json", "zstd", encoder.finish().unwrap())
    };
    assert_eq!(app.call(in_window(23)).await.status, 201);
    let refused = app.call(in_window(24)).await.problem(400, "unreadable_body");
    assert!(refused["detail"].as_str().unwrap().contains("zstd window"), "{refused}");
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let app = App::new().await;
    for path in ["/healthz", "/documents/x", "/no/such/path", "/export"] {
        let request = |id: &str| Request::get(path).header("x-request-id", id).body(Body::empty());
        let reply = app.call(request("trace-7").unwrap()).await;
        assert_eq!(reply.header("x-request-id"), "trace-7");
        let reply = app.call(request("not sane").unwrap()).await;
        let made: uuid::Uuid = reply.header("x-request-id").parse().unwrap();
        assert_eq!(made.get_version_num(), 7);
    }
    let first = app.get("/healthz").await;
    assert_ne!(first.header("x-request-id"), app.get("/healthz").await.header("x-request-id"));
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let app = App::new().await;
    let request = Request::head("/healthz").body(Body::empty()).unwrap();
    let reply = app.call(request).await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (200, 0));
    assert!(serde_json::from_slice::<Value>(&reply.body).is_err());
}
