//! Collections of signatures that clients compute.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::app::{App, Reply};
use crate::numbers::Numbers;
use crate::store_under_test::is_local;

const SIGNED: &str = "/collections/signed";
const DOCUMENTS: &str = "/collections/signed/documents";
const SIMILAR: &str = "/collections/signed/similar";
const VALUES: usize = 128;
const FAMILIES: usize = 40;
/// A value changes with these chances out of 100, one for each member of a family.
const CHANGES: [usize; 6] = [0, 2, 8, 15, 25, 45];

type Signature = Vec<u64>;

fn settings(bits: u32) -> Value {
    json!({"sketch": {"method": "foreign", "slots": VALUES, "bits": bits}})
}

async fn signed(bits: u32) -> App {
    let app = App::new().await;
    let made = app.put_json(SIGNED, settings(bits)).await;
    assert_eq!(made.status, 201, "{:?}", made.body);
    app
}

/// Families in which each member has some of the values of the first.
fn signatures(value: impl Fn(&mut Numbers) -> u64) -> BTreeMap<String, Signature> {
    let mut numbers = Numbers(7);
    let mut all = BTreeMap::new();
    for family in 0..FAMILIES {
        let first: Signature = (0..VALUES).map(|_| value(&mut numbers)).collect();
        for (member, chance) in CHANGES.into_iter().enumerate() {
            let mut signature = first.clone();
            for place in &mut signature {
                if numbers.below(100) < chance {
                    *place = value(&mut numbers);
                }
            }
            all.insert(format!("{family}/{member}"), signature);
        }
    }
    all
}

fn of_32_bits() -> BTreeMap<String, Signature> {
    signatures(|numbers| numbers.next() >> 32)
}

async fn fill(app: &App, signatures: &BTreeMap<String, Signature>) {
    let line = |(id, values): (&String, &Signature)| {
        json!({"id": id, "signature": values, "metadata": {"n": id.len()}}).to_string()
    };
    let lines: Vec<String> = signatures.iter().map(line).collect();
    let reply = app.post(DOCUMENTS, "application/x-ndjson", lines.join("\n")).await;
    assert!(!reply.has_failed_lines(), "{:?}", reply.body);
}

fn share(a: &Signature, b: &Signature) -> f64 {
    a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / VALUES as f64
}

/// What a lookup of each document returns: ids with their resemblance.
async fn matches(app: &App, path: &str) -> BTreeMap<String, f64> {
    let answer = app.get(path).await.json();
    assert_eq!((&answer["mode"], &answer["found_by"]), (&json!("estimated"), &json!("keys")));
    let found = answer["matches"].as_array().unwrap().iter().map(|found| {
        assert_eq!(found.get("exact"), None, "{found}");
        (found["id"].as_str().unwrap().to_owned(), found["resemblance"].as_f64().unwrap())
    });
    found.collect()
}

/// Looks all up, compares with all shares of equal values, and returns the recall.
async fn recall(app: &App, all: &BTreeMap<String, Signature>, threshold: f64, error: f64) -> f64 {
    let (mut expected, mut found) = (0, 0);
    for (id, signature) in all {
        let path = format!("{SIMILAR}?id={id}&threshold={threshold}&limit=100");
        let matches = matches(app, &path).await;
        for (other, estimate) in &matches {
            let share = share(signature, &all[other]);
            assert!((estimate - share).abs() <= error, "{id}, {other}: {estimate}, not {share}");
            assert!(*estimate >= threshold && other != id);
        }
        for (other, values) in all.iter().filter(|(other, _)| *other != id) {
            let share = share(signature, values);
            if share >= threshold + error {
                expected += 1;
                found += usize::from(matches.contains_key(other));
                assert!(share < 1.0 || matches.contains_key(other), "{id} equals {other}");
            }
        }
    }
    assert!(expected > FAMILIES, "there is something to find");
    found as f64 / expected as f64
}

#[tokio::test]
async fn lookups_of_signatures_estimate_and_miss_little() {
    let (app, all) = (signed(32).await, of_32_bits());
    fill(&app, &all).await;
    for threshold in [0.6, 0.8, 0.95] {
        let recall = recall(&app, &all, threshold, 1e-6).await;
        assert!(recall > 0.98, "{recall} at {threshold}");
    }
    // Exactly at the threshold, and just below it.
    for (id, equal) in [("at", 96), ("below", 95)] {
        let end = (equal..VALUES).map(|n| n as u64);
        let signature: Signature = all["3/2"][..equal].iter().copied().chain(end).collect();
        app.post_json(DOCUMENTS, json!({"id": id, "signature": signature})).await;
    }
    let at = matches(&app, &format!("{SIMILAR}?id=3/2&threshold=0.75")).await;
    assert_eq!((at.get("at"), at.get("below")), (Some(&0.75), None));
    let probe = json!({"signature": all["3/2"]});
    let answer = app.post_json(&format!("{SIMILAR}?threshold=0.5"), probe).await.json();
    assert_eq!(answer["matches"][0]["resemblance"], 1.0);
    assert_eq!(answer["matches"][0]["id"], "3/2");
}

#[tokio::test]
async fn values_of_64_bits_may_be_kept_in_8() {
    let (app, all) = (signed(8).await, signatures(Numbers::next));
    fill(&app, &all).await;
    let stored = app.get(&format!("{DOCUMENTS}/9/4")).await.json();
    assert_eq!(stored["signature"], json!(all["9/4"]));
    let recall = recall(&app, &all, 0.7, 0.03).await;
    assert!(recall > 0.98, "{recall}");
}

#[tokio::test]
async fn signatures_survive_replacement_removal_and_restart() {
    let (app, all) = (signed(32).await, of_32_bits());
    fill(&app, &all).await;
    let snapshot = app.post_json("/collections/signed/snapshots", "").await.status;
    assert!(snapshot.is_success() || !is_local());
    let replaced = json!({"id": "0/0", "signature": all["1/0"]});
    assert_eq!(app.post_json(DOCUMENTS, &replaced).await.json()["status"], "replaced");
    assert_eq!(app.post_json(DOCUMENTS, &replaced).await.json()["status"], "unchanged");
    assert_eq!(app.delete(&format!("{DOCUMENTS}/1/1")).await.status, 204);
    let patch = json!({"metadata": {"seen": true}});
    assert_eq!(app.patch_json(&format!("{DOCUMENTS}/2/0"), patch).await.status, 200);
    let paths = ["0/0", "1/0", "2/3"].map(|id| format!("{SIMILAR}?id={id}&threshold=0.6"));
    let mut before = Vec::new();
    for path in &paths {
        before.push(matches(&app, path).await);
    }
    assert_eq!(before[0].get("1/0"), Some(&1.0));
    assert_eq!((before[0].contains_key("0/1"), before[1].contains_key("1/1")), (false, false));

    let app = app.restarted().await;
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(&matches(&app, path).await, before);
    }
    let stored = app.get(&format!("{DOCUMENTS}/2/0?include=sketch")).await.json();
    assert_eq!((&stored["signature"], &stored["shingles"]), (&json!(all["2/0"]), &json!(VALUES)));
    assert_eq!(stored["metadata"]["seen"], true);
    assert_eq!(stored["included"]["sketch"].as_str().unwrap().len(), VALUES * 8);
    let answer = app.get(&format!("{}&include=text", paths[2])).await.json();
    let first = &answer["matches"][0];
    assert_eq!(first["signature"], json!(all[first["id"].as_str().unwrap()]));
    // What is exported can be added elsewhere.
    let exported = app.get("/collections/signed/export?order=id").await;
    app.put_json("/collections/copy", settings(16)).await;
    let copied = app.post("/collections/copy/documents", "application/x-ndjson", exported.body);
    assert!(!copied.await.has_failed_lines());
    let reindex = app.post_json("/collections/signed/reindex", settings(8)).await;
    assert_eq!(reindex.status, 202, "{:?}", reindex.body);
    while app.get("/collections/signed/reindex").await.json()["state"] == "running" {
        tokio::task::yield_now().await;
    }
    let short = app.get(&format!("{DOCUMENTS}/2/0?include=sketch")).await.json();
    assert_eq!(short["included"]["sketch"].as_str().unwrap().len(), VALUES * 2);
}

#[tokio::test]
async fn near_duplicates_are_skipped_and_listed_by_their_estimates() {
    let (app, all) = (signed(32).await, of_32_bits());
    // Of these the sets of values, each with its place, resemble each other less than 0.8.
    assert!((0.8..0.88).contains(&share(&all["5/0"], &all["5/3"])));
    let documents: Vec<Value> = ["5/0", "5/3", "5/0", "6/0"]
        .into_iter()
        .enumerate()
        .map(|(n, of)| json!({"id": n.to_string(), "signature": all[of]}))
        .collect();
    // In one body each meets the others in flight.
    let path = format!("{DOCUMENTS}?on_duplicate=skip&threshold=0.8");
    let added = app.post_json(&path, json!(documents)).await.elements();
    let statuses: Vec<_> = added.iter().map(|it| it["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["created", "skipped", "skipped", "created"]);
    let again = json!({"id": "again", "signature": all["5/1"]});
    let skipped = app.post_json(&path, again).await.json();
    assert_eq!(
        (&skipped["status"], &skipped["duplicates"][0]["id"]),
        (&json!("skipped"), &json!("0"))
    );

    fill(&app, &all).await;
    let pairs = app.get("/collections/signed/pairs?threshold=0.9").await.lines();
    let signature = |id: &Value| match id.as_str().unwrap() {
        "0" => &all["5/0"],
        "3" => &all["6/0"],
        id => &all[id],
    };
    assert!(pairs.len() > FAMILIES);
    for pair in &pairs {
        let share = share(signature(&pair["a"]), signature(&pair["b"]));
        assert!((pair["resemblance"].as_f64().unwrap() - share).abs() < 1e-6, "{pair}");
        assert_eq!((share >= 0.9, pair.get("exact")), (true, None), "{pair}");
    }
    let clusters = app.get("/collections/signed/clusters?threshold=0.9").await.lines();
    assert_eq!(clusters.len(), FAMILIES);
    let own = app.get("/collections/signed/clusters?id=5/1&threshold=0.9").await.lines();
    let cluster = &own[0];
    assert!(cluster["members"].as_array().unwrap().iter().any(|it| it["id"] == "0"), "{cluster}");
    let path = "/collections/signed/resemblance?a=5/0&b=5/3";
    let comparison = app.get(path).await.json();
    assert_eq!(comparison["kind"], "signatures");
    let estimated = comparison["estimated"]["value"].as_f64().unwrap();
    assert!((estimated - share(&all["5/0"], &all["5/3"])).abs() < 1e-6, "{comparison}");
    assert_eq!((comparison.get("exact"), comparison.get("containment")), (None, None));
}

#[track_caller]
fn refused(reply: &Reply, status: u16, code: &str, part: &str) {
    let problem = reply.problem(status, code);
    assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
}

#[tokio::test]
async fn what_is_no_signature_is_refused() {
    let (app, all) = (signed(32).await, of_32_bits());
    fill(&app, &all).await;
    let signature = |values: Value| json!({"id": "x", "signature": values});
    let wrong = [
        (json!({"text": "a text of words"}), 422, "wrong_content", "takes signatures"),
        (json!({"tokens": ["a"]}), 422, "wrong_content", "takes signatures"),
        (
            signature(json!([1, 2, 3])),
            422,
            "wrong_content",
            "128 values here (sketch.slots), not 3",
        ),
        (signature(json!(vec![1; 129])), 422, "wrong_content", "not 129"),
        (signature(json!([])), 422, "wrong_content", "not 0"),
        (signature(json!([-1])), 422, "invalid_document", "/signature/0"),
        (signature(json!([1.5])), 422, "invalid_document", "/signature/0"),
        (signature(json!("AAAA")), 422, "invalid_document", "/signature"),
        (json!({"text": "a", "signature": [1]}), 422, "invalid_document", "exactly one of"),
    ];
    for (body, status, code, part) in &wrong {
        refused(&app.post_json(DOCUMENTS, body).await, *status, code, part);
    }
    let large = format!(r#"{{"signature": [{}0]}}"#, u64::MAX);
    app.post_json(DOCUMENTS, large).await.problem(422, "invalid_document");
    app.post_json(SIMILAR, &wrong[0].0).await.problem(422, "wrong_content");
    app.post_json("/documents", signature(json!(all["0/0"]))).await.problem(422, "wrong_content");
    app.post_json("/similar", json!({"signature": all["0/0"]})).await.problem(422, "wrong_content");

    for mode in ["verified", "exact"] {
        for call in ["similar?id=0/0&", "pairs?", "clusters?", "clusters?id=0/0&"] {
            let reply = app.get(&format!("{SIGNED}/{call}mode={mode}")).await;
            refused(&reply, 422, "unsupported_mode", "mode must be estimated");
        }
    }
    let of_sets = "only estimates";
    let collapse = app.post_json(&format!("{SIGNED}/collapse"), json!({"ids": ["0/0"]})).await;
    refused(&collapse, 422, "wrong_content", of_sets);
    for call in [
        "recall",
        "documents/0/0?include=shingles",
        "resemblance?a=0/0&b=0/1&explain=true",
        "resemblance?a=0/0&b=0/1&measures=hamming",
    ] {
        refused(&app.get(&format!("{SIGNED}/{call}")).await, 422, "wrong_content", of_sets);
    }
    let body = json!({"ids": ["0/0"], "include": ["shingles"]});
    refused(&app.post_json(&format!("{SIGNED}/fetch"), body).await, 422, "wrong_content", of_sets);
}

#[tokio::test]
async fn settings_that_need_sets_do_not_go_with_signatures() {
    let app = App::new().await;
    for (part, given) in [
        ("scheme", json!({"kind": "prefix"})),
        ("scheme", json!({"exact_from": 0.5})),
        ("shingles", json!({"size": 5})),
        ("store", json!({"text": false})),
    ] {
        let mut settings = settings(32);
        settings[part] = given;
        let reply = app.put_json(SIGNED, settings).await;
        refused(&reply, 422, "invalid_request", "where sketch.method is foreign");
    }
    let mut random = settings(32);
    random["scheme"] = json!({"kind": "random_rows"});
    assert_eq!(app.put_json(SIGNED, random).await.status, 201);
}
