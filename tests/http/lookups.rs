use serde_json::{Value, json};

use crate::app::{App, ids, text};

async fn app_with_three() -> App {
    let app = App::new().await;
    app.add(&[
        json!({"id": "a", "text": text(0), "metadata": {"site": 1}}),
        json!({"id": "b", "text": text(100)}),
        json!({"id": "far", "text": "nothing that the others have in common with it"}),
    ])
    .await;
    app
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_stored_document_is_looked_up_without_itself() {
    let app = app_with_three().await;
    let answer = app.get("/similar?id=b").await.json();
    assert_eq!(ids(&answer), ["a"]);
    let mut fields = keys(&answer);
    fields.sort_unstable();
    let expected = [
        "candidates",
        "expected_recall",
        "found_by",
        "matches",
        "mode",
        "more",
        "threshold",
        "took_us",
        "truncated",
    ];
    assert_eq!(fields, expected);
    assert_eq!((&answer["mode"], &answer["threshold"]), (&json!("verified"), &json!(0.8)));

    let found = &answer["matches"][0];
    let mut fields = keys(found);
    fields.sort_unstable();
    let expected = [
        "containment",
        "estimated",
        "exact",
        "id",
        "keys_shared",
        "resemblance",
        "shared",
        "union",
    ];
    assert_eq!(fields, expected);
    assert_eq!(found["resemblance"], found["exact"]);
    let (shared, union) = (found["shared"].as_f64().unwrap(), found["union"].as_f64().unwrap());
    assert_eq!(found["exact"], json!(shared / union));
    assert_eq!(keys(&found["containment"]), ["of_match", "of_probe"]);
    let with = app.get("/similar?id=b&include=metadata").await.json();
    assert_eq!(with["matches"][0]["metadata"], json!({"site": 1}));
}

#[tokio::test]
async fn an_estimate_does_not_claim_to_be_exact() {
    let app = app_with_three().await;
    let answer = app.get("/similar?id=b&mode=estimated&threshold=0.7").await.json();
    assert_eq!((&answer["mode"], &answer["threshold"]), (&json!("estimated"), &json!(0.7)));
    let found = &answer["matches"][0];
    assert_eq!(found["resemblance"], found["estimated"]);
    for absent in ["exact", "containment", "shared", "union"] {
        assert_eq!(found.get(absent), None);
    }
}

#[tokio::test]
async fn posted_probes_are_looked_up_and_not_stored() {
    let app = app_with_three().await;
    let by_text = app.post_json("/similar", json!({"text": text(0)})).await.json();
    assert_eq!(ids(&by_text), ["a", "b"]);
    let limited = app.post_json("/similar?limit=1", json!({"text": text(0)})).await.json();
    assert_eq!(ids(&limited), ["a"]);
    let plain = app.post("/similar", "text/plain", text(0)).await.json();
    assert_eq!(ids(&plain), ["a", "b"]);
    let by_id = app.post_json("/similar", json!({"id": "a"})).await.json();
    assert_eq!(ids(&by_id), ["b"]);
    let document = json!({"text": text(0), "metadata": {"of": "no consequence"}});
    assert_eq!(ids(&app.post_json("/similar", document).await.json()), ["a", "b"]);
    assert_eq!(app.get("/documents").await.json()["ids"], json!(["a", "b", "far"]));
}

#[tokio::test]
async fn probes_are_answered_in_order() {
    let app = app_with_three().await;
    let probes = json!([{"id": "far"}, {"text": text(0)}, {"tokens": ["unheard of"]}]);
    let answers = app.post_json("/similar", probes).await.json();
    let answers: Vec<_> = answers.as_array().unwrap().iter().map(ids).collect();
    assert_eq!(answers, [&[][..], &["a", "b"], &[]]);
    assert_eq!(app.post_json("/similar", json!([])).await.json(), json!([]));
}

#[tokio::test]
async fn matches_come_in_pages_with_what_is_asked_for() {
    let app = App::new().await;
    for (at, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let document = json!({"id": id, "text": text(at), "metadata": {"at": at}});
        app.post_json("/documents", document).await;
    }
    let all = app.get("/similar?id=a").await.json();
    assert_eq!((ids(&all), &all["more"]), (vec!["b", "c", "d"], &json!(false)));
    let found = &all["matches"][0];
    assert_eq!((&found["text"], &found["metadata"]), (&Value::Null, &Value::Null));

    let second = app.get("/similar?id=a&limit=1&offset=1&include=text").await.json();
    assert_eq!((ids(&second), &second["more"]), (vec![ids(&all)[1]], &json!(true)));
    let found = &second["matches"][0];
    assert_eq!((&found["text"], &found["metadata"]), (&json!(text(2)), &Value::Null));

    let probe = json!({"text": text(0), "offset": 3, "include": ["text", "metadata"]});
    let last = &app.post_json("/similar", probe).await.json();
    assert_eq!(ids(last), ["d"]);
    assert_eq!(
        (&last["matches"][0]["text"], &last["matches"][0]["metadata"]["at"]),
        (&json!(text(3)), &json!(3))
    );
    let beyond = app.get("/similar?id=a&offset=100").await.json();
    assert_eq!((ids(&beyond).len(), &beyond["more"]), (0, &json!(false)));
    let problem =
        app.get("/similar?id=a&offset=9999&limit=2").await.problem(400, "invalid_parameter");
    assert!(problem["detail"].as_str().unwrap().contains("'offset' must be at most"), "{problem}");
}

#[tokio::test]
async fn tokens_and_fields_come_as_they_were_posted() {
    let app = App::new().await;
    let tokens = json!(["x", ["y", 3]]);
    for id in ["a", "b"] {
        app.post_json("/documents", json!({"id": id, "tokens": tokens})).await;
    }
    let found = &app.get("/similar?id=a&include=text").await.json()["matches"][0];
    assert_eq!((&found["tokens"], &found["text"]), (&tokens, &Value::Null));
}

#[tokio::test]
async fn two_documents_are_compared() {
    let app = app_with_three().await;
    let stored = app.get("/resemblance?a=a&b=b").await.json();
    let posted = json!({"a": {"id": "a"}, "b": {"text": text(100)}});
    let posted = app.post_json("/resemblance", posted).await.json();
    for comparison in [&stored, &posted] {
        let mut fields = keys(comparison);
        fields.sort_unstable();
        let expected = [
            "containment",
            "estimated",
            "exact",
            "kind",
            "probability_candidate",
            "probability_reported",
            "took_us",
        ];
        assert_eq!(fields, expected);
        assert_eq!(comparison["kind"], "sets");
        let exact = &comparison["exact"];
        let ratio = exact["intersection"].as_f64().unwrap() / exact["union"].as_f64().unwrap();
        assert_eq!(exact["value"], json!(ratio));
        assert_eq!(comparison["estimated"]["interval"].as_array().unwrap().len(), 2);
        assert_eq!(comparison["estimated"]["slots"], 128);
        assert_eq!(keys(&comparison["containment"]), ["a_in_b", "b_in_a"]);
    }
    assert_eq!(stored["exact"], posted["exact"]);
}

#[tokio::test]
async fn a_comparison_is_explained_on_request() {
    let app = app_with_three().await;
    let explained = app.get("/resemblance?a=a&b=b&explain=true").await.json();
    let explanation = &explained["explanation"];
    for side in ["a", "b"] {
        let range = &explanation[side]["shared"][0];
        assert!(range[0].as_u64().unwrap() < range[1].as_u64().unwrap(), "{explanation}");
        assert!(explanation[side]["differing"].is_array());
    }
    assert!(explanation["bands_shared"].is_array());
    let pair = json!({"a": {"id": "a"}, "b": {"id": "b"}});
    let posted = app.post_json("/resemblance?explain=true", pair).await.json();
    assert_eq!(&posted["explanation"], explanation);
}

#[tokio::test]
async fn ids_that_are_not_stored_are_not_found() {
    let app = app_with_three().await;
    for path in ["/similar?id=x", "/resemblance?a=a&b=x", "/documents/x"] {
        let problem = app.get(path).await.problem(404, "document_not_found");
        assert!(problem["detail"].as_str().unwrap().contains("'x'"), "{problem}");
    }
}

#[tokio::test]
async fn a_probe_that_fails_does_not_fail_the_others() {
    let app = app_with_three().await;
    let probes = json!([{"id": "x"}, {"id": "a"}, {"text": " "}, {"id": "b", "filter": "@."}]);
    let reply = app.post_json("/similar", probes).await;
    let answers = reply.json();
    assert_eq!((reply.status.as_u16(), answers.as_array().unwrap().len()), (200, 4));
    assert_eq!(ids(&answers[1]), ["b"]);
    for (at, status, code, pointer) in [
        (0, 404, "document_not_found", "/0"),
        (2, 422, "empty_document", "/2"),
        (3, 422, "invalid_request", "/3/filter"),
    ] {
        assert_eq!(keys(&answers[at]), ["error"], "{answers}");
        let error = &answers[at]["error"];
        assert_eq!((&error["status"], &error["code"]), (&json!(status), &json!(code)));
        assert_eq!(error["errors"][0]["pointer"], pointer);
        assert_eq!(error["request_id"], reply.header("x-request-id"));
    }
}

#[tokio::test]
async fn options_stand_in_the_query_or_in_the_probe() {
    let app = app_with_three().await;
    let text = text(0);
    let one = app.post_json("/similar", json!({"text": text, "limit": 1})).await.json();
    assert_eq!((ids(&one), &one["more"]), (vec!["a"], &json!(true)));
    let options = json!({
        "text": text, "threshold": 0.7, "mode": "exact", "filter": "@.site == 1",
        "stored_after": "2000-01-01T00:00:00Z", "stored_before": "2999-01-01T00:00:00Z",
    });
    let answer = app.post_json("/similar", &options).await.json();
    assert_eq!(ids(&answer), ["a"]);
    assert_eq!((&answer["threshold"], &answer["mode"]), (&json!(0.7), &json!("exact")));
    let same = app.post_json("/similar?threshold=0.7&limit=2", &options).await.json();
    assert_eq!(ids(&same), ["a"]);

    let probes = json!([{"text": text, "limit": 1}, {"text": text}, {"text": text, "limit": 2}]);
    let answers = app.post_json("/similar?limit=2", &probes).await.json();
    assert_eq!(answers[0]["error"]["errors"][0]["pointer"], "/0/limit");
    assert_eq!((ids(&answers[1]), ids(&answers[2])), (vec!["a", "b"], vec!["a", "b"]));

    for (query, body, pointer, detail) in [
        ("?mode=exact", json!({"id": "a", "mode": "verified"}), "/mode", "in the query"),
        ("", json!({"id": "a", "limit": 10_001}), "/limit", "must be 1..=10000, not 10001"),
        ("", json!({"id": "a", "limit": 0}), "/limit", "nonzero"),
        ("", json!({"id": "a", "threshold": 2}), "/threshold", "at most 1"),
        ("", json!({"id": "a", "filter": "@."}), "/filter", "is not a filter"),
        ("", json!({"id": "a", "stored_after": "now"}), "/stored_after", "RFC 3339"),
        ("", json!({"id": "a", "limt": 1}), "/limt", "did you mean `limit`?"),
    ] {
        let reply = app.post_json(&format!("/similar{query}"), &body).await;
        let problem = reply.problem(422, "invalid_request");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
    }
}

#[tokio::test]
async fn an_exact_lookup_reports_how_candidates_were_found() {
    let app = app_with_three().await;
    let answer = app.get("/similar?id=b&mode=exact").await.json();
    assert_eq!(ids(&answer), ["a"]);
    assert_eq!((&answer["mode"], &answer["found_by"]), (&json!("exact"), &json!("scan")));
    assert_eq!((&answer["candidates"], &answer["expected_recall"]), (&json!(3), &json!(1.0)));
    assert_eq!(app.get("/similar?id=b").await.json()["found_by"], "keys");
}

#[tokio::test]
async fn in_a_prefix_collection_lookups_are_exact() {
    let app = App::new().await;
    let settings = json!({"scheme": {"kind": "prefix", "exact_from": 0.6}});
    let made = app.put_json("/collections/c", settings).await.json();
    assert_eq!(made["settings"]["scheme"]["exact_from"], 0.6);
    let documents = json!([{"id": "a", "text": text(0)}, {"id": "b", "text": text(100)}]);
    app.post_json("/collections/c/documents", documents).await;
    for (query, mode, found_by) in [
        ("", "exact", "prefix"),
        ("&mode=verified", "verified", "prefix"),
        ("&threshold=0.5", "exact", "scan"),
    ] {
        let answer = app.get(&format!("/collections/c/similar?id=b{query}")).await.json();
        assert_eq!(ids(&answer), ["a"], "{query}");
        assert_eq!((&answer["mode"], &answer["found_by"]), (&json!(mode), &json!(found_by)));
        assert_eq!(answer["expected_recall"], 1.0);
    }
    let refused = app.get("/collections/c/similar?id=b&mode=estimated").await;
    let problem = refused.problem(422, "unsupported_mode");
    assert!(problem["detail"].as_str().unwrap().starts_with("mode must be"), "{problem}");
}

#[tokio::test]
async fn settings_that_a_prefix_collection_cannot_have_are_named() {
    let app = App::new().await;
    for (scheme, fault) in [
        (json!({"kind": "prefix", "bands": 3}), "no bands or rows"),
        (json!({"kind": "prefix", "exact_from": 0.9}), "exact_from must be at most"),
        (json!({"exact_from": 0}), "above 0 and at most 1"),
    ] {
        let reply = app.put_json("/collections/c", json!({"scheme": scheme})).await;
        let problem = reply.problem(422, "invalid_request");
        assert!(problem.to_string().contains(fault), "{problem}");
    }
}

#[tokio::test]
async fn a_probe_with_an_id_and_a_text_is_looked_up_by_its_text_if_the_id_is_not_stored() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": text(0)}), json!({"id": "far", "text": "far away"})]).await;
    let ids = |answer: &Value| -> Vec<Value> {
        let matches = answer["matches"].as_array().unwrap().iter();
        matches.map(|found| found["id"].clone()).collect()
    };
    let unknown = json!({"id": "not stored", "text": text(100)});
    let stored = json!({"id": "a", "text": "far away"});
    assert_eq!(ids(&app.post_json("/similar", &unknown).await.json()), ["a"]);
    let by_set = app.post_json("/similar", &stored).await.json();
    assert_eq!(ids(&by_set), [] as [Value; 0], "the stored text counts");
    let answers = app.post_json("/similar?k=1", json!([unknown, stored])).await.json();
    assert_eq!(ids(&answers[0]), ["a"]);
    assert_eq!(ids(&answers[1]), [] as [Value; 0], "of a set that shares nothing");
    app.post_json("/similar", json!({"id": "not stored"})).await.problem(404, "document_not_found");
    let two = json!({"id": "a", "text": "a", "tokens": ["a"]});
    app.post_json("/similar", two).await.problem(422, "invalid_request");
    let pair = json!({"a": unknown, "b": {"id": "a"}});
    app.post_json("/resemblance", pair).await.problem(422, "invalid_request");
}
