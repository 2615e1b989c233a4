use serde_json::{Value, json};

use crate::app::{App, text};

async fn app_with_groups(app: App) -> App {
    let text = |n: usize| json!({"id": format!("near {n}"), "text": text(n)});
    app.add(&(0..5).map(text).collect::<Vec<_>>()).await;
    let far = |n: usize| json!({"id": format!("far {n}"), "tokens": [format!("{n}")]});
    app.add(&(0..5).map(far).collect::<Vec<_>>()).await;
    app.add(&[json!({"id": "far copy", "tokens": ["0"]})]).await;
    app
}

#[tokio::test]
async fn recall_is_measured_against_a_full_scan() {
    let app = app_with_groups(App::new().await).await;
    let gauge = "akin_recall_measured{collection=\"default\"} 1";
    let metrics = async || String::from_utf8(app.get("/metrics").await.body.to_vec()).unwrap();
    assert!(!metrics().await.contains(gauge), "nothing was measured yet");

    let mut recall = app.get("/recall?sample=100").await.json();
    let took = recall.as_object_mut().unwrap().remove("took_us").unwrap();
    assert!(took.is_u64());
    let expected_recall = recall.as_object_mut().unwrap().remove("expected_recall").unwrap();
    assert!(expected_recall.as_f64().unwrap() > 0.99);
    // Each of five with four others, and each of two copies with the other.
    let expected = json!({
        "threshold": 0.8, "sampled": 11, "left_out": 0, "documents": 11,
        "pairs": 22, "recall": 1.0, "pairs_unequal": 20, "recall_unequal": 1.0, "precision": 1.0,
    });
    assert_eq!(recall, expected);
    assert!(metrics().await.contains(gauge));
    assert!(metrics().await.contains("akin_precision_measured{collection=\"default\"} 1"));
}

#[tokio::test]
async fn threshold_and_sample_are_parameters() {
    let app = app_with_groups(App::new().await).await;
    let recall = app.get("/collections/default/recall?threshold=1&sample=3").await.json();
    assert_eq!((&recall["threshold"], &recall["sampled"]), (&json!(1.0), &json!(3)));
    assert_eq!(recall["pairs_unequal"], 0);
    assert_eq!(recall.get("recall_unequal"), None, "there is no share of nothing");
    let metrics = app.get("/metrics").await;
    let text = String::from_utf8(metrics.body.to_vec()).unwrap();
    assert!(!text.contains("akin_recall_measured{"), "that was not the collection's threshold");

    let empty = App::new().await.get("/recall").await.json();
    let shown = [&empty["sampled"], &empty["documents"], &empty["pairs"], &empty["recall"]];
    assert_eq!(shown, [&json!(0), &json!(0), &json!(0), &Value::Null]);
}

#[tokio::test]
async fn a_sample_has_a_limit() {
    let app = app_with_groups(App::new().await).await;
    for (query, detail) in [
        ("sample=0", "'sample' must be 1..=1000"),
        ("sample=1001", "'sample' must be 1..=1000"),
        ("sample=all", "'sample' is wrong: invalid value: string \"all\", expected a whole number"),
        ("mode=exact", "takes only sample, threshold"),
    ] {
        let problem = app.get(&format!("/recall?{query}")).await.problem(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{query}: {problem}");
    }
    assert_eq!(app.get("/recall").await.json()["sampled"], 11);
}
