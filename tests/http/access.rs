//! Who may: hosts, web pages and keys.

use akin::engine::CollectionSettings;
use akin::http::key::{Action, ApiKey, Hash};
use akin::http::key_file::{self, KeyFileError};
use akin::http::{KeyRing, ServerSettings};
use akin_files::input::name_of;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request};
use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use tower::ServiceExt;

use crate::app::{App, Reply};
use crate::contract::CONTRACT;
use crate::store_under_test::is_local;

/// Needs no key, whatever the settings.
const OPEN: [&str; 4] = ["GET /healthz", "GET /readyz", "GET /openapi.yaml", "GET /openapi.json"];

pub fn key(name: &str, actions: &[Action], collections: &[&str]) -> ApiKey {
    ApiKey {
        name: name.to_owned(),
        sha256: Hash::of(format!("akin_{name}").as_bytes()),
        actions: actions.to_vec(),
        collections: collections.iter().map(|pattern| (*pattern).to_owned()).collect(),
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
    }
}

/// An akin with a key for each action, one for all of them, and one for some collections.
pub async fn app_with_keys(server: ServerSettings) -> (App, TempDir) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("keys.json");
    let narrow = [Action::Read, Action::Write, Action::Admin];
    key_file::change::<_, KeyFileError>(&path, |keys| {
        keys.extend(
            Action::value_variants().iter().map(|action| key(&name_of(action), &[*action], &["*"])),
        );
        keys.extend([
            key("all", Action::value_variants(), &["*"]),
            key("web", &narrow, &["web-*", "news"]),
        ]);
        keys.push(key("web-metrics", &[Action::Metrics], &["web-*", "news"]));
        Ok(())
    })
    .unwrap();
    let app = App::starting_with_keys(server, KeyRing::open(path).unwrap());
    app.open(CollectionSettings::default()).await;
    (app, dir)
}

async fn send(app: &App, operation: &str, headers: &[(&'static str, &str)]) -> Reply {
    let (method, path) = operation.split_once(' ').unwrap();
    let path = path.replace("{collection}", "news").replace("{id}", "a");
    let mut request = Request::builder().method(Method::try_from(method).unwrap()).uri(path);
    for (name, value) in headers {
        let name = HeaderName::from_static(name);
        request = request.header(name, HeaderValue::from_str(value).unwrap());
    }
    app.call(request.body(Body::empty()).unwrap()).await
}

pub async fn send_with_key(app: &App, operation: &str, name: &str) -> Reply {
    send(app, operation, &[("authorization", &format!("Bearer akin_{name}"))]).await
}

#[tokio::test]
async fn every_operation_but_the_probes_needs_a_key() {
    let (app, _dir) = app_with_keys(ServerSettings::default()).await;
    let operations = CONTRACT.operations();
    assert!(operations.len() > 40, "{operations:?}");
    for operation in &operations {
        let reply = send(&app, operation, &[]).await;
        if OPEN.contains(&operation.as_str()) {
            assert_eq!(reply.status, 200, "{operation}");
            continue;
        }
        reply.problem(401, "key_required");
        assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"akin\"", "{operation}");
        let reply = send_with_key(&app, operation, "unknown").await;
        reply.problem(401, "invalid_key");
        assert!(reply.header("www-authenticate").contains("invalid_token"), "{operation}");
        let reply = send_with_key(&app, operation, "all").await;
        assert!(![401, 403].contains(&reply.status.as_u16()), "{operation}: {}", reply.status);
    }
    for path in ["/no/such/path", "/documents/a/b/c/../../"] {
        let reply = send(&app, &format!("GET {path}"), &[]).await;
        assert!([401, 404].contains(&reply.status.as_u16()), "{path}: {}", reply.status);
    }
    assert_eq!(send(&app, "HEAD /export", &[]).await.status, 401);
}

/// The action that each operation needs, as the documentation says.
fn action(operation: &str) -> Action {
    let (method, path) = operation.split_once(' ').unwrap();
    let below = path.strip_prefix("/collections/{collection}").unwrap_or(path);
    match (method, below) {
        (_, "/metrics") => Action::Metrics,
        (_, "/backup")
        | ("PUT" | "DELETE", "")
        | ("POST", "/snapshots")
        | ("POST" | "DELETE", "/reindex") => Action::Admin,
        ("POST", "/documents" | "/remove") | ("PUT" | "PATCH" | "DELETE", _) => Action::Write,
        _ => Action::Read,
    }
}

#[tokio::test]
async fn a_key_permits_its_own_actions_only() {
    let (app, _dir) = app_with_keys(ServerSettings::default()).await;
    for operation in CONTRACT.operations() {
        if OPEN.contains(&operation.as_str()) {
            continue;
        }
        for name in Action::value_variants() {
            let reply = send_with_key(&app, &operation, &name_of(name)).await;
            if *name == action(&operation) {
                let status = reply.status.as_u16();
                assert!(![401, 403].contains(&status), "{operation} {name:?}: {status}");
            } else {
                let problem = reply.problem(403, "not_permitted");
                let detail = problem["detail"].as_str().unwrap();
                assert!(detail.contains(&name_of(&action(&operation))), "{operation}: {detail}");
            }
        }
    }
}

/// A sketch shows which shingles of a document make it.
#[tokio::test]
async fn sketches_are_returned_to_admins_only() {
    let (app, _dir) = app_with_keys(ServerSettings::default()).await;
    let path = "GET /documents/a?include=";
    for include in ["sketch", "shingles,sketch"] {
        let problem = send_with_key(&app, &format!("{path}{include}"), "read").await;
        let problem = problem.problem(403, "not_permitted");
        assert!(problem["detail"].as_str().unwrap().contains("`admin`"), "{problem}");
        let reply = send_with_key(&app, &format!("{path}{include}"), "all").await;
        reply.problem(404, "document_not_found");
    }
    let reply = send_with_key(&app, &format!("{path}shingles"), "read").await;
    reply.problem(404, "document_not_found");
}

#[tokio::test]
async fn a_key_is_valid_in_its_own_collections_only() {
    let (app, _dir) = app_with_keys(ServerSettings::default()).await;
    for (name, permitted) in [("news", true), ("web-de", true), ("other", false)] {
        let operation = format!("PUT /collections/{name}");
        let with_key = [("authorization", "Bearer akin_web"), ("content-type", "application/json")];
        let reply = send(&app, &operation, &with_key).await;
        if permitted {
            assert_ne!(reply.status, 403, "{name}");
        } else {
            reply.problem(403, "not_permitted");
        }
        let request = Request::put(format!("/collections/{name}"))
            .header("authorization", "Bearer akin_all")
            .header("content-type", "application/json");
        let created = app.call(request.body(Body::from("{}")).unwrap()).await;
        assert_eq!(created.status, 201, "{name}");
    }
    for path in ["/documents", "/export", "/collections/other/documents", "/backup", "/stats"] {
        let reply = send_with_key(&app, &format!("GET {path}"), "web").await;
        reply.problem(403, "not_permitted");
    }
    // However the name is written, the key is held against the name that the handlers see.
    let escaped = ["/collections/%6fther/documents", "/collections/%64efault/documents"];
    for path in escaped {
        let reply = send_with_key(&app, &format!("GET {path}"), "web").await;
        reply.problem(403, "not_permitted");
    }
    let backup = if is_local() { 200 } else { 501 };
    for (path, status) in
        [("/collections/n%65ws/documents", 200), ("/collections/web-de/backup", backup)]
    {
        let reply = send_with_key(&app, &format!("GET {path}"), "web").await;
        assert_eq!(reply.status, status, "{path}");
    }
    let listed = async |name: &str| {
        let reply = send_with_key(&app, "GET /collections", name).await.json();
        let listed = reply["collections"].as_array().unwrap().clone();
        listed.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("web").await, ["news", "web-de"]);
    assert_eq!(listed("all").await, ["default", "news", "other", "web-de"]);
}

#[tokio::test]
async fn metrics_are_those_of_the_collections_of_a_key() {
    let (app, _dir) = app_with_keys(ServerSettings::default()).await;
    for name in ["news", "other"] {
        let request = Request::put(format!("/collections/{name}"))
            .header("authorization", "Bearer akin_all")
            .header("content-type", "application/json");
        let created = app.call(request.body(Body::from("{}")).unwrap()).await;
        assert_eq!(created.status, 201, "{name}");
    }
    let metrics = async |name| {
        let reply = send_with_key(&app, "GET /metrics", name).await;
        String::from_utf8(reply.body.into()).unwrap()
    };
    let (all, own) = (metrics("metrics").await, metrics("web-metrics").await);
    for name in ["default", "news", "other"] {
        let series = format!("akin_documents{{collection=\"{name}\"}} 0");
        assert!(all.contains(&series), "{all}");
        assert_eq!(own.contains(&series), name == "news", "{own}");
        assert_eq!(own.contains(name), name == "news", "{own}");
    }
    assert!(own.contains("process_open_fds"), "{own}");
}

#[tokio::test]
async fn metrics_are_open_by_setting() {
    let settings = ServerSettings { metrics_open: true, ..ServerSettings::default() };
    let (app, _dir) = app_with_keys(settings).await;
    assert_eq!(send(&app, "GET /metrics", &[]).await.status, 200);
    send(&app, "GET /stats", &[]).await.problem(401, "key_required");
}

#[tokio::test]
async fn a_revoked_key_is_refused() {
    let (app, dir) = app_with_keys(ServerSettings::default()).await;
    assert_eq!(send_with_key(&app, "GET /stats", "read").await.status, 200);
    key_file::change::<_, KeyFileError>(&dir.path().join("keys.json"), |keys| {
        keys.retain(|key| key.name != "read");
        Ok(())
    })
    .unwrap();
    assert!(app.state.keys.follow(false).unwrap());
    send_with_key(&app, "GET /stats", "read").await.problem(401, "invalid_key");
    assert_eq!(send_with_key(&app, "GET /stats", "all").await.status, 200);
}

#[tokio::test]
async fn requests_for_other_hosts_are_refused() {
    let settings =
        ServerSettings { hosts: vec!["akin.example".to_owned()], ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    for host in ["localhost:2546", "127.0.0.1", "[::1]:80", "akin.example:443", "192.168.1.2:1"] {
        assert_eq!(send(&app, "GET /stats", &[("host", host)]).await.status, 200, "{host}");
    }
    for operation in CONTRACT.operations() {
        let reply = send(&app, &operation, &[("host", "rebound.example")]).await;
        reply.problem(421, "host_not_served");
    }
    for host in ["", "localhost, localhost", "user@localhost", "local host", "localhost:x"] {
        let reply = send(&app, "GET /healthz", &[("host", host)]).await;
        reply.problem(400, "invalid_host");
    }
    let two = [("host", "localhost"), ("host", "localhost")];
    send(&app, "GET /healthz", &two).await.problem(400, "invalid_host");
    let named_in_target = send(&app, "GET http://rebound.example/stats", &[]).await;
    named_in_target.problem(421, "host_not_served");
}

#[tokio::test]
async fn web_pages_of_other_origins_are_refused() {
    let app = App::new().await;
    let write = |origin: &str| {
        let request = Request::post("/documents?id=a").header("content-type", "text/plain");
        request.header("origin", origin).body(Body::from("one two three")).unwrap()
    };
    for origin in ["https://evil.example", "null", "http://localhost:3000"] {
        let reply = app.call(write(origin)).await;
        reply.problem(403, "foreign_origin");
        assert_eq!(reply.header("access-control-allow-origin"), "");
    }
    app.get("/documents/a").await.problem(404, "document_not_found");
    let embedded = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
    send(&app, "GET /pairs", &embedded).await.problem(403, "foreign_origin");
    assert_eq!(app.call(write("http://localhost")).await.status, 201);
    let preflight = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
    send(&app, "OPTIONS /documents", &preflight).await.problem(403, "foreign_origin");
}

#[tokio::test]
async fn web_pages_of_allowed_origins_may_call() {
    let shop = "https://shop.example";
    let settings =
        ServerSettings { cors_origins: vec![shop.to_owned()], ..ServerSettings::default() };
    let (app, _dir) = app_with_keys(settings).await;
    let preflight = [
        ("origin", shop),
        ("access-control-request-method", "DELETE"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    let reply = send(&app, "OPTIONS /documents", &preflight).await;
    assert_eq!(reply.status, 200, "a preflight has no key");
    assert_eq!(reply.header("access-control-allow-origin"), shop);
    let methods = reply.header("access-control-allow-methods").split(',');
    assert_eq!(methods.collect::<Vec<_>>(), ["GET", "POST", "PUT", "PATCH", "DELETE"]);
    assert!(reply.header("access-control-allow-headers").contains("authorization"));
    let foreign = [preflight[1], ("origin", "https://evil.example")];
    let reply = send(&app, "OPTIONS /documents", &foreign).await;
    assert_eq!(reply.header("access-control-allow-origin"), "");

    let with_key = [("origin", shop), ("authorization", "Bearer akin_read")];
    let reply = send(&app, "GET /stats", &with_key).await;
    assert_eq!((reply.status.as_u16(), reply.header("access-control-allow-origin")), (200, shop));
    let refused = send(&app, "GET /stats", &[("origin", shop)]).await;
    refused.problem(401, "key_required");
    assert_eq!(refused.header("access-control-allow-origin"), shop, "pages read errors, too");
    let foreign = [("origin", "https://evil.example"), ("authorization", "Bearer akin_read")];
    send(&app, "GET /stats", &foreign).await.problem(403, "foreign_origin");
}

#[tokio::test]
async fn answers_forbid_content_sniffing() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": "<html><script>alert(1)</script>"})]).await;
    for path in ["/healthz", "/documents/a", "/export", "/no/such/path", "/metrics"] {
        assert_eq!(app.get(path).await.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn a_key_has_a_rate() {
    let settings = ServerSettings { rate_per_key: 1, ..ServerSettings::default() };
    let (app, _dir) = app_with_keys(settings).await;
    let mut refused = 0;
    for n in 0..10 {
        let reply = send_with_key(&app, "GET /stats", "read").await;
        if reply.status != 200 {
            assert!(n >= 5, "the burst");
            reply.problem(429, "too_many_requests");
            refused += 1;
        }
    }
    assert!(refused > 0);
    assert_eq!(send_with_key(&app, "GET /stats", "all").await.status, 200, "another key's");
}

#[tokio::test]
async fn a_key_holds_half_of_the_bulk_requests() {
    let settings = ServerSettings { bulk_requests_max: 2, ..ServerSettings::default() };
    let (app, _dir) = app_with_keys(settings).await;
    let export = Request::get("/export").header("authorization", "Bearer akin_read");
    let export = export.body(Body::empty()).unwrap();
    let held = app.router.clone().oneshot(export).await.unwrap();
    assert_eq!(held.status(), 200);
    for bulk in ["GET /export", "DELETE /documents?filter=@.none"] {
        let of_another = if bulk.starts_with("GET") { "all" } else { "write" };
        assert_eq!(send_with_key(&app, bulk, of_another).await.status, 200, "{bulk}");
    }
    let problem =
        send_with_key(&app, "GET /export", "read").await.problem(429, "too_many_requests");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("client_share_percent"), "{detail}");
    drop(held);
    assert_eq!(send_with_key(&app, "GET /export", "read").await.status, 200);
}
