//! Passages over HTTP: `GET` and `POST /passages`.

use akin::engine::{CollectionSettings, LimitSettings};
use akin::http::ServerSettings;
use serde_json::{Value, json};

use crate::app::{App, ids};

const SENTENCE: &str = "Article 1. All human beings are born free and equal in dignity and rights. \
    They are endowed with reason and conscience and should act towards one another in a spirit of \
    brotherhood.";

fn settings() -> CollectionSettings {
    let mut settings = CollectionSettings::default();
    settings.passages.words = 13;
    settings
}

/// Words that no other text has.
fn filler(name: &str, words: usize) -> String {
    (0..words).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(" ")
}

fn essay() -> String {
    format!("{} «{SENTENCE}» {}", filler("é", 40), filler("after", 30))
}

/// `None` over a backend without passages.
async fn app_with_texts() -> App {
    let app = App::with_collection(settings()).await;
    app.add(&[
        json!({"id": "essay", "text": essay(), "metadata": {"year": 1950}}),
        json!({"id": "act", "text": SENTENCE, "metadata": {"year": 1948}}),
        json!({"id": "other", "text": filler("other", 60)}),
        json!({"id": "bag", "tokens": ["all", "human", "beings"]}),
    ])
    .await;
    app
}

async fn find(app: &App, body: Value) -> Value {
    app.post_json("/passages", body).await.json()
}

/// A slice of a text as a client of Python makes it.
fn slice(text: &str, place: &Value) -> String {
    let [start, end] = ["start", "end"].map(|key| place[key].as_u64().unwrap() as usize);
    text.chars().skip(start).take(end - start).collect()
}

#[tokio::test]
async fn the_places_of_passages_are_slices_of_both_texts() {
    let app = app_with_texts().await;
    let probe = format!("Ünd so: {}", SENTENCE.to_uppercase());
    let answer = find(&app, json!({"text": probe, "include": ["metadata"]})).await;
    assert_eq!(ids(&answer), ["essay", "act"], "{answer}");
    assert_eq!((&answer["truncated"], &answer["more"]), (&json!(false), &json!(false)));
    assert_eq!(answer["probe"], json!({"words": 34}));
    assert_eq!(answer["guarantee"], json!({"words": 13}));
    let kept: Vec<_> = answer["chances"].as_array().unwrap().iter().map(|it| &it["kept"]).collect();
    assert_eq!(kept, [&json!(1.0), &json!(0.95), &json!(0.9), &json!(0.8)]);
    assert_eq!(answer["chances"][0]["probability"], 1.0);

    let [found, whole] = [&answer["matches"][0], &answer["matches"][1]];
    assert_eq!(found["words_shared"], 32);
    assert_eq!(found["longest"], 32);
    assert_eq!(found["metadata"], json!({"year": 1950}));
    assert_eq!(found["containment"], json!({"of_probe": 32.0 / 34.0, "of_match": 32.0 / 102.0}));
    assert_eq!(whole["containment"]["of_match"], 1.0);
    let passage = &found["passages"][0];
    assert_eq!(passage["words_equal"], 32);
    assert_eq!(passage["probe"]["words"], 32);
    let without_dot = SENTENCE.trim_end_matches('.');
    assert_eq!(slice(&probe, &passage["probe"]), without_dot.to_uppercase());
    assert_eq!(slice(&essay(), &passage["match"]), without_dot);
}

#[tokio::test]
async fn a_stored_document_is_a_probe_and_no_match_of_itself() {
    let app = app_with_texts().await;
    let by_query = app.get("/passages?id=act").await.json();
    assert_eq!(ids(&by_query), ["essay"], "{by_query}");
    let by_body = find(&app, json!({"id": "act"})).await;
    assert_eq!(by_body["matches"], by_query["matches"]);
    let as_text = app.post("/passages", "text/plain", SENTENCE).await.json();
    assert_eq!(ids(&as_text), ["essay", "act"], "{as_text}");
    let other = find(&app, json!({"text": filler("new", 50)})).await;
    assert_eq!(ids(&other), Vec::<&str>::new());
}

#[tokio::test]
async fn options_select_matches() {
    let app = app_with_texts().await;
    let with = async |options: Value| {
        let mut body = json!({"text": SENTENCE});
        body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let answer = find(&app, body).await;
        ids(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with(json!({"filter": "@.year < 1950"})).await, ["act"]);
    assert_eq!(with(json!({"filter": "@.year == 1"})).await, Vec::<String>::new());
    assert_eq!(with(json!({"containment_min": 1})).await, ["essay", "act"]);
    assert_eq!(with(json!({"containment_min": 0.9, "of": "match"})).await, ["act"]);
    assert_eq!(with(json!({"stored_before": "2000-01-01T00:00:00Z"})).await, Vec::<String>::new());
    assert_eq!(with(json!({"words_min": 30})).await, ["essay", "act"]);
    assert_eq!(with(json!({"words_min": 33})).await, ["essay", "act"], "of the whole probe");
    let longer = format!("{SENTENCE} {}", filler("more", 20));
    assert_eq!(with(json!({"text": longer, "words_min": 33})).await, ["act"], "the whole match");
    let in_query =
        app.post_json("/passages?filter=%40.year%20%3C%201950", json!({"text": SENTENCE})).await;
    assert_eq!(ids(&in_query.json()), ["act"]);
}

#[tokio::test]
async fn pages_are_slices_of_one_order() {
    let app = app_with_texts().await;
    for number in 0..7 {
        let text = format!("{} {SENTENCE}", filler(&format!("n{number}x"), 10 + number));
        app.add(&[json!({"id": format!("n{number}"), "text": text})]).await;
    }
    let all = find(&app, json!({"text": SENTENCE})).await;
    assert_eq!(ids(&all).len(), 9);
    let mut paged = Vec::new();
    for offset in (0..10).step_by(2) {
        let page = find(&app, json!({"text": SENTENCE, "limit": 2, "offset": offset})).await;
        assert_eq!(page["more"], offset + 2 < 9, "{offset}");
        paged.extend(page["matches"].as_array().unwrap().clone());
    }
    assert_eq!(&json!(paged), &all["matches"]);
}

#[tokio::test]
async fn below_the_guarantee_the_answer_promises_less() {
    let app = app_with_texts().await;
    let answer = find(&app, json!({"text": SENTENCE, "words_min": 10})).await;
    assert_eq!(answer["guarantee"], json!({"words": 13, "best_effort_from": 10}));
    assert_eq!(answer["chances"][0], json!({"kept": 1.0, "probability": 0.5}));
    let answer = find(&app, json!({"text": SENTENCE, "words_min": 20})).await;
    assert_eq!(answer["guarantee"], json!({"words": 20}));
}

#[tokio::test]
async fn replaced_and_removed_documents_are_not_found() {
    let app = app_with_texts().await;
    app.put_json("/documents/essay", json!({"text": filler("rewritten", 50)})).await;
    assert_eq!(ids(&find(&app, json!({"text": SENTENCE})).await), ["act"]);
    let longer = format!("{SENTENCE} {}", filler("more", 20));
    app.put_json("/documents/essay", json!({"text": longer})).await;
    app.delete("/documents/act").await;
    let answer = find(&app, json!({"text": SENTENCE})).await;
    assert_eq!(ids(&answer), ["essay"]);
    let found = app.patch_json("/documents/essay", json!({"metadata": {"x": 1}})).await;
    assert_eq!(found.status, 200);
    assert_eq!(ids(&find(&app, json!({"text": SENTENCE})).await), ["essay"]);
    let ids_removed = app.post_json("/remove", json!({"ids": ["essay"]})).await;
    assert_eq!(ids_removed.status, 200);
    assert_eq!(ids(&find(&app, json!({"text": SENTENCE})).await), Vec::<&str>::new());
}

#[tokio::test]
async fn invalid_requests_are_refused_by_name() {
    let app = app_with_texts().await;
    let refused = async |body: Value, code: &str| {
        let reply = app.post_json("/passages", body).await;
        reply.problem(reply.status.as_u16(), code)["detail"].as_str().unwrap().to_owned()
    };
    assert!(refused(json!({}), "invalid_request").await.contains("a text or an id"));
    assert!(
        refused(json!({"id": "act", "text": "a"}), "invalid_request").await.contains("text or")
    );
    let detail = refused(json!({"text": "a", "words_min": 7}), "invalid_request").await;
    assert!(detail.contains("8..=100000, not 7"), "{detail}");
    let detail = refused(json!({"text": "a", "of": "match"}), "invalid_request").await;
    assert!(detail.contains("containment_min"), "{detail}");
    refused(json!({"text": "a", "containment_min": 1.5}), "invalid_request").await;
    refused(json!({"text": "a", "include": ["text"]}), "invalid_request").await;
    refused(json!({"text": "a", "tokens": ["a"]}), "invalid_request").await;
    refused(json!({"text": "a", "limit": 10_001}), "invalid_request").await;
    refused(json!({"text": " … "}), "empty_document").await;
    refused(json!({"id": "bag"}), "wrong_content").await;
    refused(json!({"id": "unheard of"}), "document_not_found").await;
    app.get("/passages?id=act&words_min=7").await.problem(400, "invalid_parameter");
    app.get("/passages?id=bag").await.problem(422, "wrong_content");
    app.get("/passages").await.problem(400, "invalid_parameter");
    app.post("/passages", "application/x-ndjson", "{}")
        .await
        .problem(415, "unsupported_media_type");
    let both = json!({"text": SENTENCE, "words_min": 20});
    app.post_json("/passages?words_min=21", both).await.problem(422, "invalid_request");
}

#[tokio::test]
async fn collections_without_the_index_refuse() {
    let app = App::new().await;
    let reply = app.post_json("/passages", json!({"text": SENTENCE})).await;
    reply.problem(422, "passages_off");
    let with = async |settings: Value| app.put_json("/collections/made", settings).await;
    for (settings, fault) in [
        (json!({"passages": {"words": 5}}), "13..=100, not 5"),
        (json!({"passages": {"words": 101}}), "13..=100, not 101"),
        (json!({"passages": {"words": 32}, "store": {"text": false}}), "store.text is false"),
        (json!({"passages": {"words": 32}, "sketch": {"method": "foreign"}}), "for signatures"),
        (
            json!({"passages": {"words": 32}, "shingles": {"unit": "field"},
                "scheme": {"kind": "fields", "fields": ["name"]}}),
            "for records",
        ),
    ] {
        let problem = with(settings).await.problem(422, "invalid_request");
        assert_eq!(problem["errors"][0]["pointer"], "/passages", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(fault), "{problem}");
    }
}

#[tokio::test]
async fn a_reindex_makes_the_index() {
    let app = App::new().await;
    assert_eq!(app.put_json("/collections/made", json!({})).await.status, 201);
    let document = json!({"id": "act", "text": SENTENCE});
    app.post_json("/collections/made/documents", document).await;
    let passages = async || app.post("/collections/made/passages", "text/plain", SENTENCE).await;
    passages().await.problem(422, "passages_off");
    let settings = json!({"passages": {"words": 20}, "shingles": {"unit": "character", "size": 5}});
    assert_eq!(app.post_json("/collections/made/reindex", settings).await.status, 202);
    while app.get("/collections/made/reindex").await.json()["state"] == "running" {
        tokio::task::yield_now().await;
    }
    let answer = passages().await.json();
    assert_eq!(ids(&answer), ["act"], "words are cut whatever the unit of shingles");
    assert_eq!(answer["guarantee"]["words"], 20);
}

async fn limited(limits: LimitSettings) -> App {
    let app = App::with_collection(CollectionSettings { limits, ..settings() }).await;
    for number in 0..5 {
        let text = format!("{} {SENTENCE}", filler(&format!("n{number}x"), 100));
        app.add(&[json!({"id": format!("n{number}"), "text": text})]).await;
    }
    app
}

#[tokio::test]
async fn a_search_beyond_its_limits_is_truncated() {
    for limits in [
        LimitSettings { passage_texts_max: 3, ..LimitSettings::default() },
        LimitSettings { passage_words_max: 3 * 132, ..LimitSettings::default() },
    ] {
        let app = limited(limits).await;
        let answer = find(&app, json!({"text": SENTENCE})).await;
        assert_eq!((ids(&answer).len(), &answer["truncated"]), (3, &json!(true)), "{answer}");
    }
    let app = limited(LimitSettings::default()).await;
    let answer = find(&app, json!({"text": SENTENCE})).await;
    assert_eq!((ids(&answer).len(), &answer["truncated"]), (5, &json!(false)), "{answer}");
}

/// Documents that are not wanted take none of the texts that a search compares: the best of them is
/// the probe itself.
#[tokio::test]
async fn conditions_are_applied_before_texts_are_compared() {
    for limits in [
        LimitSettings { passage_texts_max: 1, ..LimitSettings::default() },
        LimitSettings { passage_words_max: 132, ..LimitSettings::default() },
    ] {
        let app = limited(limits).await;
        let last = json!({"id": "last", "text": SENTENCE, "metadata": {"lang": "en"}});
        app.add(&[last.clone(), json!({"id": "short", "text": filler("short", 20)})]).await;
        let filter = "&filter=@.lang==%22en%22";
        let found = app.get(&format!("/passages?id=n3{filter}")).await.json();
        assert_eq!((ids(&found), &found["truncated"]), (vec!["last"], &json!(false)), "{found}");
        let contained = format!("/similar?id=n3&measure=containment&of=match{filter}");
        let found = app.get(&contained).await.json();
        assert_eq!(ids(&found), ["last"], "{found}");
        app.delete("/documents?filter=!@.lang").await;
        app.add(&[json!({"id": "own", "text": format!("{SENTENCE} {}", filler("own", 100))})])
            .await;
        let found = app.get("/passages?id=own").await.json();
        assert_eq!((ids(&found), &found["truncated"]), (vec!["last"], &json!(false)), "{found}");
    }
}

/// A document that the probe has as a whole is compared before documents that share more words.
#[tokio::test]
async fn a_containment_of_matches_chooses_the_texts_that_are_compared() {
    let limits = LimitSettings { passage_texts_max: 1, ..LimitSettings::default() };
    let app = limited(limits).await;
    app.add(&[json!({"id": "short", "text": filler("short", 20)})]).await;
    let probe = format!("{SENTENCE} {}", filler("short", 20));
    let contained = json!({"text": probe, "containment_min": 0.9, "of": "match"});
    assert_eq!(ids(&find(&app, contained).await), ["short"]);
    let similar = json!({"text": probe, "measure": "containment", "of": "match"});
    let similar = app.post_json("/similar", similar).await.json();
    assert_eq!(ids(&similar), ["short"], "{similar}");
    let added = "/documents?passages=true&containment_min=0.9&of=match";
    let added = app.post_json(added, json!({"id": "new", "text": probe})).await.json();
    assert_eq!(ids(&added["passages"]), ["short"], "{added}");
}

/// Of equal documents any may be the only one that is wanted.
#[tokio::test]
async fn conditions_are_applied_to_each_of_equal_documents() {
    let app = app_with_texts().await;
    let line = |number| {
        let metadata = json!({"number": number});
        format!("{}\n", json!({"id": format!("c{number}"), "text": SENTENCE, "metadata": metadata}))
    };
    let copies: String = (0..1_100).map(line).collect();
    let added = app.post("/documents?check=false", "application/x-ndjson", copies).await;
    assert!(!added.has_failed_lines());
    let found = find(&app, json!({"text": SENTENCE, "filter": "@.number == 1099"})).await;
    assert_eq!((ids(&found), &found["truncated"]), (vec!["c1099"], &json!(false)), "{found}");
    let all =
        find(&app, json!({"text": SENTENCE, "filter": "@.number >= 0", "limit": 10_000})).await;
    assert_eq!((ids(&all).len(), &all["truncated"]), (1_000, &json!(true)));
}

#[tokio::test]
async fn a_filter_is_evaluated_on_so_many_documents() {
    let limits = LimitSettings { filtered_max: 3, ..LimitSettings::default() };
    let app = limited(limits).await;
    let answer = find(&app, json!({"text": SENTENCE, "filter": "@.x == 1"})).await;
    assert_eq!((ids(&answer).len(), &answer["truncated"]), (0, &json!(true)), "{answer}");
}

#[tokio::test]
async fn work_and_memory_are_counted() {
    let text = filler("word", 50_000);
    let server = ServerSettings { request_cost_max: 1_000, ..ServerSettings::default() };
    let app = App::with_server(server).await;
    let made = app.put_json("/collections/made", json!({"passages": {"words": 32}})).await;
    assert_eq!(made.status, 201);
    let costly = app.post("/collections/made/passages", "text/plain", text).await;
    costly.problem(422, "request_too_costly");

    let server = ServerSettings { memory_max: 64 << 20, ..ServerSettings::default() };
    let app = App::with_server(server).await;
    app.put_json("/collections/made", json!({"passages": {"words": 32}})).await;
    let text = filler("w", 300_000);
    let large = app.post("/collections/made/passages", "text/plain", text).await;
    large.problem(422, "request_too_costly");
}

#[tokio::test]
async fn a_damaged_text_is_not_found_and_said_to_be_missing() {
    let app = app_with_texts().await;
    app.damage("essay");
    app.post_json("/passages", json!({"text": SENTENCE})).await.problem(500, "document_damaged");
    app.collections().close().await.unwrap();
    let dir = app.dir;
    let app = App { dir, ..App::starting(ServerSettings::default()) };
    app.open(settings()).await;
    let answer = find(&app, json!({"text": SENTENCE})).await;
    assert_eq!((ids(&answer), &answer["truncated"]), (vec!["act"], &json!(true)), "{answer}");
    assert_eq!(app.delete("/documents/essay").await.status, 204);
    app.add(&[json!({"id": "essay", "text": essay()})]).await;
    let answer = find(&app, json!({"text": SENTENCE})).await;
    let expected = (vec!["act", "essay"], &json!(false));
    assert_eq!((ids(&answer), &answer["truncated"]), expected, "{answer}");
}

#[tokio::test]
async fn statistics_and_metrics_have_the_index() {
    let app = app_with_texts().await;
    let stats = app.get("/stats").await.json();
    let index = &stats["passages"];
    assert_eq!(index["sequences"], 3, "{stats}");
    assert!(index["bytes"].as_u64().unwrap() < stats["index_bytes"].as_u64().unwrap());
    let metrics = app.get("/metrics").await.body;
    let metrics = std::str::from_utf8(&metrics).unwrap();
    let line = format!("akin_passage_postings{{collection=\"default\"}} {}", index["postings"]);
    assert!(metrics.contains(&line), "{metrics}");
}

#[tokio::test]
async fn of_equal_documents_a_thousand_are_found() {
    let app = app_with_texts().await;
    let line = |number| format!("{}\n", json!({"id": format!("copy{number}"), "text": SENTENCE}));
    let copies: String = (0..1_000).map(line).collect();
    let added = app.post("/documents?check=false", "application/x-ndjson", copies).await;
    assert!(!added.has_failed_lines());
    let page = find(&app, json!({"text": SENTENCE, "limit": 10_000})).await;
    // A thousand of the 1,001 equal documents, and the document that has more words.
    assert_eq!((ids(&page).len(), &page["truncated"]), (1_001, &json!(true)));
    assert_eq!(app.delete("/documents/copy0").await.status, 204);
    let page = find(&app, json!({"text": SENTENCE, "limit": 10_000})).await;
    assert_eq!((ids(&page).len(), &page["truncated"]), (1_001, &json!(false)));
}

#[tokio::test]
async fn a_word_that_is_repeated_is_compared_within_the_limits() {
    let app = app_with_texts().await;
    let repeated = "again ".repeat(3_000);
    app.add(&[json!({"id": "repeated", "text": repeated})]).await;
    let answer = find(&app, json!({"text": repeated})).await;
    assert_eq!(answer["truncated"], true, "nine million pairs");
    let answer = find(&app, json!({"text": "again ".repeat(100)})).await;
    assert_eq!((ids(&answer), &answer["truncated"]), (vec!["repeated"], &json!(false)));
}
