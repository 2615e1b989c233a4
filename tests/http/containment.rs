//! Lookups by containment over HTTP: `GET` and `POST /similar` with `measure=containment`.

use akin::engine::CollectionSettings;
use serde_json::json;

use crate::app::{App, ids, text};

const QUOTE: &str = "All human beings are born free and equal in dignity and rights. They are endowed \
    with reason and conscience and should act towards one another in a spirit of brotherhood.";

fn words(name: &str, count: usize) -> String {
    (0..count).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(" ")
}

/// `None` over a backend without passages.
async fn app_with_texts() -> App {
    let mut settings = CollectionSettings::default();
    settings.passages.words = 13;
    let app = App::with_collection(settings).await;
    app.add(&[
        json!({"id": "essay", "text": format!("{} {QUOTE} {}", words("a", 70), words("b", 30)),
            "metadata": {"n": 1}}),
        json!({"id": "quote", "text": QUOTE}),
        json!({"id": "other", "text": words("c", 60)}),
    ])
    .await;
    app
}

#[tokio::test]
async fn documents_that_contain_the_probe_or_are_contained_are_found() {
    let app = app_with_texts().await;
    let answer = app.get("/similar?id=quote&measure=containment&include=metadata").await.json();
    assert_eq!(ids(&answer), ["essay"]);
    let mut keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let expected = [
        "candidates",
        "chances",
        "found_by",
        "guarantee",
        "matches",
        "mode",
        "more",
        "threshold",
        "took_us",
        "truncated",
    ];
    assert_eq!(keys, expected);
    assert_eq!(answer["guarantee"], json!({"words": 13}));
    assert_eq!((&answer["found_by"], &answer["threshold"]), (&json!("passages"), &json!(0.8)));
    let found = &answer["matches"][0];
    assert_eq!(
        (&found["containment"]["of_probe"], &found["metadata"]),
        (&json!(1.0), &json!({"n": 1}))
    );
    assert!(found["resemblance"].as_f64().unwrap() < 0.4);
    assert_eq!(ids(&app.get("/similar?id=quote&threshold=0.4").await.json()), [""; 0]);

    let of_match = json!({"text": format!("{QUOTE} {}", words("d", 90)), "measure": "containment",
        "of": "match", "threshold": 0.9});
    let answer = app.post_json("/similar", of_match).await.json();
    assert_eq!((ids(&answer), answer.get("chances")), (vec!["quote"], None));
    let probes = json!([{"text": QUOTE}, {"tokens": ["x"]}, {"id": "other"}]);
    let answers = app.post_json("/similar?measure=containment", probes).await.json();
    assert_eq!(ids(&answers[0]), ["quote", "essay"]);
    assert_eq!(answers[1]["error"]["code"], "wrong_content");
    assert_eq!(ids(&answers[2]), [""; 0]);
    let plain = app.post("/similar?measure=containment&limit=1", "text/plain", QUOTE).await.json();
    assert_eq!((ids(&plain), &plain["more"]), (vec!["quote"], &json!(true)));
    let same = app.get("/similar?id=quote&measure=resemblance").await.json();
    assert_eq!(same["found_by"], "keys");
}

#[tokio::test]
async fn options_that_contradict_a_measure_are_refused() {
    let app = App::new().await;
    app.add(&[json!({"id": "quote", "text": QUOTE})]).await;
    for (query, status, code, detail) in [
        ("of=match", 400, "invalid_parameter", "'of' must be given with measure=containment only"),
        (
            "measure=containment&k=3",
            400,
            "invalid_parameter",
            "'measure' must not be given with it",
        ),
        ("measure=cosine", 400, "invalid_parameter", "unknown variant"),
        ("measure=containment&mode=exact", 422, "unsupported_mode", "by containment"),
        ("measure=containment&points=2", 400, "invalid_parameter", "points"),
    ] {
        let problem = app.get(&format!("/similar?id=quote&{query}")).await.problem(status, code);
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
    }
    let body = json!({"id": "quote", "of": "probe"});
    let problem = app.post_json("/similar", body).await.problem(422, "invalid_request");
    assert_eq!(problem["errors"][0]["pointer"], "/of");
}

#[tokio::test]
async fn without_an_index_of_passages_containment_is_refused() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": text(0)})]).await;
    let reply = app.get("/similar?id=a&measure=containment").await;
    reply.problem(422, "passages_off");
}
