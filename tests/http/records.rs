//! Collections of records.

use serde_json::{Value, json};

use crate::app::App;

fn settings() -> Value {
    json!({
        "shingles": {"unit": "field", "equivalents": [["william", "bill"]]},
        "scheme": {"kind": "fields", "fields": ["name", "phone"], "points": 150},
    })
}

async fn people() -> App {
    let app = App::new().await;
    let made = app.put_json("/collections/people", settings()).await;
    assert_eq!(made.status, 201, "{:?}", made.body);
    assert_eq!(made.json()["settings"]["scheme"]["fields"], json!(["name", "phone"]));
    app
}

const DOCUMENTS: &str = "/collections/people/documents";
const SIMILAR: &str = "/collections/people/similar";
const RESEMBLANCE: &str = "/collections/people/resemblance";

fn bill() -> Value {
    json!({"id": "bill", "fields": {"phone": "555-1234", "name": "Bill Smith"}, "metadata": {"n": 1}})
}

#[tokio::test]
async fn a_record_is_stored_found_and_returned() {
    let app = people().await;
    assert_eq!(app.post_json(DOCUMENTS, bill()).await.status, 201);
    let near = json!({"id": "william", "fields": {"name": "William Smyth", "phone": "555 1234"}});
    let added = app.post_json(DOCUMENTS, &near).await.json();
    assert_eq!(added["shingles"], 2);
    let expected = json!([{
        "id": "bill", "resemblance": 0.98, "points": 196, "field_points": {"name": 96, "phone": 100},
        "exact": 1.0 / 3.0, "shared": 1, "union": 3,
        "containment": {"of_probe": 0.5, "of_match": 0.5}, "keys_shared": 1,
    }]);
    assert_eq!(added["duplicates"], expected);

    let answer = app.get(&format!("{SIMILAR}?id=bill")).await.json();
    assert_eq!(answer["matches"][0]["id"], "william");
    assert_eq!((&answer["points"], answer.get("threshold")), (&json!(150), None));
    let strict = app.get(&format!("{SIMILAR}?id=bill&points=200")).await.json();
    assert_eq!((&strict["matches"], &strict["points"]), (&json!([]), &json!(200)));
    let probes = json!([{"fields": {"name": "bill  SMITH"}}, {"fields": {"phone": "1"}}]);
    let answers = app.post_json(&format!("{SIMILAR}?points=100"), probes).await.json();
    assert_eq!(answers[0]["matches"][0]["points"], 100);
    assert_eq!(answers[0]["matches"][0]["resemblance"], 0.5, "a field is not in the probe");
    assert_eq!(answers[1]["matches"], json!([]));

    let stored = app.get(&format!("{DOCUMENTS}/bill")).await.json();
    assert_eq!((&stored["fields"], stored.get("text")), (&bill()["fields"], None));
    let exported = app.get("/collections/people/export").await.lines();
    assert_eq!(exported, [bill(), near.clone()]);
    assert_eq!(app.post_json(DOCUMENTS, &exported[0]).await.json()["status"], "unchanged");
    let path = format!("{DOCUMENTS}?on_duplicate=skip&points=190");
    let skipped = app.post_json(&path, json!({"id": "c", "fields": near["fields"]})).await;
    assert_eq!(skipped.json()["status"], "skipped");
}

#[tokio::test]
async fn records_are_compared_field_by_field() {
    let app = people().await;
    app.post_json(DOCUMENTS, bill()).await;
    let pair = json!({"a": {"id": "bill"}, "b": {"fields": {"name": "William Smyth"}}});
    let comparison = app.post_json(&format!("{RESEMBLANCE}?explain=true"), &pair).await.json();
    assert_eq!(
        (&comparison["points"], &comparison["field_points"]),
        (&json!(96), &json!({"name": 96}))
    );
    let fields = json!([
        {"field": "name", "a": "william smith", "b": "william smyth", "points": 96},
        {"field": "phone", "a": "555 1234"},
    ]);
    assert_eq!(comparison["explanation"]["fields"], fields);
    let plain = app.post_json(RESEMBLANCE, &pair).await.json();
    assert_eq!(plain.get("explanation"), None);
    let unknown = json!({"a": {"id": "bill"}, "b": {"fields": {"fax": "1"}}});
    let problem = app.post_json(RESEMBLANCE, unknown).await.problem(422, "unknown_field");
    assert_eq!(problem.get("errors"), None);
}

#[tokio::test]
async fn faults_of_records_are_named() {
    let app = people().await;
    let unknown = json!({"fields": {"name": "x", "e/mail": "y"}});
    let problem = app.post_json(DOCUMENTS, &unknown).await.problem(422, "unknown_field");
    assert_eq!(problem["errors"][0]["pointer"], "/fields/e~1mail");
    assert!(problem["detail"].as_str().unwrap().contains("only name, phone"), "{problem}");
    let answers = app.post_json(SIMILAR, json!([bill()["fields"], unknown])).await.json();
    assert_eq!(answers[0]["error"]["code"], "invalid_request");
    let probes = json!([{"fields": bill()["fields"]}, unknown]);
    let answers = app.post_json(SIMILAR, probes).await.json();
    assert!(answers[0]["matches"].is_array(), "{answers}");
    assert_eq!(answers[1]["error"]["code"], "unknown_field");
    assert_eq!(answers[1]["error"]["errors"][0]["pointer"], "/1/fields/e~1mail");
    let long_name = json!({"fields": {"x".repeat(100_000): "y"}});
    let problem = app.post_json(DOCUMENTS, long_name).await.problem(422, "unknown_field");
    assert_eq!(problem["errors"][0]["pointer"], "/fields");
    let large = json!({"fields": {"name": "x".repeat(5_000)}});
    let problem = app.post_json(DOCUMENTS, large).await.problem(422, "field_too_large");
    assert_eq!(problem["errors"][0]["pointer"], "/fields/name");
    let twice = r#"{"fields": {"name": "x", "name": "y"}}"#;
    let problem = app.post_json(DOCUMENTS, twice).await.problem(422, "invalid_document");
    assert!(problem["detail"].as_str().unwrap().contains("comes twice"), "{problem}");
    let number = json!({"fields": {"name": 7}});
    let problem = app.post_json(DOCUMENTS, number).await.problem(422, "invalid_document");
    assert_eq!(problem["errors"][0]["pointer"], "/fields/name");
    app.post_json(DOCUMENTS, json!({"fields": {}})).await.problem(422, "empty_document");
    let both = json!({"text": "x", "fields": {"name": "x"}});
    app.post_json(DOCUMENTS, both).await.problem(422, "invalid_document");
}

#[tokio::test]
async fn contents_and_options_of_the_other_kind_are_refused() {
    let app = people().await;
    for other in [json!({"text": "a b c"}), json!({"tokens": ["a"]})] {
        app.post_json(DOCUMENTS, &other).await.problem(422, "wrong_content");
        app.post_json(SIMILAR, &other).await.problem(422, "wrong_content");
    }
    app.post(DOCUMENTS, "text/plain", "a b c").await.problem(422, "wrong_content");
    app.post_json("/documents", bill()).await.problem(422, "wrong_content");
    app.post_json("/similar", json!({"fields": {}})).await.problem(422, "wrong_content");

    let lines = format!("{}\n{}\n", bill(), json!({"text": "x"}));
    let lines = app.post(DOCUMENTS, "application/x-ndjson", lines).await.lines();
    assert_eq!((&lines[0]["status"], &lines[1]["status"]), (&json!("created"), &json!("error")));
    assert_eq!(lines[1]["problem"]["code"], "wrong_content");

    let path = format!("{SIMILAR}?id=bill&mode=estimated");
    app.get(&path).await.problem(422, "unsupported_mode");
    for query in ["threshold=0.5", "points=201", "points=0", "points=-1"] {
        let path = format!("{SIMILAR}?id=bill&{query}");
        app.get(&path).await.problem(400, "invalid_parameter");
        let path = format!("{DOCUMENTS}?{query}");
        app.post_json(&path, bill()).await.problem(400, "invalid_parameter");
    }
    app.post_json("/similar?points=1", json!({"text": "x"}))
        .await
        .problem(400, "invalid_parameter");
    app.post_json("/documents?points=1", json!({"text": "x"}))
        .await
        .problem(400, "invalid_parameter");
}

#[tokio::test]
async fn inconsistent_settings_are_refused() {
    let app = App::new().await;
    let refused = |settings: Value| {
        let app = &app;
        async move {
            let reply = app.put_json("/collections/people", settings).await;
            reply.problem(422, "invalid_request")["errors"].clone()
        }
    };
    let errors = refused(json!({"shingles": {"unit": "field"}})).await;
    assert_eq!(errors[0]["pointer"], "/scheme");
    let mut without_text = settings();
    without_text["store"] = json!({"text": false});
    assert_eq!(refused(without_text).await[0]["pointer"], "/store");
    let mut others = settings();
    others["scheme"]["fields"] = json!(["a", "a"]);
    others["shingles"]["equivalents"] = json!([["a"]]);
    let errors = refused(others).await;
    assert!(errors[0]["detail"].as_str().unwrap().starts_with("equivalents "), "{errors}");
    assert!(errors[1]["detail"].as_str().unwrap().starts_with("fields "), "{errors}");
    app.put_json("/collections/people", settings()).await;
    let again = app.put_json("/collections/people", settings()).await;
    assert_eq!(again.status, 200);
}

#[tokio::test]
async fn records_survive_a_restart() {
    let app = people().await;
    app.post_json(DOCUMENTS, bill()).await;
    let app = app.restarted().await;
    let probe = json!({"fields": {"name": "WILLIAM SMITH", "phone": "555-1235"}});
    let answer = app.post_json(SIMILAR, probe).await.json();
    assert_eq!(answer["matches"][0]["points"], 196);
}
