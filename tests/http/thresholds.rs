//! Collections that are indexed for thresholds from `scheme.threshold_min` up.

use serde_json::{Value, json};

use crate::app::{App, ids, text};
use crate::store_under_test::is_local;

const FEW: &str = "/collections/few";

fn scheme(least: f64) -> Value {
    json!({"scheme": {"threshold_min": least}, "sketch": {"seed": 0}})
}

/// Texts that resemble the text `near 0` less and less.
async fn app() -> App {
    let app = App::new().await;
    assert_eq!(app.put_json(FEW, scheme(0.8)).await.status, 201);
    let document = |n: usize| json!({"id": format!("near {n}"), "text": text(n)});
    let documents: Vec<_> = (0..20).map(document).collect();
    for path in ["/documents", "/collections/few/documents"] {
        let reply = app.post_json(path, Value::from(documents.clone())).await;
        assert_eq!(reply.status, 200, "{:?}", reply.body);
    }
    app
}

#[tokio::test]
async fn lookups_from_the_lowest_threshold_up_are_those_of_all_keys() {
    let app = app().await;
    for threshold in [0.8, 0.9, 1.0] {
        for n in 0..20 {
            let query = format!("similar?id=near%20{n}&threshold={threshold}");
            let few = app.get(&format!("{FEW}/{query}")).await.json();
            let all = app.get(&format!("/{query}")).await.json();
            assert_eq!(few["matches"], all["matches"]);
            assert_eq!(few["expected_recall"], all["expected_recall"]);
        }
    }
    let curve = app.get(&format!("{FEW}/curve")).await.json();
    assert_eq!((&curve["bands"], &curve["keys_probed"]), (&json!(9), &json!(9)));
    let all = app.get("/curve").await.json();
    let [few, all] = [curve, all].map(|curve| curve["bytes_per_document"].as_f64().unwrap());
    assert!(few < 0.6 * all, "{few} {all}");
}

#[tokio::test]
async fn a_lookup_by_keys_below_the_lowest_threshold_is_refused_with_what_to_set() {
    let app = app().await;
    let low = "threshold must be at least 0.8, not 0.6: scheme.threshold_min";
    let is_refused = |problem: Value| {
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with(low), "{detail}");
        for remedy in ["mode=exact", "k finds", "reindex"] {
            assert!(detail.contains(remedy), "{detail}");
        }
    };
    for query in ["similar?id=near%200&threshold=0.6", "recall?threshold=0.6"] {
        let reply = app.get(&format!("{FEW}/{query}")).await;
        is_refused(reply.problem(400, "invalid_parameter"));
    }
    for mode in ["verified", "estimated"] {
        let probe = json!({"text": text(0), "threshold": 0.6, "mode": mode});
        let reply = app.post_json(&format!("{FEW}/similar"), probe).await;
        is_refused(reply.problem(400, "invalid_parameter"));
    }
    let added = json!({"id": "new", "text": text(1)});
    let reply = app.post_json(&format!("{FEW}/documents?threshold=0.6"), &added).await;
    is_refused(reply.problem(400, "invalid_parameter"));
    let missing = app.get(&format!("{FEW}/documents/new")).await;
    missing.problem(404, "document_not_found");
    let kept = app.post_json(&format!("{FEW}/documents?threshold=0.6&check=false"), &added).await;
    assert_eq!(kept.status, 201, "a document that is not compared has no threshold");
}

#[tokio::test]
async fn work_without_the_index_goes_below_the_lowest_threshold() {
    let app = app().await;
    for query in ["similar?id=near%200&threshold=0.3&mode=exact", "similar?id=near%200&k=15"] {
        let few = app.get(&format!("{FEW}/{query}")).await.json();
        let all = app.get(&format!("/{query}")).await.json();
        assert_eq!(ids(&few), ids(&all), "{query}");
        assert!(ids(&few).len() >= 15, "{query}");
    }
    let pairs = async |path: &str| app.get(path).await.lines();
    let few = pairs("/collections/few/pairs?threshold=0.5&mode=verified").await;
    let all = pairs("/pairs?threshold=0.5&mode=verified").await;
    let summary = |lines: &[Value]| lines.last().unwrap()["expected_recall"].clone();
    assert_eq!((few.len(), summary(&few)), (all.len(), summary(&all)));
}

#[tokio::test]
async fn clusters_are_kept_at_indexed_thresholds_only() {
    let app = App::new().await;
    let mut settings = scheme(0.8);
    settings["clusters"] = json!({"threshold": 0.6});
    let problem = app.put_json(FEW, &settings).await.problem(422, "invalid_request");
    let fault = "threshold must be at least the 0.8 that the index covers, not 0.6";
    assert_eq!(problem["errors"][0], json!({"pointer": "/clusters", "detail": fault}));
    settings["scheme"]["exact_from"] = json!(0.5);
    let status = if is_local() { 201 } else { 501 };
    assert_eq!(app.put_json(FEW, &settings).await.status, status);
}
