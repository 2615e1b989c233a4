use akin::engine::CollectionSettings;
use akin_core::scheme::{Kind, SchemeSettings};
use serde_json::{Value, json};

use crate::app::{App, text};
use crate::store_under_test::is_local;

fn point(curve: &Value, step: usize) -> f64 {
    curve["points"][step]["candidate"].as_f64().unwrap()
}

#[tokio::test]
async fn the_default_curve_is_that_of_the_collection() {
    let app = App::new().await;
    let curve = app.get("/curve").await.json();
    let chosen = [&curve["bands"], &curve["rows"], &curve["slots"], &curve["keys_probed"]];
    assert_eq!(chosen, [&json!(32), &json!(4), &json!(128), &json!(9)]);
    assert_eq!((&curve["kind"], &curve["threshold"]), (&json!("bands"), &json!(0.8)));
    assert_eq!(curve["points"].as_array().unwrap().len(), 101);
    assert!(curve["expected_recall"].as_f64().unwrap() >= 0.99, "{curve}");
    assert!(curve["false_negatives"].as_f64().unwrap() < 0.01);
    assert!((300.0..1_000.0).contains(&curve["bytes_per_document"].as_f64().unwrap()));
    assert_eq!(curve.get("measured_bytes_per_document"), None, "there are none");

    app.add(&[json!({"id": "a", "text": text(0)})]).await;
    let curve = app.get("/curve?threshold=0.9").await.json();
    assert_eq!((&curve["keys_probed"], &curve["threshold"]), (&json!(5), &json!(0.9)));
    let bytes = curve["measured_bytes_per_document"].as_f64();
    assert!(!is_local() || bytes.unwrap() > 128.0, "{curve}");
}

#[tokio::test]
async fn curve_of_a_recall_or_of_bands_and_rows() {
    let app = App::new().await;
    app.add(&[json!({"id": "a", "text": text(0)})]).await;
    let wanted = app.get("/curve?threshold=0.5&recall=0.999").await.json();
    assert!(wanted["expected_recall"].as_f64().unwrap() >= 0.999, "{wanted}");
    assert!(wanted["rows"].as_u64().unwrap() < 4);
    assert_eq!(wanted.get("measured_bytes_per_document"), None, "no document is filed so");
    // The textbook's 20 bands of 5 rows.
    let textbook = app.get("/collections/default/curve?bands=20&rows=5").await.json();
    assert_eq!(textbook["keys_probed"], 20);
    assert!((point(&textbook, 50) - 0.470).abs() < 1e-3);
    assert!((point(&textbook, 80) - 0.9996).abs() < 1e-4);
}

#[tokio::test]
async fn a_curve_uses_the_slots_of_the_collection() {
    let scheme = SchemeSettings { kind: Kind::RandomRows, ..SchemeSettings::default() };
    let app =
        App::with_collection(CollectionSettings { scheme, ..CollectionSettings::default() }).await;
    let curve = app.get("/curve").await.json();
    let chosen = [&curve["kind"], &curve["bands"], &curve["rows"]];
    assert_eq!(chosen, [&json!("random_rows"), &json!(125), &json!(3)]);
}

#[tokio::test]
async fn impossible_curves_are_refused_by_name() {
    let app = App::new().await;
    let wrong = [
        ("bands=20", "'rows' is missing"),
        ("rows=20", "'bands' is missing"),
        ("recall=0.9&bands=20", "'recall' must stand without"),
        ("recall=1", "recall must be above 0 and below 1"),
        ("recall=NaN", "recall must be above 0 and below 1"),
        ("bands=100&rows=5", "100 × 5 is more than 128 slots"),
        ("bands=0&rows=5", "bands must be from 1 to 1024"),
        (
            "bands=-1&rows=5",
            "'bands' is wrong: invalid value: string \"-1\", expected a whole number",
        ),
        ("threshold=2", "'threshold' is wrong: a threshold must be above 0"),
        ("plot=true", "takes only threshold, recall, bands, rows"),
    ];
    for (query, detail) in wrong {
        let problem = app.get(&format!("/curve?{query}")).await.problem(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{query}: {problem}");
    }
}
