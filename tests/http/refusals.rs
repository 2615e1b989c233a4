use akin::engine::{CollectionSettings, LimitSettings};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{App, received};

#[tokio::test]
async fn an_invalid_document_is_refused_with_a_pointer() {
    let app = App::new().await;
    let long_id = format!(r#"{{"id": "{}", "text": "a"}}"#, "x".repeat(1025));
    let invalid = [
        (r#"{"id": "a"}"#, "", "one of text, html, tokens, fields and signature"),
        (r#"{"text": "a", "tokens": ["a"]}"#, "", "exactly one of text"),
        (r#"{"text": "a", "txt": "b"}"#, "/txt", "unknown field `txt`, expected one of `id`"),
        (r#"{"text": "a", "text": "b"}"#, "", "duplicate field `text`"),
        (r#"{"text": 1}"#, "/text", "invalid type: integer `1`, expected a string"),
        (r#"{"id": "", "text": "a"}"#, "/id", "at least one character"),
        (r#"{"id": "a\u0000", "text": "a"}"#, "/id", "control characters"),
        (&long_id, "/id", "at most 1024 bytes"),
        (r#"{"tokens": ["a", ["b"]]}"#, "/tokens/1", "a token: a string, or [string, count]"),
        (r#"{"tokens": [["b", 1, 2]]}"#, "/tokens/0", "a token"),
        (r#"{"tokens": ["a", "b", ["c", 0]]}"#, "/tokens/2", "not 0"),
        (r#"{"tokens": [["c", -1]]}"#, "/tokens/0/1", "-1"),
        (r#"{"tokens": [["c", 4294967296]]}"#, "/tokens/0/1", "4294967296"),
        (r#"{"tokens": [7]}"#, "/tokens/0", "a token"),
        (r#"{"text": "a", "metadata": [1]}"#, "/metadata", "must be a JSON object"),
        (r#""text""#, "", "expected an object"),
        ("7", "", "expected an object"),
    ];
    for (body, pointer, detail) in invalid {
        let problem = app.post_json("/documents", body).await.problem(422, "invalid_document");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {problem}");
        let said = problem["errors"][0]["detail"].as_str().unwrap();
        assert!(said.contains(detail) && !said.contains("at line"), "{body}: {said}");
    }
}

#[tokio::test]
async fn an_array_of_fields_is_not_a_document() {
    let app = App::new().await;
    let results = app.post_json("/documents", r#"[["a", "text", null, null]]"#).await.elements();
    assert_eq!(results[0]["problem"]["code"], "invalid_document", "{results:?}");
    let pair = r#"{"a": ["id", null, null, null], "b": {"id": "b"}}"#;
    let problem = app.post_json("/resemblance", pair).await.problem(422, "invalid_request");
    assert_eq!(problem["errors"][0]["pointer"], "/a");
}

#[tokio::test]
async fn malformed_json_is_refused_with_its_position() {
    let app = App::new().await;
    let deep = format!(r#"{{"text": {}"#, "[".repeat(100_000));
    let malformed = [
        "",
        "{",
        "{\"text\": \"a\"} {}",
        "{\"text\": \"a\",}",
        "{\"text\": \"\\ud800\"}",
        "{\"text\": \"a\nb\"}",
        "{'text': 'a'}",
    ];
    for body in malformed {
        let problem = app.post_json("/documents", body).await.problem(400, "malformed_json");
        assert!(problem["detail"].as_str().unwrap().contains("line "), "{body}: {problem}");
    }
    let status = app.post_json("/documents", deep).await.status;
    assert!(status == 400 || status == 422, "{status}");
    let not_utf_8 = app.post("/documents", "application/json", &b"{\"text\": \"\xff\"}"[..]).await;
    not_utf_8.problem(400, "malformed_json");
    let not_utf_8 = app.post("/documents", "text/plain", &b"ab\xff"[..]).await;
    let problem = not_utf_8.problem(400, "malformed_text");
    assert!(problem["detail"].as_str().unwrap().contains("byte 2"), "{problem}");
}

#[tokio::test]
async fn an_invalid_probe_is_refused_with_a_pointer() {
    let app = App::new().await;
    let invalid = [
        ("/similar", "{}", ""),
        ("/similar", r#"{"id": "a", "text": "b", "tokens": ["c"]}"#, ""),
        ("/similar", r#"{"id": ""}"#, "/id"),
        ("/similar", r#"{"tokens": [["b", 0]]}"#, "/tokens/0"),
        ("/resemblance", r#"{"a": {"id": "a"}}"#, ""),
        ("/resemblance", r#"{"a": {"id": "a"}, "b": {"x/y": 1}}"#, "/b/x~1y"),
        ("/resemblance", r#"{"a": {"id": "a"}, "b": {"id": true}}"#, "/b/id"),
        ("/resemblance", r#"{"a": {"id": "a"}, "b": {}}"#, "/b"),
    ];
    for (path, body, pointer) in invalid {
        let problem = app.post_json(path, body).await.problem(422, "invalid_request");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {problem}");
    }
}

#[tokio::test]
async fn an_invalid_probe_of_many_fails_alone() {
    let app = App::new().await;
    let probes = [r#"{"text": "a"}"#, r#"{"id": ""}"#, r#"{"tokens": [["b", 0]]}"#, "7"];
    let pointers = [Value::Null, json!("/1/id"), json!("/2/tokens/0"), json!("/3")];
    let array = app.post_json("/similar", format!("[{}]", probes.join(","))).await.elements();
    let lines = probes.join("\n\n") + "\n";
    let lines = app.post("/similar", "application/x-ndjson", lines).await.lines();
    for answers in [array, lines] {
        assert_eq!(answers.len(), 4);
        for (answer, pointer) in answers.iter().zip(&pointers) {
            assert_eq!(answer["error"]["errors"][0]["pointer"], *pointer, "{answer}");
        }
        assert_eq!(answers[0]["matches"], json!([]));
    }
}

#[tokio::test]
async fn refusals_of_the_engine_are_client_errors() {
    let limits =
        LimitSettings { shingles_max: 3, metadata_bytes_max: 10, ..LimitSettings::default() };
    let app =
        App::with_collection(CollectionSettings { limits, ..CollectionSettings::default() }).await;
    let empty = [json!({"text": ""}), json!({"text": " \n"}), json!({"tokens": []})];
    for body in empty {
        app.post_json("/documents", &body).await.problem(422, "empty_document");
        app.post_json("/similar", &body).await.problem(422, "empty_document");
    }
    let many = json!({"tokens": ["a", "b", "c", "d"]});
    app.post_json("/documents", &many).await.problem(422, "too_many_shingles");
    let answers = app.post_json("/similar", json!([many])).await.json();
    assert_eq!(answers[0]["error"]["code"], "too_many_shingles");
    assert_eq!(answers[0]["error"]["errors"][0]["pointer"], "/0");
    let large = json!({"text": "a b c", "metadata": {"key": "value"}});
    app.post_json("/documents", large).await.problem(422, "metadata_too_large");
}

#[tokio::test]
async fn unknown_parameters_are_named() {
    let app = App::new().await;
    let wrong = [
        ("/documents?limi=1", "did you mean 'limit'?"),
        ("/documents?after=", "'after'"),
        ("/documents/a?include=texts", "'include' must be sketch, shingles"),
        ("/documents/a?limit=1", "takes only include"),
        ("/similar", "'id' is missing"),
        (
            "/similar?id=a&mode=fuzzy",
            "'mode' is wrong: unknown variant `fuzzy`, expected one of `verified`",
        ),
        ("/resemblance?a=a", "'b' is missing"),
        ("/resemblance?a=a&b=b&measure=edit", "takes only a, b, explain, measures"),
        ("/export?format=csv", "takes only order"),
        (
            "/export?order=size",
            "'order' is wrong: unknown variant `size`, expected `stored` or `id`",
        ),
        ("/backup?all=true", "takes no parameters"),
        ("/stats?verbose", "'verbose'"),
        ("/snapshots?limit=1", "takes no parameters"),
    ];
    for (path, detail) in wrong {
        let problem = app.get(path).await.problem(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{path}: {problem}");
    }
    let body = json!({"text": "a b c"});
    let wrong = ["?id=a", "?on_duplicate=merge", "?check=no", "?check=false&on_duplicate=skip"];
    for query in wrong {
        let reply = app.post_json(&format!("/documents{query}"), &body).await;
        reply.problem(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn an_unsupported_media_type_is_refused_naming_the_supported() {
    let app = App::new().await;
    let untyped = Request::post("/documents").body(Body::from("{}")).unwrap();
    let problem = app.call(untyped).await.problem(415, "unsupported_media_type");
    assert!(problem["detail"].as_str().unwrap().ends_with("it is absent"), "{problem}");
    let refused = [
        ("/documents", "application/xml"),
        ("/documents", "text/plain; charset=iso-8859-1"),
        ("/similar", "application/xhtml+xml"),
        ("/resemblance", "text/plain"),
        ("/documents", "text/pläin"),
        ("/documents", ""),
    ];
    for (path, media) in refused {
        let problem = app.post(path, media, "x").await.problem(415, "unsupported_media_type");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("application/json"), "{problem}");
        assert!(detail.ends_with(&format!("it is '{media}'")), "{problem}");
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems() {
    let app = App::new().await;
    for path in ["/console", "/document", "/documents/", "/collections/", "/docs/"] {
        app.get(path).await.problem(404, "route_not_found");
    }
    let reply = app.put_json("/documents", "{}").await;
    reply.problem(405, "method_not_allowed");
    let mut allowed: Vec<_> = reply.header("allow").split(',').collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["DELETE", "GET", "HEAD", "POST"]);
}

#[tokio::test]
async fn not_ready_is_reported_until_the_collections_are_open() {
    let app = App::starting(akin::http::ServerSettings::default());
    assert_eq!(app.get("/healthz").await.status, 200);
    let unknown = app.get("/readyz").await.problem(503, "not_ready");
    assert_eq!(unknown["progress"], json!({"done": 0, "total": 0}));
    app.state.progress.add_total(10);
    app.state.progress.add_done(4);
    for path in ["/readyz", "/documents", "/similar?id=a", "/stats", "/export"] {
        let problem: Value = app.get(path).await.problem(503, "not_ready");
        assert_eq!(problem["progress"], json!({"done": 4, "total": 10}));
    }
    app.post_json("/documents", "{").await.problem(503, "not_ready");
    assert_eq!(app.get("/metrics").await.status, 200);
}

/// Filters could not read it.
#[tokio::test]
async fn unreadable_metadata_is_refused_with_a_pointer() {
    let nested = |levels: usize| format!("{}0{}", "[".repeat(levels), "]".repeat(levels));
    let cases = [
        (r#"{"a": {"b/c": [1, "\ud800"]}}"#.to_owned(), "/metadata/a/b~1c/1"),
        (r#"{"a": "\udc00x"}"#.to_owned(), "/metadata/a"),
        (r#"{"a": [0, 1e400]}"#.to_owned(), "/metadata/a/1"),
        (format!(r#"{{"a": {}}}"#, nested(127)), "/metadata/a/0"),
        (format!(r#"{{"a": {}}}"#, nested(123)), "/metadata"),
    ];
    let app = App::new().await;
    for (metadata, pointer) in cases {
        let document = format!(r#"{{"id": "a", "text": "x", "metadata": {metadata}}}"#);
        let problem = app.post_json("/documents", &document).await;
        let problem = problem.problem(422, "invalid_document");
        let found = problem["errors"][0]["pointer"].as_str().unwrap();
        assert!(found.starts_with(pointer), "{found} for {metadata}");
        let array = app.post_json("/documents", format!("[{document}]")).await.elements();
        let lines = app.post("/documents", "application/x-ndjson", document + "\n").await.lines();
        for lines in [array, lines] {
            assert_eq!(lines[0]["problem"]["code"], "invalid_document");
            assert_eq!(lines[0]["problem"]["errors"][0]["pointer"], found);
        }
    }
    let deepest = format!(r#"{{"id": "a", "text": "x", "metadata": {{"a": {}}}}}"#, nested(122));
    assert_eq!(app.post_json("/documents", deepest).await.status, 201);
    assert_eq!(app.post_json("/documents", r#"{"id": "b", "text": "x"}"#).await.status, 201);
    let found = app.get("/similar?id=b&filter=%40.a").await.json();
    assert_eq!(found["matches"][0]["id"], "a", "a filter reads what is taken: {found}");
}

/// `serde_json` would read the text in such an object as JSON, with as many levels again.
#[tokio::test]
async fn texts_of_json_within_each_other_stay_texts() {
    let within = |json: String, _| {
        let object = format!(r#"{{"$serde_json::private::RawValue":{}}}"#, Value::String(json));
        format!("{}{object}{}", "[".repeat(120), "]".repeat(120))
    };
    let metadata = format!(r#"{{"a":{}}}"#, (0..11).fold("0".to_owned(), within));
    let app = App::new().await;
    // The document is not read by the test, whose stack would overflow.
    let send = async |method: &str, path: &str, media: &str, body: &str| -> (StatusCode, Bytes) {
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = app.router.clone().oneshot(request).await.unwrap();
        (response.status(), received(response.into_body()).await)
    };
    let of = |id: &str| format!(r#"{{"id": "{id}", "text": "x", "metadata": {metadata}}}"#);
    let json = "application/json";
    assert_eq!(send("POST", "/documents", json, &of("a")).await.0, 201);
    send("POST", "/documents", "application/x-ndjson", &(of("b") + "\n")).await;
    assert_eq!(app.post_json("/documents", r#"{"id": "c", "text": "x"}"#).await.status, 201);
    let patch = format!(r#"{{"metadata": {metadata}}}"#);
    assert_eq!(send("PATCH", "/documents/c", json, &patch).await.0, 200);
    assert_eq!(app.patch_json("/documents/b", r#"{"metadata": {"b": 1}}"#).await.status, 200);
    for id in ["a", "b", "c"] {
        let (_, stored) = send("GET", &format!("/documents/{id}"), json, "").await;
        let stored = String::from_utf8(stored.into()).unwrap();
        assert!(stored.contains(metadata.trim_end_matches('}')), "{id}: {stored:.100}");
    }
    let found = app.get("/similar?id=c&filter=%40.a").await.json();
    assert_eq!(found["matches"].as_array().unwrap().len(), 2, "{found}");
}

/// Values take many times the bytes of their JSON.
#[tokio::test]
async fn a_patch_is_parsed_if_metadata_can_be_so_long() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": "x"})]).await;
    let patch = json!({"metadata": {"a".repeat(65_536): null}});
    app.patch_json("/documents/a", patch).await.problem(422, "metadata_too_large");
}
