use std::collections::BTreeSet;

use akin::engine::{CollectionSettings, LimitSettings, StoreSettings};
use akin_core::measure::MEASURES;
use serde_json::json;

use crate::app::App;

/// The names of all measures.
fn all() -> String {
    MEASURES.map(|measure| measure.name).join(",")
}

async fn app_with_two(settings: CollectionSettings) -> App {
    let app = App::with_collection(settings).await;
    app.add(&[
        json!({"id": "a", "text": "one two three one two three"}),
        json!({"id": "b", "text": "one two three four"}),
        json!({"id": "t", "tokens": [["x", 3], "y"]}),
        json!({"id": "u", "tokens": ["x", ["y", 2], ["z", 2]]}),
    ])
    .await;
    app
}

#[tokio::test]
async fn bags_are_compared_always() {
    let app = app_with_two(CollectionSettings::default()).await;
    // Shingles 1 2 3 (twice), 2 3 1, 3 1 2; and 1 2 3, 2 3 4.
    let exact = app.get("/resemblance?a=a&b=b").await.json()["exact"].clone();
    assert_eq!((&exact["intersection"], &exact["union"]), (&json!(1), &json!(4)));
    assert_eq!((&exact["bag"], &exact["bag_max_union"]), (&json!(1.0 / 6.0), &json!(1.0 / 5.0)));
    let pair = json!({"a": {"id": "t"}, "b": {"tokens": [["x", 2], ["y", 2]]}});
    let exact = app.post_json("/resemblance", pair).await.json()["exact"].clone();
    assert_eq!((&exact["bag"], &exact["bag_max_union"]), (&json!(3.0 / 8.0), &json!(3.0 / 5.0)));
}

#[tokio::test]
async fn measures_are_returned_on_request() {
    let app = app_with_two(CollectionSettings::default()).await;
    assert_eq!(app.get("/resemblance?a=a&b=b").await.json().get("measures"), None);
    let compared = app.get(&format!("/resemblance?a=a&b=b&measures={}", all())).await.json();
    let measures = &compared["measures"];
    for measure in MEASURES {
        let values = measures[measure.name].as_object().unwrap();
        let names: BTreeSet<&str> = measure.values.iter().map(|value| value.name).collect();
        assert!(values.keys().map(String::as_str).eq(names), "{}", measure.name);
    }
    // 27 and 18 characters, of which "one two three " and more is common.
    assert_eq!(measures["edit"], json!({"distance": 11}));
    assert_eq!(measures["lcs"]["length"].as_u64().unwrap() * 2, {
        45 - measures["lcs"]["distance"].as_u64().unwrap()
    });
    assert_eq!(measures["hamming"], json!({"distance": 3}));
    assert_eq!(measures["euclidean"], json!({"distance": 2.0}));
    assert_eq!(measures["cosine"]["similarity"], json!(2.0 / 12_f64.sqrt()));

    let pair = json!({"a": {"id": "t"}, "b": {"id": "u"}});
    let posted = app.post_json("/resemblance?measures=hamming,euclidean", pair).await.json();
    let expected = json!({"hamming": {"distance": 1}, "euclidean": {"distance": 3.0}});
    assert_eq!(posted["measures"], expected);
}

#[tokio::test]
async fn impossible_measures_are_refused_with_the_reason() {
    let limits = LimitSettings { edit_product_max: 27 * 18, ..LimitSettings::default() };
    let app = app_with_two(CollectionSettings { limits, ..CollectionSettings::default() }).await;
    assert_eq!(app.get("/resemblance?a=a&b=b&measures=edit").await.status, 200);
    for measure in ["edit", "lcs"] {
        let reply = app.get(&format!("/resemblance?a=a&b=a&measures={measure}")).await;
        let problem = reply.problem(422, "texts_too_long");
        assert!(problem["detail"].as_str().unwrap().contains("729, more than the 486"));
        let reply = app.get(&format!("/resemblance?a=a&b=t&measures={measure}")).await;
        reply.problem(422, "text_required");
    }
    for measures in ["jaccard", "", "edit,", "edit;lcs"] {
        let reply = app.get(&format!("/resemblance?a=a&b=b&measures={measures}")).await;
        let problem = reply.problem(400, "invalid_parameter");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("'measures' must be edit, lcs, hamming"), "{detail}");
    }
}

#[tokio::test]
async fn without_texts_sets_are_still_measured() {
    let store = StoreSettings { text: false, ttl_s: None };
    let settings = CollectionSettings { store, ..CollectionSettings::default() };
    let app = app_with_two(settings.clone()).await;
    let compared = app.get("/resemblance?a=a&b=b&measures=hamming").await.json();
    assert_eq!(compared["measures"], json!({"hamming": {"distance": 3}}));
    assert_eq!(compared["exact"].get("bag"), None, "nobody knows how often they occur");
    for measure in ["edit", "cosine", "euclidean", "lcs"] {
        let reply = app.get(&format!("/resemblance?a=a&b=b&measures={measure}")).await;
        reply.problem(422, "text_not_kept");
    }

    let mut settings = settings;
    settings.shingles.multiset = true;
    let app = app_with_two(settings).await;
    let exact = app.get("/resemblance?a=a&b=b").await.json()["exact"].clone();
    assert_eq!((&exact["bag"], &exact["bag_max_union"]), (&json!(1.0 / 6.0), &json!(1.0 / 5.0)));
    assert_eq!(exact["value"], exact["bag_max_union"]);
}
