//! What requests cost: beyond `request_cost_max` they are refused, and told what to ask instead.

use akin::http::ServerSettings;
use serde_json::{Value, json};

use crate::app::{App, text};

const REFUSED: &str = "request_too_costly";

/// Sixty documents that resemble each other.
async fn crowd(request_cost_max: u64) -> App {
    let settings = ServerSettings { request_cost_max, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let document = |at: usize| {
        let metadata = json!({"n": at, "long": "x".repeat(2_000)});
        json!({"id": format!("d{at}"), "text": text(at), "metadata": metadata})
    };
    app.add(&(0..60).map(document).collect::<Vec<_>>()).await;
    app
}

fn probes(count: usize) -> Value {
    (0..count).map(|_| json!({"text": text(0)})).collect()
}

#[tokio::test]
async fn a_lookup_over_the_limit_is_refused() {
    let app = crowd(100).await;
    assert_eq!(app.get("/similar?id=d0&limit=5").await.status, 200);
    let problem = app.get("/similar?id=d0&limit=100").await.problem(422, REFUSED);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("may cost 100 (server.request_cost_max)"), "{detail}");
    assert!(detail.contains("fewer probes at a time, a smaller limit"), "{detail}");
    app.post_json("/similar?limit=100", &probes(1)[0]).await.problem(422, REFUSED);
    let unlimited = crowd(0).await;
    assert_eq!(unlimited.get("/similar?id=d0&limit=100").await.status, 200);
}

#[tokio::test]
async fn probes_over_the_cost_limit_are_refused() {
    let app = crowd(300).await;
    let answers = app.post_json("/similar?limit=3", probes(20)).await.json();
    let answers = answers.as_array().unwrap();
    // A cheap probe may still fit after a costly one was refused.
    let is_answered = |answer: &&Value| answer["matches"].is_array();
    let answered = answers.iter().filter(is_answered).count();
    assert!((2..19).contains(&answered), "{answered} answered");
    assert!(is_answered(&&answers[0]));
    for refused in answers.iter().filter(|answer| !is_answered(answer)) {
        assert_eq!(refused["error"]["code"], REFUSED);
    }
    let rest = probes(20 - answered);
    assert_eq!(app.post_json("/similar?limit=3", rest).await.json()[0]["more"], true);
}

#[tokio::test]
async fn counts_of_tokens_are_charged_before_they_are_elements() {
    let app = crowd(5_000).await;
    let settings = json!({"shingles": {"multiset": true}});
    assert_eq!(app.put_json("/collections/bags", settings).await.status, 201);
    let counted = |count: usize| json!({"tokens": [["a", count], ["b", 1]]});
    let path = "/collections/bags/similar";
    assert_eq!(app.post_json(path, counted(1_000)).await.status, 200);
    app.post_json(path, counted(900_000)).await.problem(422, REFUSED);
}

#[tokio::test]
async fn a_measurement_of_recall_is_charged_before_its_scan() {
    let app = crowd(100).await;
    let problem = app.get("/recall?sample=32").await.problem(422, REFUSED);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("a sample of 32 with 60 documents"), "{detail}");
    assert!(detail.contains("ask for sample=31 at most, or let the server"), "{detail}");
    for path in ["/recall?sample=31", "/recall"] {
        assert_eq!(app.get(path).await.json()["sampled"], 31, "{path}");
    }
    assert_eq!(crowd(0).await.get("/recall").await.json()["sampled"], 60);
    let problem = crowd(5).await.get("/recall").await.problem(422, REFUSED);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.ends_with("let the server measure (storage.recall_interval_s)"), "{detail}");
}

#[tokio::test]
async fn scans_filters_comparisons_and_lists_are_charged() {
    let app = crowd(20).await;
    for path in [
        "/similar?id=d0&filter=@.n%3E=0&limit=100",
        "/similar?id=d0&mode=exact",
        "/documents?filter=@.long==1&count=true",
    ] {
        app.get(path).await.problem(422, REFUSED);
    }
    let ids: Vec<String> = (0..60).map(|at| format!("d{at}")).collect();
    app.post_json("/collapse", json!({ "ids": ids })).await.problem(422, REFUSED);
    let words = |start: usize| (start..start + 600).map(|at| format!("w{at}"));
    let long = |start| words(start).collect::<Vec<_>>().join(" ");
    let pair = json!({"a": {"text": long(0)}, "b": {"text": long(9)}, "measures": ["edit"]});
    app.post_json("/resemblance", pair).await.problem(422, REFUSED);
    assert_eq!(app.get("/pairs").await.status, 200, "it has a limit of its own");
}

/// The bytes of the metadata are the same, and the time is not.
#[tokio::test]
async fn a_filter_costs_by_the_values_that_its_terms_visit() {
    let settings = ServerSettings { request_cost_max: 10_000, ..ServerSettings::default() };
    let app = App::with_server(settings).await;
    let metadata = json!({"values": vec![json!([0]); 2_000]});
    let document =
        |at: usize| json!({"id": format!("d{at}"), "text": text(at), "metadata": metadata});
    app.add(&(0..60).map(document).collect::<Vec<_>>()).await;
    let ask = async |filter: &str| {
        let filter = filter.replace(' ', "%20").replace('[', "%5B").replace(']', "%5D");
        let filter = filter.replace('?', "%3F").replace('|', "%7C");
        app.get(&format!("/similar?id=d0&filter={filter}")).await
    };
    assert_eq!(ask("@.values").await.status, 200);
    assert_eq!(ask("@.values[?@[0] == 1]").await.status, 200);
    let terms = vec!["@.values[?@[0] == 1]"; 30].join(" || ");
    let problem = ask(&terms).await.problem(422, REFUSED);
    assert!(problem["detail"].as_str().unwrap().contains("narrower filter"), "{problem}");
}
