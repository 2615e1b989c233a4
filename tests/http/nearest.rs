//! The k most similar documents over HTTP: `GET` and `POST /similar` with `k`.

use akin::http::ServerSettings;
use serde_json::json;

use crate::app::{App, ids, text};

/// `None` over a backend without scans of sketches.
async fn app_with_documents() -> App {
    let app = App::new().await;
    app.add(&[
        json!({"id": "a", "text": text(0), "metadata": {"site": 1}}),
        json!({"id": "b", "text": text(100)}),
        json!({"id": "half", "text": format!("{} and then other words of its own", text(0))}),
        json!({"id": "far", "text": "nothing that the others have in common with it"}),
        json!({"id": "bag", "tokens": ["x", ["y", 3], "z"]}),
    ])
    .await;
    app
}

#[tokio::test]
async fn the_most_similar_documents_are_returned_whatever_the_threshold() {
    let app = app_with_documents().await;
    let answer = app.get("/similar?id=a&k=2&include=metadata").await.json();
    assert_eq!(ids(&answer).len(), 2, "{answer}");
    let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "candidates",
        "expected_recall",
        "floor",
        "found_by",
        "matches",
        "mode",
        "more",
        "took_us",
        "truncated",
    ];
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!((&answer["floor"], &answer["expected_recall"]), (&json!(0.15), &json!(0.999)));
    assert_eq!((&answer["truncated"], &answer["more"]), (&json!(false), &json!(false)));

    let unlike = app.post_json("/similar", json!({"tokens": ["x", "new", "other"], "k": 9})).await;
    let unlike = unlike.json();
    assert_eq!((ids(&unlike), &unlike["found_by"]), (vec!["bag"], &json!("scan")));
    assert_eq!(unlike["matches"][0]["resemblance"], 0.2);
    let filtered = json!({"id": "b", "k": 5, "filter": "@.site == 1"});
    assert_eq!(ids(&app.post_json("/similar", filtered).await.json()), ["a"]);
    let estimated = app.get("/similar?id=a&k=1&mode=estimated").await.json();
    assert_eq!((ids(&estimated).len(), &estimated["floor"]), (1, &json!(0.0)));
}

#[tokio::test]
async fn k_stands_in_the_query_for_all_probes_or_in_a_probe() {
    let app = app_with_documents().await;
    let probes = json!([{"id": "a"}, {"id": "nobody"}, {"text": text(0), "k": 2}, {"id": "far"}]);
    let answers = app.post_json("/similar?k=2", &probes).await.json();
    assert_eq!(ids(&answers[0]).len(), 2, "{answers}");
    assert_eq!(answers[1]["error"]["code"], "document_not_found");
    assert_eq!(ids(&answers[2])[0], "a");
    let other = json!([{"id": "a", "k": 3}, {"id": "a", "threshold": 0.5}]);
    let answers = app.post_json("/similar?k=2", other).await.json();
    assert_eq!(answers[0]["error"]["errors"][0]["pointer"], "/0/k");
    assert_eq!(answers[1]["error"]["errors"][0]["pointer"], "/1/k");
}

#[tokio::test]
async fn k_is_bounded_and_stands_alone() {
    let app = app_with_documents().await;
    for (query, detail) in [
        ("k=0", "nonzero"),
        ("k=10001", "'k' must be 1..=10000, not 10001"),
        ("k=2&threshold=0.5", "'threshold' must not be given with it"),
        ("k=2&limit=2", "'limit' must not be given with it"),
        ("k=2&offset=0", "'offset' must not be given with it"),
        ("k=2&points=3", "'points' must not be given with it"),
        ("k=2&mode=exact", "must not be given with the mode exact"),
    ] {
        let problem =
            app.get(&format!("/similar?id=a&{query}")).await.problem(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
    }
    let posted = app.post_json("/similar", json!({"id": "a", "k": 10_001})).await;
    let problem = posted.problem(422, "invalid_request");
    assert_eq!(problem["errors"][0]["pointer"], "/k");
    app.get("/similar?id=nobody&k=3").await.problem(404, "document_not_found");

    let settings = ServerSettings { request_cost_max: 100, ..ServerSettings::default() };
    let poor = App::with_server(settings).await;
    poor.add(
        &(0..60).map(|at| json!({"id": at.to_string(), "text": text(at)})).collect::<Vec<_>>(),
    )
    .await;
    assert_eq!(poor.get("/similar?id=0&k=2").await.status, 200);
    poor.get("/similar?id=0&k=60").await.problem(422, "request_too_costly");
}

#[tokio::test]
async fn records_are_ranked_by_points() {
    let app = App::new().await;
    let settings = json!({
        "shingles": {"unit": "field"},
        "scheme": {"kind": "fields", "fields": ["name", "phone"], "points": 150},
    });
    assert_eq!(app.put_json("/collections/people", settings).await.status, 201);
    for (id, name, phone) in [
        ("same", "Ada Smith", "555 1234"),
        ("near", "Ada Smyth", "555 1234"),
        ("phone", "Bob Jones", "555 1234"),
        ("none", "Ann Other", "777 9999"),
    ] {
        let document = json!({"id": id, "fields": {"name": name, "phone": phone}});
        app.post_json("/collections/people/documents", document).await;
    }
    let probe = json!({"fields": {"name": "Ada Smith", "phone": "555 1234"}, "k": 3});
    let answer = app.post_json("/collections/people/similar", probe).await.json();
    assert_eq!(ids(&answer), ["same", "near", "phone"]);
    assert_eq!((&answer["points"], answer.get("floor")), (&json!(1), None));
    let two = app.get("/collections/people/similar?id=same&k=1").await.json();
    assert_eq!(ids(&two), ["near"]);
}
