//! HTML pages in bodies: their texts are stored and looked up.

#[cfg(not(feature = "html"))]
use serde_json::json;

#[cfg(not(feature = "html"))]
use crate::app::App;

/// `cargo test --no-default-features --test http pages`
#[cfg(not(feature = "html"))]
#[tokio::test]
async fn pages_are_refused_by_the_name_of_their_feature() {
    let app = App::new().await;
    let page = "<p>the quick brown fox";
    for path in ["/documents", "/similar"] {
        let problems = [
            app.post(path, "text/html", page).await,
            app.post_json(path, json!({"html": page})).await,
        ];
        for reply in problems {
            let problem = reply.problem(415, "unsupported_media_type");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("--features html"), "{problem}");
        }
    }
    let lines =
        app.post("/documents", "application/x-ndjson", "{\"html\": \"<p>a\"}\n{\"text\": \"a\"}");
    let lines = lines.await.lines();
    assert_eq!(lines[0]["problem"]["code"], "unsupported_media_type");
    assert_eq!(lines[1]["status"], "created");
}

#[cfg(feature = "html")]
mod extracted {
    use std::convert::Infallible;

    use akin::budget::Purpose;
    use akin::http::ServerSettings;
    use axum::body::Body;
    use bytes::Bytes;
    use futures_util::{FutureExt, StreamExt, stream};
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use crate::app::{App, ids, post};

    /// A page with an article, and words that only `extract=text` finds.
    fn article(words: &str) -> String {
        let sentence = "An article has some sentences, of which this is one. ".repeat(10);
        format!(
            "<html><title>T</title><nav>Menu</nav><div class=sidebar>Weather</div>\
             <article><p>{words}</p><p>{sentence}</p></article></html>"
        )
    }

    async fn stored(app: &App, id: &str) -> String {
        let document = app.get(&format!("/documents/{id}")).await.json();
        document["text"].as_str().unwrap_or_else(|| panic!("{document}")).to_owned()
    }

    fn reserved(app: &App) -> usize {
        Purpose::ALL.map(|purpose| app.state.budget.reserved(purpose)).iter().sum()
    }

    #[tokio::test]
    async fn a_mark_the_header_or_a_declaration_tells_the_encoding() {
        let app = App::new().await;
        let cases: [(&str, &[u8], &str); 7] = [
            ("text/html; charset=koi8-r", b"<p>\xcd\xc9\xd2", "мир"),
            ("text/html; charset=\"ISO-8859-1\"", b"<meta charset=gbk><p>caf\xe9", "café"),
            ("text/html", b"<meta charset=iso-8859-2><p>\xb1", "ą"),
            (
                "TEXT/HTML",
                b"<meta http-equiv=content-type content='text/html; charset=big5'>\xa4\xa4",
                "中",
            ),
            ("text/html; charset=koi8-r", b"\xef\xbb\xbf<p>\xc3\xa9t\xc3\xa9", "été"),
            ("text/html; charset=klingon", "<p>été".as_bytes(), "été"),
            ("text/html", b"<p>caf\xe9", "café"),
        ];
        for (at, (media, page, text)) in cases.into_iter().enumerate() {
            let reply = app.post(&format!("/documents?id={at}"), media, page.to_vec()).await;
            assert_eq!(reply.status, 201, "{media}: {:?}", reply.body);
            assert_eq!(stored(&app, &at.to_string()).await, text, "{media}");
            let found = app.post("/similar", media, page.to_vec()).await.json();
            assert!(ids(&found).contains(&at.to_string().as_str()), "{found}");
        }
    }

    #[tokio::test]
    async fn the_main_content_or_the_visible_text_is_taken() {
        let app = App::new().await;
        let page = article("One &amp; two");
        for (id, query) in [("text", ""), ("text2", "&extract=text"), ("main", "&extract=main")] {
            let path = format!("/documents?id={id}{query}");
            assert_eq!(app.post(&path, "text/html", page.clone()).await.status, 201);
            let text = stored(&app, id).await;
            assert!(text.contains("One & two") && !text.contains("Menu"), "{text}");
            assert_eq!(text.contains("Weather"), id != "main", "{text}");
        }
        let without = "<body><div class=sidebar>Words of a page.</div>";
        app.post("/documents?id=none&extract=main", "text/html", without).await;
        assert_eq!(stored(&app, "none").await, "Words of a page.");

        let put = axum::http::Request::put("/documents/put?extract=main");
        let put = put.header("content-type", "text/html").body(Body::from(page.clone())).unwrap();
        assert_eq!(app.call(put).await.status, 201);
        let body = json!({"html": page, "extract": "main", "metadata": {"n": 1}});
        assert_eq!(app.put_json("/documents/json", &body).await.status, 201);
        assert_eq!(stored(&app, "put").await, stored(&app, "main").await);
        assert_eq!(stored(&app, "json").await, stored(&app, "main").await);
    }

    #[tokio::test]
    async fn broken_pages_are_read_as_browsers_read_them() {
        let app = App::new().await;
        let page = "<p>One<b>two</p><table><td>three</b></div><!-- four --!>\
                    <script>five</script><a href='x>";
        assert_eq!(app.post("/documents?id=a", "text/html", page).await.status, 201);
        let text = stored(&app, "a").await;
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["Onetwo", "three"]);
        let reply = app.post("/documents?id=b", "text/html", "<script>f()</script>").await;
        reply.problem(422, "empty_document");
    }

    #[tokio::test]
    async fn pages_stand_beside_texts_in_arrays_and_lines() {
        let app = App::new().await;
        let page = article("One two");
        let documents = [
            json!({"id": "page", "html": page}),
            json!({"id": "main", "html": page, "extract": "main"}),
            json!({"id": "text", "text": "<p>not a page"}),
            json!({"id": "both", "html": page, "text": "a"}),
            json!({"id": "beside", "text": "a", "extract": "main"}),
            json!({"id": "deep", "html": "<div>".repeat(2_000)}),
        ];
        let escaped = r#"{"id": "escaped", "\u0068tml": "<p>One two three"}"#;
        let lines = documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
        let posted = app.post("/documents", "application/x-ndjson", lines + escaped).await.lines();
        for (at, pointer) in [(3, "/html"), (4, "/extract"), (5, "/html")] {
            let problem = &posted[at]["problem"];
            assert_eq!(problem["code"], "invalid_document", "{problem}");
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        }
        for id in ["page", "main"] {
            assert_eq!(stored(&app, id).await.contains("Weather"), id == "page");
        }
        assert_eq!(stored(&app, "text").await, "<p>not a page");
        assert_eq!(stored(&app, "escaped").await, "One two three");

        let array = Value::from(&documents[..3]);
        let again = app.post_json("/documents?extract=text", &array).await.elements();
        assert_eq!(again[0]["status"], "unchanged");
        assert_eq!(again[1]["problem"]["errors"][0]["pointer"], "/extract", "the query differs");
        assert_eq!(again[2]["status"], "unchanged");

        let found = app.post_json("/similar", &array).await.elements();
        let firsts: Vec<_> = found[..2].iter().map(|answer| ids(answer)[0]).collect();
        assert_eq!(firsts, ["main", "page"], "a probe with an id is the stored document");
        let probe = json!({"html": page, "extract": "main", "limit": 1});
        for reply in [
            app.post_json("/similar", &probe).await.json(),
            app.post("/similar?extract=main&limit=1", "text/html", page.clone()).await.json(),
            app.post("/similar", "application/x-ndjson", probe.to_string()).await.lines()[0]
                .clone(),
        ] {
            assert_eq!(ids(&reply), ["main"], "{reply}");
            assert_eq!(reply["matches"][0]["resemblance"], 1.0);
        }
        let pair = json!({"a": {"html": page}, "b": {"id": "page"}});
        app.post_json("/resemblance", &pair).await.problem(422, "invalid_request");
        for (member, value) in [("html", page.as_str()), ("extract", "main")] {
            let pair = json!({"a": {"text": "a"}, "b": {"id": "page", member: value}});
            let problem =
                app.post_json("/resemblance", &pair).await.problem(422, "invalid_request");
            assert_eq!(problem["errors"][0]["pointer"], format!("/b/{member}"), "{problem}");
        }
    }

    #[tokio::test]
    async fn pages_beyond_a_bound_are_refused() {
        let settings = ServerSettings { document_bytes_max: 20_000, ..ServerSettings::default() };
        let app = App::with_server(settings).await;
        for path in ["/documents", "/similar"] {
            let long = app.post(path, "text/html", "a".repeat(20_001)).await;
            long.problem(413, "document_too_large");
            let code = if path == "/similar" { "invalid_request" } else { "invalid_document" };
            let deep = app.post(path, "text/html", "<div>".repeat(2_000)).await;
            let deep = deep.problem(422, code);
            assert!(deep["detail"].as_str().unwrap().contains("in each other"), "{deep}");
        }
        let wrong = app.post("/documents?extract=all", "text/html", "a").await;
        wrong.problem(400, "invalid_parameter");
        let text = app.post("/documents?extract=main", "text/plain", "a b c").await;
        text.problem(400, "invalid_parameter");
        app.post("/passages", "text/html", "a").await.problem(415, "unsupported_media_type");
    }

    /// The tree of a page takes many times the memory of its bytes.
    #[tokio::test]
    async fn the_memory_and_the_work_of_pages_are_counted() {
        let refused = async |settings, status, code: &str| {
            let app = App::with_server(settings).await;
            let page = "<p>a".repeat(50_000);
            let bulk = json!({"html": page}).to_string();
            app.post("/documents", "text/html", page.clone()).await.problem(status, code);
            app.post("/similar", "text/html", page).await.problem(status, code);
            app.post_json("/similar", &bulk).await.problem(status, code);
            let lines = app.post("/documents", "application/x-ndjson", bulk).await.lines();
            assert_eq!(lines[0]["problem"]["code"], code, "{lines:?}");
            assert_eq!(reserved(&app), 0);
            assert!(app.state.budget.peak() <= app.state.budget.max());
        };
        let default = ServerSettings::default;
        let memory = ServerSettings { memory_max: 32 << 20, ..default() };
        refused(memory, 503, "memory_budget_exhausted").await;
        let share = ServerSettings { memory_max: 1 << 30, client_share_percent: 100, ..default() };
        let of_share = ServerSettings { memory_max: 400 << 20, ..share };
        refused(of_share, 422, "request_too_costly").await;
        let work = ServerSettings { request_cost_max: 1_000, ..default() };
        refused(work, 422, "request_too_costly").await;
    }

    #[tokio::test]
    async fn a_lookup_counts_the_work_of_its_page_as_its_own() {
        let page = format!("<p>{}", "word ".repeat(10_000));
        // The page costs 781 units, and its text 97.
        for (request_cost_max, is_enough) in [(800, false), (1_000, true)] {
            let settings = ServerSettings { request_cost_max, ..ServerSettings::default() };
            let app = App::with_server(settings).await;
            let body = app.post("/similar", "text/html", page.clone()).await;
            let json = app.post_json("/similar", json!({"html": page})).await;
            for reply in [body, json] {
                match is_enough {
                    true => assert_eq!(reply.status, 200, "{:?}", reply.body),
                    false => drop(reply.problem(422, "request_too_costly")),
                }
            }
        }
    }

    #[tokio::test]
    async fn the_search_for_the_main_text_is_charged_by_its_steps() {
        let settings = ServerSettings { request_cost_max: 10_000, ..ServerSettings::default() };
        let app = App::with_server(settings).await;
        let page = "<div>".repeat(90) + &"<p>a, b".repeat(10_000);
        for path in ["/documents?id=a", "/similar?limit=1"] {
            let main = app.post(&format!("{path}&extract=main"), "text/html", page.clone()).await;
            main.problem(422, "request_too_costly");
            let text = app.post(path, "text/html", page.clone()).await;
            assert!(text.status.is_success(), "{:?}", text.body);
        }
    }

    #[tokio::test]
    async fn a_client_that_disconnects_leaves_nothing_behind() {
        let app = App::new().await;
        let begun = stream::iter([Ok::<_, Infallible>(Bytes::from("<p>One two"))]);
        let body = Body::from_stream(begun.chain(stream::pending()));
        let mut posting =
            Box::pin(app.router.clone().oneshot(post("/documents?id=a", "text/html", body)));
        assert!(posting.as_mut().now_or_never().is_none(), "the body has not ended");
        assert!(reserved(&app) > 0);
        drop(posting);
        assert_eq!(reserved(&app), 0);

        // The extraction goes on, and its result is dropped.
        for number in 0.. {
            let path = format!("/documents?id={number}");
            let request = post(&path, "text/html", article("One").repeat(50));
            let mut posting = Box::pin(app.router.clone().oneshot(request));
            if posting.as_mut().now_or_never().is_some() {
                continue;
            }
            drop(posting);
            while reserved(&app) > 0 {
                tokio::task::yield_now().await;
            }
            let gone = app.get(&format!("/documents/{number}")).await;
            gone.problem(404, "document_not_found");
            break;
        }
    }
}
